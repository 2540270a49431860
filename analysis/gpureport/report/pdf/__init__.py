"""Pages, fonts and typesetting."""
