"""Sentences, titles and captions of a run's report: the macros of ``templates/sentences.j2`` write them from facts."""

import re
from functools import cache, partial
from statistics import median
from typing import TYPE_CHECKING

from gpureport.data import data_dir
from gpureport.records.ceilings import ceiling_text
from gpureport.report.text.difference import compared, value_text
from gpureport.report.text.words import agreement, best_sample, family_name, feature_text, kernel_name
from gpureport.text import N90, listed, sentence, shorten, shortlist
from gpureport.units import (
    format_bytes,
    format_count,
    format_frequency,
    format_percent,
    format_range,
    format_ratio,
    format_value,
    off_by,
)

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule


def paragraphs(block: str, **facts: object) -> tuple[str, ...]:
    """Return the paragraphs, parted by empty lines, that the macro of a *block* writes about *facts*."""
    written = str(getattr(_macros(), block)(**facts))
    return tuple(filter(None, map(_one_line, re.split(r"\n[ \n]*\n", written))))


def text(block: str, **facts: object) -> str:
    """Return what the macro of a *block* writes about *facts*, as one paragraph."""
    return " ".join(paragraphs(block, **facts))


@cache
def _macros() -> "TemplateModule":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    env = Environment(  # noqa: S701 - plain text; documents escape it
        loader=FileSystemLoader(data_dir("templates")),
        undefined=StrictUndefined,
        finalize=lambda value: _spaced(value) if isinstance(value, str) else value,
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        agreement=agreement,
        best_sample=best_sample,
        bytes=format_bytes,
        ceiling=ceiling_text,
        compared=compared,
        count=format_count,
        feature=feature_text,
        frequency=format_frequency,
        listed=listed,
        median=median,
        mib=lambda size: format_bytes(float(f"{size / 2.0**20:.2g}") * 2.0**20),
        number=value_text,
        off_by=off_by,
        percent=format_percent,
        place=lambda finding, report: f"{value_text(finding)} ({kernel_name(report, finding.key)})",
        precise_percent=precise_percent,
        range=format_range,
        ratio=format_ratio,
        sentence=sentence,
        shorten=shorten,
        shortlist=shortlist,
        sides=lambda sides: " x ".join(map(str, sides if len(sides) > 1 else (*sides, 1))),
        value=format_value,
    )
    env.globals.update(
        N90=N90,
        change=partial(format_percent, spec="+.1f"),
        family_name=family_name,
        kernel_name=kernel_name,
        percent=format_percent,
        ratio=format_ratio,
    )
    return env.get_template("sentences.j2").module


def _spaced(text: str) -> str:
    """Return *text* without line breaks, which part paragraphs."""
    return re.sub(r"[ \r\n]+", " ", text)


def _one_line(text: str) -> str:
    return _spaced(text).strip(" ")


def precise_percent(share: float) -> str:
    """Write a share in percent, with a decimal below 10 %."""
    return format_percent(share, ".1f" if share < 0.1 else ".0f")
