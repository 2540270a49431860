"""Layout of a manuscript on pages by WeasyPrint.

Faster paths through WeasyPrint's internals give the same pages. They are used only with the tested version:
:data:`KNOWN`.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any
from xml.etree import ElementTree as ET

import weasyprint
from cssselect2 import ElementWrapper
from weasyprint import CSS, HTML
from weasyprint.document import Document
from weasyprint.urls import URLFetcher, URLFetcherResponse

from gpureport.report import Paper
from gpureport.report.pdf.fonts import FILES, font_file, with_fonts
from gpureport.report.pdf.typesetting import PICTURE, Manuscript

KNOWN = str(weasyprint.__version__).startswith("70.")
_FONTS = {f"font:{file}": file for file in FILES}


def layout(manuscript: Manuscript, paper: Paper = "a4") -> Document:
    """Lay it out on pages without any network access: ``picture:0`` … are its pictures, ``font:`` the shipped fonts."""
    html = with_fonts(manuscript.html, "font:{}".format)
    page = _page(html, _LocalFetcher(manuscript))
    # Style sheets given here are user style sheets, which override the page's own only if they are important.
    return page.render(stylesheets=[CSS(string=f"@page {{ size: {paper} !important }}")], pdf_variant="pdf/ua-1")


class _LocalFetcher(URLFetcher):  # type: ignore[misc] # it has no annotations
    """Returns the fonts and the manuscript's pictures."""

    def __init__(self, manuscript: Manuscript) -> None:
        super().__init__(allowed_protocols={"data"})
        self._manuscript = manuscript

    def fetch(self, url: str, headers: Mapping[str, str] | None = None) -> URLFetcherResponse:
        if url in _FONTS:
            return URLFetcherResponse(url, font_file(_FONTS[url]).read_bytes(), {"Content-Type": "font/ttf"})
        if not url.startswith(PICTURE):
            return super().fetch(url, headers)
        picture = self._manuscript.pictures[int(url.removeprefix(PICTURE))]
        if KNOWN:
            from gpureport.report.figures import labels

            picture = labels.quick(picture)
        return URLFetcherResponse(url, picture.encode(), {"Content-Type": "image/svg+xml"})


def _page(html: str, fetcher: URLFetcher) -> HTML:
    """Parse a page: as XML if possible, which takes a twentieth of the time."""
    if KNOWN:
        try:
            return _Page(ET.fromstring(html), fetcher)  # noqa: S314 - our own page; it declares no entities
        except ET.ParseError:  # not XML, or characters that XML does not allow
            pass
    return HTML(string=html, url_fetcher=fetcher)


class _Page(HTML):  # type: ignore[misc] # it has no annotations
    """A parsed page in which only list items have markers.

    WeasyPrint has rules for footnotes and markers of every element, and computes a style for each of them.
    """

    def __init__(self, root: ET.Element, fetcher: URLFetcher) -> None:
        self.base_url = None
        self.url_fetcher = fetcher
        self.media_type = "print"
        self.wrapper_element = ElementWrapper.from_html_root(root, content_language=None)
        self.etree_element = self.wrapper_element.etree_element

    def _ua_stylesheets(self, forms: bool = False) -> list[Any]:
        return [_with_few_pseudo_elements(sheet) for sheet in super()._ua_stylesheets(forms)]


def _with_few_pseudo_elements(sheet: Any) -> Any:  # noqa: ANN401 - WeasyPrint has no annotations
    kept, rules = copy(sheet), copy(sheet.matcher)
    kept.matcher = rules
    of_all = [rule for rule in rules.other_selectors if rule[3] is not None]
    of_items = [*rules.lower_local_name_selectors["li"], *(rule for rule in of_all if rule[3] == "marker")]
    rules.other_selectors = [rule for rule in rules.other_selectors if rule not in of_all]
    rules.lower_local_name_selectors = {**rules.lower_local_name_selectors, "li": of_items}
    return kept
