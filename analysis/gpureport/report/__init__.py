"""Documents of reports, comparisons and predictions, as HTML and PDF."""

from typing import Literal

Paper = Literal["a4", "letter"]
"""Page size of a PDF."""
