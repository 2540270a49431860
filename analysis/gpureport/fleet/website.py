"""The documents of a fleet: a PDF, and a static website with pages for the fleet, each model and each device."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import pandas as pd

from gpureport import __version__
from gpureport.files import remove_files, write_file
from gpureport.fleet.analysis import Difference, Figure, Fleet, Member, Peers
from gpureport.fleet.figures import MOST_LINES, percents, strip_chart, trend_chart
from gpureport.fleet.peers import nanmedian
from gpureport.fleet.summary import as_percent, conclusion, reservations, sentence
from gpureport.grouping import grouped
from gpureport.inputs import is_there
from gpureport.records.report import report_stem
from gpureport.report import Paper
from gpureport.report.figures.machines import HeatColumns, HeatRow, heat_chart, reach_of
from gpureport.report.figures.picture import Picture
from gpureport.report.render import Content, rendered, write_filled
from gpureport.report.text.tables import Table
from gpureport.spec.uncertainty import MAD_TO_SIGMA
from gpureport.text import counted
from gpureport.units import format_frequency, format_number, format_percent, format_value

if TYPE_CHECKING:
    from markupsafe import Markup

NAME = "fleet"
"""Stem of the main page and of the PDF."""
_TITLE = "Fleet report"
_MOST_SENTENCES, _MOST_CHANGES = 10, 6
_MOST_ROWS = 40  # of a heat map
_MOST_MODELS = 2  # that the PDF draws
_MOST_COMPARED = 2000  # devices to choose from
_PAGE = re.compile(r"(model-\d+|device-\d+-\d+)\.html")


def write_website(fleet: Fleet, folder: Path, *, with_pdf: bool = True, paper: Paper = "a4") -> list[Path]:
    """Write the pages to *folder*.

    Returns:
        The main page, and the PDF if one was made.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made.
    """
    remove_files(*(file for file in folder.glob("*.html") if _PAGE.fullmatch(file.name)))  # of devices that are gone
    written = write_filled("fleet.html.j2", content(fleet), folder, with_pdf=with_pdf, paper=paper, name=NAME)
    pages = dict(_pages(fleet, folder))
    for name, text in zip(pages, rendered("fleet_page.html.j2", list(pages.values())), strict=True):
        write_file(folder / name, text)
    return written


def content(fleet: Fleet) -> Content:
    """Collect the contents of the main page and the PDF."""
    drawn = _drawn(fleet)
    starts = [time for each in fleet.peers for time in each.runs["created_at"]]
    return {
        "fleet": fleet,
        "version": __version__,
        "title": _TITLE,
        "counted": f"{counted(fleet.runs, 'run')} of {counted(fleet.devices, 'device')}",
        "period": " to ".join(dict.fromkeys(f"{end(starts):%-d %B %Y}" for end in (min, max))),
        "conclusion": conclusion(fleet),
        "reservation": " ".join(reservations(fleet)),
        "shown": list(map(sentence, fleet.outliers[:_MOST_SENTENCES])),
        "hidden": max(len(fleet.outliers) - _MOST_SENTENCES, 0),
        "changes": [sentence(fact) for facts in (fleet.changes, fleet.models) for fact in facts[:_MOST_CHANGES]],
        "bases": {each.basis for each in fleet.peers},
        "heat": list(_heat(fleet, drawn)),
        "strips": [_strips(fleet, peers) for peers in drawn if peers.basis == "peers"],
        "trends": [picture for peers in drawn[:1] for picture in _trends(fleet, peers)],
        "models": [(_page_of(each), f"{each.title}: {counted(len(each.members), 'device')}") for each in fleet.peers],
        "devices": _devices(fleet, fleet.peers),
    }


def _drawn(fleet: Fleet) -> list[Peers]:
    outliers = Counter(outlier.peers.number for outlier in fleet.outliers)
    return sorted(fleet.peers, key=lambda each: (-outliers[each.number], -len(each.members)))[:_MOST_MODELS]


def _odd(fleet: Fleet, peers: Peers) -> dict[int, Difference]:
    return {each.member.number: each for each in fleet.outliers if each.member and each.peers is peers}


def _heat(fleet: Fleet, every: Sequence[Peers]) -> Iterator[Picture]:
    for peers in (each for each in every if each.basis == "peers"):
        odd, counts = _odd(fleet, peers), np.bincount(peers.runs["member"])
        of = ((m, {f.name: ratio for f in m.figures if (ratio := f.relative(f.usual))}) for m in peers.members)
        cells = {m.number: ratios for m, ratios in of if ratios}
        rest = sorted(cells.keys() - odd, key=lambda m: (-max(abs(np.log(list(cells[m].values())))), m))
        rows = [
            HeatRow(peers.members[m].label, "outlier" if m in odd else counted(counts[m], "run"), cells[m])
            for m in (*odd, *rest)
            if m in cells
        ]
        caption = f"{peers.title}: key figures of devices. Outliers come first, then the largest differences. "
        yield from _heat_map(rows, "speed relative to the median device", f"{caption}Blue: faster; orange: slower.")
    rows = [
        HeatRow(member.label, counted(int(peers.of(member).sum()), "run"), ratios, heading=peers.title)
        for peers in fleet.peers
        if peers.basis != "peers"
        for member in peers.members
        if (ratios := {f.name: ratio for f in member.figures if (ratio := f.relative(f.predicted))})
    ]
    caption = "Key figures of devices without peers. Blue: faster than predicted; orange: slower."
    yield from _heat_map(rows, "speed relative to the prediction", caption)


def _heat_map(rows: Sequence[HeatRow], heading: str, caption: str) -> Iterator[Picture]:
    shown, left = rows[:_MOST_ROWS], len(rows) - _MOST_ROWS
    names = tuple(sorted({name for row in shown for name in row.ratios}))
    more = f" {left} devices with smaller differences are not shown." if left > 0 else ""
    if shown:
        yield Picture(heat_chart(shown, HeatColumns(heading, names), reach_of(shown)), caption + more)


def _strips(fleet: Fleet, peers: Peers) -> Picture:
    names = {member: peers.members[member].label for member in _odd(fleet, peers)}
    layers = {layer: percents(values) for layer, values in peers.layers.items()}
    caption = f"{peers.title}: speed of each device on the sweeps that a layer limits. Orange: outliers."
    return Picture(strip_chart(layers, names), caption)


def _trends(fleet: Fleet, peers: Peers, members: Sequence[Member] = ()) -> Iterator[Picture]:
    if peers.runs["day"].max() == 0:
        return
    single = peers.members if len(peers.members) == 1 else ()
    shown = members or single or [peers.members[number] for number in list(_odd(fleet, peers))[:MOST_LINES]]
    lines = tuple((member.label, tuple(np.flatnonzero(peers.of(member)).tolist())) for member in shown)
    times = tuple(time.to_pydatetime() for time in peers.runs["created_at"])
    layers = {
        layer: percents(nanmedian(peers.values.T[[part.layer == layer for part in peers.parts]]))
        for layer in peers.layers
    }
    caption = f"{peers.title}: speed by layer, relative to the median run."
    caption += (
        ""
        if len(peers.members) == 1 or any(len(runs) == len(times) for _, runs in lines)
        else " Line: median of the day; area: nine in ten runs."
    )
    yield Picture(trend_chart(layers, times, lines), caption)


def _devices(fleet: Fleet, models: Iterable[Peers]) -> Table:
    rows, links = [], []
    for peers in models:
        odd, counts = _odd(fleet, peers), np.bincount(peers.runs["member"])
        for member, last in zip(peers.members, peers.last["created_at"], strict=True):
            outlier = odd.get(member.number)
            normal = "like its peers" if peers.basis == "peers" else "as predicted"
            state = f"outlier, {'slower' if outlier.slower else 'faster'}" if outlier else normal
            effect = as_percent(outlier.effect) if outlier else ""
            rows.append((member.label, peers.title, state, effect, str(counts[member.number]), f"{last:%Y-%m-%d}"))
            links.append(_page_of(peers, member))
    columns = ("device", "model", "state", "difference", "runs", "last run")
    return Table(columns, tuple(rows), tuple(links))


def _page_of(peers: Peers, member: Member | None = None) -> str:
    return f"device-{peers.number}-{member.number}.html" if member else f"model-{peers.number}.html"


def _pages(fleet: Fleet, folder: Path) -> Iterator[tuple[str, Content]]:
    facts = "Key figures of the last run of each device."
    yield "compare.html", _page("Compare two devices", facts, choices=_choices(fleet))
    for peers in fleet.peers:
        yield _page_of(peers), _model(fleet, peers)
        odd = _odd(fleet, peers)
        for member in peers.members:
            yield _page_of(peers, member), _device(fleet, peers, member, odd.get(member.number), folder)


def _page(title: str, facts: str, **others: object) -> Content:
    empty: Content = dict.fromkeys(("above", "sentences", "pictures", "tables"), ())
    return {"part": "page", "title": title, "facts": facts, "choices": None, **empty, **others}


def _model(fleet: Fleet, peers: Peers) -> Content:
    normal = f"No device differs significantly from its {peers.basis}."
    sentences = list(map(sentence, _odd(fleet, peers).values())) or [normal]
    first, *others = peers.members
    figures = _model_figures(peers) if others else _device_figures(first.figures, compared=False)
    sentences += [sentence(each) for each in fleet.changes if each.peers is peers]
    return _page(
        peers.title,
        f"{peers.model}: {counted(len(peers.members), 'device')}, {counted(len(peers.runs), 'run')}.",
        sentences=sentences[:_MOST_SENTENCES],
        pictures=[_strips(fleet, peers)] if peers.basis == "peers" else [],
        tables=[("Key figures", figures), ("Devices", _devices(fleet, [peers]))],
    )


def _model_figures(peers: Peers) -> Table:
    by_name = grouped((figure.name, figure) for member in peers.members for figure in member.figures)
    rows = []
    for name, own in by_name.items():
        unit, usual = own[0].unit, own[0].usual
        spread = MAD_TO_SIGMA * median(abs(each.measured / usual - 1) for each in own)
        ends = (format_value(end(each.measured for each in own), unit) for end in (min, max))
        predicted = [each.predicted for each in own if each.predicted]
        text = format_value(median(predicted), unit) if predicted else ""
        rows.append((name, format_value(usual, unit), format_percent(spread, ".2g"), " to ".join(ends), text))
    columns = ("key figure", "median", "spread", "range", "predicted")
    return Table(columns, tuple(rows))


def _device(fleet: Fleet, peers: Peers, member: Member, outlier: Difference | None, folder: Path) -> Content:
    basis = counted(len(peers.members) - 1, "peer") if peers.basis == "peers" else "its prediction"
    first = sentence(outlier) if outlier else f"No significant difference from {basis}."
    changes = [sentence(each) for each in fleet.changes if each.peers is peers and each.member == member]
    runs = peers.runs[peers.of(member)]
    return _page(
        member.label,
        f"{member.device}, {counted(len(runs), 'run')}. {member.pci_address} {runs['uuid'].iloc[-1] or ''}",
        above=[(_page_of(peers), peers.title)],
        sentences=[first, *changes],
        pictures=list(_trends(fleet, peers, [member])) if (outlier or changes) and len(runs) > 1 else [],
        tables=list(_device_tables(peers, member, outlier, _runs(runs, folder))),
    )


def _device_tables(
    peers: Peers, member: Member, outlier: Difference | None, runs: Table
) -> Iterator[tuple[str, Table]]:
    if peers.basis == "peers":
        effects = ((name, values[member.number]) for name, values in peers.layers.items())
        rows = tuple((name, as_percent(effect)) for name, effect in effects if not np.isnan(effect))
        yield "Layers", Table(("layer", "speed relative to peers"), rows)
    if outlier:
        sweeps = tuple((part.sweep, part.layer, as_percent(effect)) for part, effect in outlier.sweeps)
        yield "Significant sweeps", Table(("sweep", "layer", "difference"), sweeps)
    if member.figures:
        yield "Key figures", _device_figures(member.figures, compared=peers.basis == "peers")
    yield "Runs", runs


def _device_figures(figures: Sequence[Figure], *, compared: bool) -> Table:
    rows = []
    for each in figures:
        measured, usual = (format_value(value, each.unit) for value in (each.measured, each.usual))
        found = each.relative(each.usual), each.relative(each.predicted)
        ratios = [format_number(ratio, ".3f") if ratio else "" for ratio in found]
        predicted = format_value(each.predicted, each.unit) if each.predicted else ""
        rows.append((each.name, measured, *((usual, ratios[0]) if compared else ()), predicted, ratios[1]))
    peers = ("median of the model", "speed / median") if compared else ()
    columns = ("key figure", "measured", *peers, "predicted", "speed / predicted")
    return Table(columns, tuple(rows))


def _runs(runs: pd.DataFrame, folder: Path) -> Table:
    rows, links = [], []
    for run in runs.to_dict("records"):
        clock = format_frequency(run["clock_hz"]) if run["clock_hz"] > 0 else ""
        driver, limits, report = (run[name] or "" for name in ("driver", "throttle_reasons", "report"))
        rows.append((f"{run['created_at']:%Y-%m-%d %H:%M}", driver, clock, limits, report))
        links.append(_report_link(report, folder))
    return Table(("start", "driver", "clock", "limited by", "report"), tuple(rows), tuple(links))


def _report_link(report: str, folder: Path) -> str:
    path = Path(report)
    html = path.parent / f"{report_stem(path)}.html"
    return quote(os.path.relpath(html, folder.absolute())) if report and is_there(html) else ""


def _choices(fleet: Fleet) -> "Markup":
    from markupsafe import Markup

    devices = [
        {
            "name": f"{device.label} ({peers.title})",
            "figures": {f.name: (f.speed, format_value(f.measured, f.unit)) for f in device.figures},
        }
        for peers in fleet.peers
        for device in peers.members
        if device.figures
    ][:_MOST_COMPARED]
    text = json.dumps(devices, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup('<script type="application/json" id="choices">' + text + "</script>")  # noqa: S704 - its texts are escaped
