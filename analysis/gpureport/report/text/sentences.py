"""Sentences, titles and captions: the macros of ``templates/*sentences.j2`` write them from facts."""

import re
from functools import cache
from math import exp
from statistics import median
from typing import TYPE_CHECKING

from gpureport import units
from gpureport.data import data_dir
from gpureport.records.ceilings import ceiling_of
from gpureport.report.text import words
from gpureport.text import N90, counted, listed, sentence, shorten

if TYPE_CHECKING:
    from jinja2.environment import Environment, TemplateModule


def paragraphs(block: str, file: str = "sentences.j2", /, **facts: object) -> tuple[str, ...]:
    """Return the paragraphs, parted by empty lines, that the macro of a *block* of *file* writes about *facts*."""
    written = str(getattr(_macros(file), block)(**facts))
    return tuple(filter(None, map(_one_line, re.split(r"\n[ \n]*\n", written))))


def text(block: str, file: str = "sentences.j2", /, **facts: object) -> str:
    """Return what the macro of a *block* of *file* writes about *facts*, as one paragraph."""
    return " ".join(paragraphs(block, file, **facts))


@cache
def _macros(file: str) -> "TemplateModule":
    env = environment()
    env.finalize = lambda value: _spaced(value) if isinstance(value, str) else value
    return env.get_template(file).module


def environment(*, autoescape: bool = False) -> "Environment":
    """Return a Jinja environment for our templates: undefined names are errors. Documents escape plain text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    env = Environment(
        autoescape=autoescape,  # noqa: S701
        loader=FileSystemLoader(data_dir("templates")),
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        bytes=units.format_bytes,
        ceiling=lambda name: ceiling_of(name).text,
        counted=counted,
        digits=units.format_number,
        faster=faster,
        frequency=units.format_frequency,
        interval=lambda value, low, high, unit: units.format_interval(value, low, high, units.abbreviated(unit)),
        listed=listed,
        median=median,
        mib=lambda size: units.format_bytes(float(f"{size / 2.0**20:.2g}") * 2.0**20),
        off_by=units.off_by,
        percent=units.format_percent,
        ratio=units.format_ratio,
        sentence=sentence,
        shorten=shorten,
        sides=lambda sides: " x ".join(map(str, sides if len(sides) > 1 else (*sides, 1))),
        rounded=lambda of, unit: units.interval_parts(of.value, of.low, of.high, unit)[0],
        spread=lambda of, unit: units.interval_parts(of.value, of.low, of.high, unit)[1],
        value=units.format_value,
    )
    env.globals.update(N90=N90, exp=exp, precise_percent=units.precise_percent, words=words)
    return env


def _spaced(text: str) -> str:
    return re.sub(r"[ \r\n]+", " ", text)


def _one_line(text: str) -> str:
    return _spaced(text).strip(" ")


def faster(ratio: float) -> str:
    """Write a ratio of speeds as ``5.2 % slower`` or ``12 % faster``."""
    return f"{units.precise_percent(abs(ratio - 1))} {'slower' if ratio < 1 else 'faster'}"
