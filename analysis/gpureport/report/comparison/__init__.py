"""The document that compares machines."""
