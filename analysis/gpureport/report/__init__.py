"""The report: its document, its figures, and its HTML and PDF."""

from typing import Literal

Paper = Literal["a4", "letter"]
"""How large the pages of a PDF are."""
