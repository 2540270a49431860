"""The documents of a fleet: a PDF, and a static site with pages for the fleet, each model and each device."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from gpureport import __version__
from gpureport.files import remove_files, write_file
from gpureport.fleet.analysis import Figure, Fleet, Outlier, Peers
from gpureport.fleet.causes import as_percent
from gpureport.fleet.figures import MOST_LINES, Strip, Trend, percents, strip_figure, trend_figure
from gpureport.fleet.peers import nanmedian
from gpureport.fleet.schema import Row
from gpureport.inputs import is_there
from gpureport.observe.statistics import MAD_TO_SIGMA
from gpureport.records.report import report_stem
from gpureport.report import Paper
from gpureport.report.figures.heat import HeatBlock, HeatRow, heat_figure, reach_of
from gpureport.report.figures.picture import Picture
from gpureport.report.render import Content, rendered, write_filled
from gpureport.report.text.tables import Table
from gpureport.text import counted
from gpureport.units import format_frequency, format_percent, format_value

if TYPE_CHECKING:
    from markupsafe import Markup

NAME = "fleet"
"""Stem of the main page and of the PDF."""
_TITLE = "Fleet report"
_MOST_SENTENCES = 10
_MOST_ROWS = 40  # of a heat map
_MOST_MODELS = 2  # that the PDF draws
_MOST_COMPARED = 2000  # devices to choose from
_PAGE = re.compile(r"(model-\d+|device-\d+-\d+)\.html")
_DAY = "%-d %B %Y"


@dataclass(frozen=True)
class Listing:
    """A table whose rows begin with a link, empty for none."""

    columns: tuple[str, ...]
    linked: tuple[tuple[str, tuple[str, ...]], ...]
    numeric: frozenset[str] = frozenset()
    links: bool = True


def write_site(fleet: Fleet, folder: Path, *, with_pdf: bool = True, paper: Paper = "a4") -> list[Path]:
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
    outliers = fleet.outliers
    drawn = _drawn(fleet)
    first, last = (
        end(each.runs["created_at"].agg(name) for each in fleet.peers) for end, name in ((min, "min"), (max, "max"))
    )
    return {
        "fleet": fleet,
        "version": __version__,
        "title": _TITLE,
        "counted": f"{counted(fleet.runs, 'run')} of {counted(fleet.devices, 'device')}",
        "period": " to ".join(dict.fromkeys((f"{first:{_DAY}}", f"{last:{_DAY}}"))),
        "conclusion": conclusion(fleet),
        "reservation": " ".join(fleet.reservations),
        "shown": outliers[:_MOST_SENTENCES],
        "hidden": max(len(outliers) - _MOST_SENTENCES, 0),
        "bases": {_basis(each) for each in fleet.peers},
        "heat": [*(picture for number in drawn for picture in _heat(fleet, number)), *_predicted_heat(fleet)],
        "strips": [_strips(fleet, number) for number in drawn if fleet.peers[number].compared],
        "trends": [picture for number in drawn[:1] for picture in _trends(fleet, fleet.peers[number])],
        "models": [
            (_model_page(n), f"{each.title}: {counted(len(each.members), 'device')}")
            for n, each in enumerate(fleet.peers)
        ],
        "devices": _devices(fleet, range(len(fleet.peers))),
    }


def conclusion(fleet: Fleet) -> str:
    """Return the main result in a sentence."""
    slower, faster = len(fleet.slower), len(fleet.outliers) - len(fleet.slower)
    basis = " or ".join(dict.fromkeys(_basis(each) for each in sorted(fleet.peers, key=lambda p: not p.compared)))
    every = counted(fleet.devices, "device")
    if not fleet.outliers:
        who = "The device does not differ" if fleet.devices == 1 else f"None of {every} differs"
        return f"{who} significantly from its {basis}."
    parts = [f"{number} {word}" for number, word in ((slower, "slower"), (faster, "faster")) if number]
    verb, whose = ("differs", "its") if slower + faster == 1 else ("differ", "their")
    return f"{slower + faster} of {every} {verb} significantly from {whose} {basis}: {', '.join(parts)}."


def _basis(peers: Peers) -> str:
    """Return what the devices of a model are compared with."""
    return "peers" if peers.compared else "prediction"


def _drawn(fleet: Fleet) -> list[int]:
    """Return the models to draw: those with most outliers, then with most devices."""
    outliers = [sum(o.peers == each.key for o in fleet.outliers) for each in fleet.peers]
    order = sorted(range(len(fleet.peers)), key=lambda n: (-outliers[n], -len(fleet.peers[n].members)))
    return order[:_MOST_MODELS]


def _odd(fleet: Fleet, peers: Peers) -> dict[int, Outlier]:
    """Return the outliers of a model by index, the most affected first."""
    index = {member: number for number, member in enumerate(peers.members)}
    return {index[o.member]: o for o in fleet.outliers if o.peers == peers.key and o.member in index}


def _heat(fleet: Fleet, number: int) -> Iterator[Picture]:
    """Draw devices by key figures."""
    peers = fleet.peers[number]
    cells = {member: {each.name: each.ratio for each in own} for member, own in enumerate(fleet.figures[number]) if own}
    names = tuple(sorted({name for own in cells.values() for name in own}))
    if not peers.compared or not names:
        return
    odd = _odd(fleet, peers)
    rest = sorted((m for m in cells if m not in odd), key=lambda m: -max(abs(np.log(list(cells[m].values())))))
    shown = [m for m in (*odd, *rest) if m in cells][:_MOST_ROWS]
    counts = np.bincount(peers.runs["member"])
    rows = [
        HeatRow(peers.members[m].label, "outlier" if m in odd else counted(counts[m], "run"), (cells[m],))
        for m in shown
    ]
    blocks = [HeatBlock("speed relative to the median device", names, tallest_in=1.55)]
    left = len(cells) - len(rows)
    caption = f"{peers.title}: key figures of devices. Outliers come first, then the largest differences. "
    caption += "Blue: faster; orange: slower."
    caption += f" {left} devices with smaller differences are not shown." if left else ""
    yield Picture(partial(heat_figure, rows, blocks, reach_of(rows)), caption)


def _predicted_heat(fleet: Fleet) -> Iterator[Picture]:
    """Draw the devices without peers by key figures, relative to their predictions."""
    rows = [
        HeatRow(member.label, counted(len(runs), "run"), (cells,), heading=peers.title)
        for peers, every in zip(fleet.peers, fleet.figures, strict=True)
        if not peers.compared
        for member, runs, own in zip(peers.members, peers.rows, every, strict=True)
        if (cells := {each.name: each.predicted_ratio for each in own if each.predicted_ratio})
    ][:_MOST_ROWS]
    if rows:
        names = tuple(sorted({name for row in rows for name in row.cells[0]}))
        blocks = [HeatBlock("speed relative to the prediction", names, tallest_in=1.55)]
        caption = "Key figures of devices without peers. Blue: faster than predicted; orange: slower."
        yield Picture(partial(heat_figure, rows, blocks, reach_of(rows)), caption)


def _strips(fleet: Fleet, number: int) -> Picture:
    peers = fleet.peers[number]
    names = {member: peers.members[member].label for member in _odd(fleet, peers)}
    strips = [Strip(layer, percents(values), names) for layer, values in peers.layers.items()]
    caption = f"{peers.title}: speed of each device on the sweeps that a layer limits. Orange: outliers."
    return Picture(partial(strip_figure, strips), caption)


def _trends(fleet: Fleet, peers: Peers, members: Sequence[int] = ()) -> Iterator[Picture]:
    """Draw the speeds of a model over time, with outliers or *members* as lines."""
    if peers.runs["day"].max() == 0:
        return
    single = range(len(peers.members)) if len(peers.members) == 1 else ()
    lines = tuple(
        (peers.members[member].label, tuple(np.flatnonzero(peers.runs["member"] == member).tolist()))
        for member in (members or single or list(_odd(fleet, peers))[:MOST_LINES])
    )
    times = tuple(time.to_pydatetime() for time in peers.runs["created_at"])
    trends = [
        Trend(layer, times, percents(nanmedian(peers.values.T[[part.layer == layer for part in peers.parts]])), lines)
        for layer in peers.layers
    ]
    caption = f"{peers.title}: speed by layer, relative to the median run."
    caption += "" if trends and trends[0].single else " Line: median of the day; area: nine in ten runs."
    yield Picture(partial(trend_figure, trends), caption)


def _devices(fleet: Fleet, numbers: Sequence[int]) -> Listing:
    """List the devices of models."""
    rows = []
    for number in numbers:
        peers = fleet.peers[number]
        odd = _odd(fleet, peers)
        counts = np.bincount(peers.runs["member"], minlength=len(peers.members))
        last = peers.runs.groupby("member")["created_at"].max()
        for member, device in enumerate(peers.members):
            outlier = odd.get(member)
            normal = "like its peers" if peers.compared else "as predicted"
            state = f"outlier, {'slower' if outlier.slower else 'faster'}" if outlier else normal
            effect = as_percent(outlier.effect) if outlier else ""
            cells = (device.label, peers.title, state, effect, str(counts[member]), f"{last[member]:%Y-%m-%d}")
            rows.append((_device_page(number, member), cells))
    return Listing(
        ("device", "model", "state", "difference", "runs", "last run"), tuple(rows), frozenset({"difference", "runs"})
    )


def _model_page(number: int) -> str:
    return f"model-{number}.html"


def _device_page(number: int, member: int) -> str:
    return f"device-{number}-{member}.html"


def _pages(fleet: Fleet, folder: Path) -> Iterator[tuple[str, Content]]:
    """Yield the names and contents of the pages of models and devices, and of the comparison."""
    yield (
        "compare.html",
        _page("Compare two devices", "Key figures of the last run of each device.", choices=_choices(fleet)),
    )
    for number, peers in enumerate(fleet.peers):
        yield _model_page(number), _model(fleet, number)
        odd = _odd(fleet, peers)
        for member in range(len(peers.members)):
            yield _device_page(number, member), _device(fleet, number, member, odd.get(member), folder)


def _page(
    title: str,
    facts: str,
    *,
    above: Sequence[tuple[str, str]] = (),
    sentences: Sequence[str] = (),
    pictures: Sequence[Picture] = (),
    tables: Sequence[tuple[str, Table | Listing]] = (),
    choices: "Markup | None" = None,
) -> Content:
    return {
        "part": "page",
        "title": title,
        "facts": facts,
        "above": above,
        "sentences": sentences,
        "pictures": pictures,
        "tables": tables,
        "choices": choices,
    }


def _model(fleet: Fleet, number: int) -> Content:
    peers = fleet.peers[number]
    normal = f"No device differs significantly from its {_basis(peers)}."
    sentences = [o.sentence for o in _odd(fleet, peers).values()] or [normal]
    first, *others = fleet.figures[number]
    figures = _model_figures(fleet, number) if others else _device_figures(first, compared=False)
    sentences += [each.sentence for each in fleet.changes if each.peers == peers.key]
    return _page(
        peers.title,
        f"{peers.model}: {counted(len(peers.members), 'device')}, {counted(len(peers.runs), 'run')}.",
        sentences=sentences[:_MOST_SENTENCES],
        pictures=[_strips(fleet, number)] if peers.compared else [],
        tables=[("Key figures", figures), ("Devices", _devices(fleet, [number]))],
    )


def _model_figures(fleet: Fleet, number: int) -> Table:
    """Return the median, spread and prediction of each key figure of a model."""
    by_name: dict[str, list[Figure]] = {}
    for figure in (figure for own in fleet.figures[number] for figure in own):
        by_name.setdefault(figure.name, []).append(figure)
    rows = []
    for name, own in by_name.items():
        unit, usual = own[0].unit, own[0].usual
        spread = MAD_TO_SIGMA * median(abs(each.measured / usual - 1) for each in own)
        ends = (format_value(end(each.measured for each in own), unit) for end in (min, max))
        predicted = [each.predicted for each in own if each.predicted]
        text = format_value(median(predicted), unit) if predicted else ""
        rows.append((name, format_value(usual, unit), format_percent(spread, ".2g"), " to ".join(ends), text))
    columns = ("key figure", "median", "spread", "range", "predicted")
    return Table(columns, tuple(rows), frozenset(columns[1:]))


def _device(
    fleet: Fleet,
    number: int,
    member: int,
    outlier: Outlier | None,
    folder: Path,
) -> Content:
    peers = fleet.peers[number]
    device = peers.members[member]
    runs, others = peers.rows[member], len(peers.members) - 1
    normal = (
        f"No significant difference from {counted(others, 'peer')}."
        if peers.compared
        else "No significant difference from its prediction."
    )
    changes = [each.sentence for each in fleet.changes if (each.peers, each.member) == (peers.key, device)]
    tables: list[tuple[str, Table | Listing]] = []
    if peers.compared:
        layers = tuple(
            (name, as_percent(values[member])) for name, values in peers.layers.items() if not np.isnan(values[member])
        )
        tables.append(
            ("Layers", Table(("layer", "speed relative to peers"), layers, frozenset({"speed relative to peers"})))
        )
    if outlier:
        sweeps = tuple((part.sweep, part.layer, as_percent(effect)) for part, effect in outlier.sweeps)
        tables.append(
            ("Significant sweeps", Table(("sweep", "layer", "difference"), sweeps, frozenset({"difference"})))
        )
    if own := fleet.figures[number][member]:
        tables.append(("Key figures", _device_figures(own, compared=peers.compared)))
    tables.append(("Runs", _runs(runs, folder)))
    return _page(
        device.label,
        f"{device.device}, {counted(len(runs), 'run')}. {device.pci_address} {runs[-1].get('uuid') or ''}",
        above=[(_model_page(number), peers.title)],
        sentences=[outlier.sentence if outlier else normal, *changes],
        pictures=list(_trends(fleet, peers, [member])) if (outlier or changes) and len(runs) > 1 else [],
        tables=tables,
    )


def _device_figures(figures: Sequence[Figure], *, compared: bool) -> Table:
    """Return the key figures of a device next to those of its model, if it has peers, and to the predicted ones."""
    rows = []
    for each in figures:
        measured, usual = (format_value(value, each.unit) for value in (each.measured, each.usual))
        peers = (usual, f"{each.ratio:.3f}") if compared else ()
        ratio = each.predicted_ratio
        predicted = (format_value(each.predicted, each.unit), f"{ratio:.3f}") if each.predicted and ratio else ("", "")
        rows.append((each.name, measured, *peers, *predicted))
    peers = ("median of the model", "speed / median") if compared else ()
    columns = ("key figure", "measured", *peers, "predicted", "speed / predicted")
    return Table(columns, tuple(rows), frozenset(columns[1:]))


def _runs(runs: Sequence[Row], folder: Path) -> Listing:
    """List the runs of a device, with links to the HTML reports next to their report.json."""
    rows = []
    for row in runs:
        clock = format_frequency(row["clock_hz"]) if isinstance(row["clock_hz"], float) else ""
        driver, reasons, report = (str(row[name] or "") for name in ("driver", "throttle_reasons", "report"))
        cells = (f"{row['created_at']:%Y-%m-%d %H:%M}", driver, clock, reasons, report)
        rows.append((_report_link(report, folder), cells))
    return Listing(("start", "driver", "clock", "limited by", "report"), tuple(rows), frozenset({"clock"}))


def _report_link(report: str, folder: Path) -> str:
    """Return the address of the HTML report next to a ``report.json``, relative to *folder*; empty if there is none."""
    path = Path(report)
    html = path.parent / f"{report_stem(path)}.html"
    return quote(os.path.relpath(html, folder.absolute())) if report and is_there(html) else ""


def _choices(fleet: Fleet) -> "Markup":
    """Return the key figures of devices as an element that the page's script reads."""
    from markupsafe import Markup

    devices = [
        {
            "name": f"{device.label} ({peers.title})",
            "figures": {f.name: (f.measured, format_value(f.measured, f.unit), f.unit == "s") for f in figures},
        }
        for peers, own in zip(fleet.peers, fleet.figures, strict=True)
        for device, figures in zip(peers.members, own, strict=True)
        if figures
    ][:_MOST_COMPARED]
    text = json.dumps(devices, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup('<script type="application/json" id="figures">' + text + "</script>")  # noqa: S704 - its texts are escaped
