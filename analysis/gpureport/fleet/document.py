"""The documents of a fleet: a page and a PDF."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from urllib.parse import quote

import numpy as np

from gpureport import __version__
from gpureport.fleet.analysis import Difference, Fleet, Peers
from gpureport.fleet.figures import MOST_LINES, percents, strip_chart, trend_chart
from gpureport.fleet.peers import nanmedian
from gpureport.fleet.summary import as_percent, conclusion, reservations, sentence
from gpureport.grouping import grouped
from gpureport.inputs import is_there
from gpureport.records.report import report_stem
from gpureport.report import Paper
from gpureport.report.figures.picture import Picture
from gpureport.report.render import Content, write_filled
from gpureport.report.text.tables import Table
from gpureport.spec.uncertainty import MAD_TO_SIGMA
from gpureport.text import counted
from gpureport.units import format_percent, format_value

NAME = "fleet"
"""Stem of the page and of the PDF."""
_MOST_SENTENCES, _MOST_CHANGES = 10, 6
_MOST_ROWS = 40  # of a table of ratios
_MOST_MODELS = 2  # that the PDF draws


def write_documents(fleet: Fleet, folder: Path, *, with_pdf: bool = True, paper: Paper = "a4") -> list[Path]:
    """Write the page and the PDF to *folder*, and return those that were made.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made.
    """
    return write_filled("fleet.html.j2", _content(fleet, folder), folder, with_pdf=with_pdf, paper=paper, name=NAME)


def _content(fleet: Fleet, folder: Path) -> Content:
    drawn = _drawn(fleet)
    strips = {peers.number: _strips(fleet, peers) for peers in fleet.peers if peers.basis == "peers"}
    starts = [time for each in fleet.peers for time in each.runs["created_at"]]
    return {
        "fleet": fleet,
        "version": __version__,
        "title": "Fleet report",
        "counted": f"{counted(fleet.runs, 'run')} of {counted(fleet.devices, 'device')}",
        "period": " to ".join(dict.fromkeys(f"{end(starts):%-d %B %Y}" for end in (min, max))),
        "conclusion": conclusion(fleet),
        "reservation": " ".join(reservations(fleet)),
        "shown": list(map(sentence, fleet.outliers[:_MOST_SENTENCES])),
        "hidden": max(len(fleet.outliers) - _MOST_SENTENCES, 0),
        "changes": [sentence(fact) for facts in (fleet.changes, fleet.models) for fact in facts[:_MOST_CHANGES]],
        "bases": {each.basis for each in fleet.peers},
        "ratios": list(_ratios(fleet, drawn)),
        "strips": [strips[peers.number] for peers in drawn if peers.number in strips],
        "trends": [picture for peers in drawn[:1] for picture in _trends(fleet, peers)],
        "models": [
            (f"{each.title}: {counted(len(each.members), 'device')}", strips.get(each.number), _figures(each))
            for each in fleet.peers
        ],
        "devices": _devices(fleet, folder),
    }


def _drawn(fleet: Fleet) -> list[Peers]:
    outliers = Counter(outlier.peers.number for outlier in fleet.outliers)
    return sorted(fleet.peers, key=lambda each: (-outliers[each.number], -len(each.members)))[:_MOST_MODELS]


def _odd(fleet: Fleet, peers: Peers) -> dict[int, Difference]:
    return {each.member.number: each for each in fleet.outliers if each.member and each.peers is peers}


def _ratios(fleet: Fleet, every: Sequence[Peers]) -> Iterator[tuple[str, Table]]:
    """Yield captions and tables of key figures relative to those of peers, or else to predictions."""
    for peers in (each for each in every if each.basis == "peers"):
        odd, counts = _odd(fleet, peers), np.bincount(peers.runs["member"])
        of = ((m, {f.name: ratio for f in m.figures if (ratio := f.relative(f.usual))}) for m in peers.members)
        found = {m.number: ratios for m, ratios in of if ratios}
        rest = sorted(found.keys() - odd, key=lambda m: (-max(abs(np.log(list(found[m].values())))), m))
        rows = [
            (peers.members[m].label, "outlier" if m in odd else counted(counts[m], "run"), found[m])
            for m in (*odd, *rest)
            if m in found
        ]
        caption = (
            f"{peers.title}: speed relative to the median device. Outliers come first, then the largest differences."
        )
        yield from _ratio_table(rows, caption)
    rows = [
        (member.label, f"{peers.title}, {counted(int(peers.of(member).sum()), 'run')}", ratios)
        for peers in fleet.peers
        if peers.basis != "peers"
        for member in peers.members
        if (ratios := {f.name: ratio for f in member.figures if (ratio := f.relative(f.predicted))})
    ]
    yield from _ratio_table(rows, "Devices without peers: speed relative to the prediction.")


def _ratio_table(rows: Sequence[tuple[str, str, Mapping[str, float]]], caption: str) -> Iterator[tuple[str, Table]]:
    shown, left = rows[:_MOST_ROWS], len(rows) - _MOST_ROWS
    names = sorted({name for *_, ratios in shown for name in ratios})
    more = f" {left} devices with smaller differences are not shown." if left > 0 else ""
    if shown:
        table = Table.of_ratios(("device", "note"), names, ((texts, ratios) for *texts, ratios in shown))
        yield f"{caption} Blue: faster; orange: slower.{more}", table


def _strips(fleet: Fleet, peers: Peers) -> Picture:
    names = {member: peers.members[member].label for member in _odd(fleet, peers)}
    layers = {layer: percents(values) for layer, values in peers.layers.items()}
    caption = f"{peers.title}: speed of each device on the sweeps that a layer limits. Orange: outliers."
    return Picture(strip_chart(layers, names), caption)


def _trends(fleet: Fleet, peers: Peers) -> Iterator[Picture]:
    if peers.runs["day"].max() == 0:
        return
    single = peers.members if len(peers.members) == 1 else ()
    shown = single or [peers.members[number] for number in list(_odd(fleet, peers))[:MOST_LINES]]
    lines = tuple((member.label, tuple(np.flatnonzero(peers.of(member)).tolist())) for member in shown)
    times = tuple(time.to_pydatetime() for time in peers.runs["created_at"])
    layers = {
        layer: percents(nanmedian(peers.values.T[[part.layer == layer for part in peers.parts]]))
        for layer in peers.layers
    }
    caption = f"{peers.title}: speed by layer, relative to the median run."
    caption += "" if single else " Line: median of the day; area: nine in ten runs."
    yield Picture(trend_chart(layers, times, lines), caption)


def _devices(fleet: Fleet, folder: Path) -> Table:
    rows, links = [], []
    for peers in fleet.peers:
        odd, counts, last_runs = _odd(fleet, peers), np.bincount(peers.runs["member"]), peers.last
        for member, last, report in zip(peers.members, last_runs["created_at"], last_runs["report"], strict=True):
            outlier = odd.get(member.number)
            normal = "like its peers" if peers.basis == "peers" else "as predicted"
            state = f"outlier, {'slower' if outlier.slower else 'faster'}" if outlier else normal
            effect = as_percent(outlier.effect) if outlier else ""
            rows.append((member.label, peers.title, state, effect, str(counts[member.number]), f"{last:%Y-%m-%d}"))
            links.append(_report_link(report or "", folder))
    columns = ("device", "model", "state", "difference", "runs", "last run")
    return Table(columns, tuple(rows), tuple(links))


def _figures(peers: Peers) -> Table:
    by_name = grouped((figure.name, figure) for member in peers.members for figure in member.figures)
    rows = []
    for name, own in by_name.items():
        unit, usual = own[0].unit, own[0].usual
        spread = MAD_TO_SIGMA * median(abs(each.measured / usual - 1) for each in own)
        ends = (format_value(end(each.measured for each in own), unit) for end in (min, max))
        several = (format_percent(spread, ".2g"), " to ".join(ends)) if len(own) > 1 else ("", "")
        predicted = [each.predicted for each in own if each.predicted]
        text = format_value(median(predicted), unit) if predicted else ""
        rows.append((name, format_value(usual, unit), *several, text))
    columns = ("key figure", "median", "spread", "range", "predicted")
    return Table(columns, tuple(rows))


def _report_link(report: str, folder: Path) -> str:
    path = Path(report)
    html = path.parent / f"{report_stem(path)}.html"
    return quote(os.path.relpath(html, folder.absolute())) if report and is_there(html) else ""
