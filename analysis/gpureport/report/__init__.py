"""The report: its document, its figures, and its HTML and PDF."""
