"""Sentences, captions and tables that documents share."""
