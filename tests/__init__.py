"""Tests; helpers that several of them use are modules of their own here."""
