"""The state of a fleet: sentences, and documents with charts of devices by layer and over time."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from math import expm1
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd

from gpureport import __version__
from gpureport.fleet.analysis import Difference, Fleet, Layers, Peers, affected
from gpureport.fleet.causes import LOAD
from gpureport.fleet.peers import Indices, nanmedian
from gpureport.inputs import is_there
from gpureport.observe.statistics import Floats
from gpureport.records.ceilings import Kind
from gpureport.records.report import report_stem
from gpureport.report import Paper
from gpureport.report.figures.chart import Axis, Chart, Mark, Panel, Role, Series
from gpureport.report.figures.picture import Picture
from gpureport.report.render import Content, write_filled
from gpureport.report.text.sentences import paragraphs, text
from gpureport.report.text.tables import Table
from gpureport.spec.uncertainty import MAD_TO_SIGMA
from gpureport.text import counted
from gpureport.units import format_percent, format_value, precise_percent

NAME = "fleet"
"""Stem of the page and of the PDF."""
FILE = "fleet_sentences.j2"
MANY = 20
"""Devices from which the share of healthy fleets with an outlier hardly depends on how much healthy devices differ."""
_OF_HOST = (Kind.LAUNCH, Kind.LINK)
_MOST_SENTENCES, _MOST_CHANGES = 10, 6
_MOST_ROWS = 40  # of a table of ratios
_MOST_MODELS = 2  # that the PDF draws
_ROLES: tuple[Role, ...] = ("observed", "green", "pink", "amber")  # of devices that are drawn one by one in a trend
_LEAST_PERCENT, _ROOM = 3.0, 1.15


def conclusion(fleet: Fleet) -> str:
    """Return the main result in a sentence."""
    return text("conclusion", FILE, fleet=fleet)


def reservations(fleet: Fleet) -> tuple[str, ...]:
    """Return sentences about the limits of the result."""
    few = any(len(each.peers.labels) < MANY for each in fleet.outliers)
    loads = [load for each in fleet.peers for load in each.last["others_utilisation"]]
    loaded = sum(load >= LOAD for load in loads)
    return paragraphs("reservations", FILE, few=few, many=MANY, loaded=loaded, known=len(loads))


def sentence(difference: Difference) -> str:
    """Write what differs: how much, where, why and since when."""
    return text("difference", FILE, it=difference, parts_of=parts_of)


def parts_of(layers: Layers) -> list[str]:
    """Return the parts of the device that explain the pattern of *layers*: layers, or the whole device or core clock.

    The launch of kernels follows the clock: it counts only by itself.
    """
    every = affected(layers)
    found, on_chip = set(every) - set(_OF_HOST), set(layers) - {Kind.MEMORY, *_OF_HOST}
    if not found:
        return [name for name in _OF_HOST if name in every]
    parts = sorted(found)
    if Kind.MEMORY in found and on_chip and on_chip <= found:
        parts = ["whole device"]
    elif Kind.COMPUTE in found and Kind.MEMORY not in found and len(found) > 1 and len(found) >= len(on_chip) - 1:
        parts = ["core clock"]
    return [*parts, *([Kind.LINK] if Kind.LINK in every else [])]


def write_documents(fleet: Fleet, folder: Path, *, with_pdf: bool = True, paper: Paper = "a4") -> list[Path]:
    """Write the page and the PDF to *folder*, and return those made; a GpuReportError if that is not possible."""
    return write_filled("fleet.html.j2", _content(fleet, folder), folder, with_pdf=with_pdf, paper=paper, name=NAME)


def _content(fleet: Fleet, folder: Path) -> Content:
    drawn = _drawn(fleet)
    strips = {peers: _strips(fleet, peers) for peers in fleet.peers if peers.compared}
    starts = [time for each in fleet.peers for time in each.runs["created_at"]]
    return {
        "fleet": fleet,
        "version": __version__,
        "title": "Fleet report",
        "counted": f"{counted(fleet.runs, 'run')} of {counted(fleet.devices, 'device')}",
        "period": " to ".join(dict.fromkeys(f"{day.day} {day:%B %Y}" for day in (min(starts), max(starts)))),
        "conclusion": conclusion(fleet),
        "reservation": " ".join(reservations(fleet)),
        "shown": list(map(sentence, fleet.outliers[:_MOST_SENTENCES])),
        "hidden": max(len(fleet.outliers) - _MOST_SENTENCES, 0),
        "changes": [sentence(fact) for facts in (fleet.changes, fleet.models) for fact in facts[:_MOST_CHANGES]],
        "ratios": list(_ratios(fleet, drawn)),
        "strips": [strips[peers] for peers in drawn if peers in strips],
        "trends": [picture for peers in drawn[:1] for picture in _trends(fleet, peers)],
        "models": [
            (f"{each.title}: {counted(len(each.labels), 'device')}", strips.get(each), _figures(each))
            for each in fleet.peers
        ],
        "devices": _devices(fleet, folder),
    }


def _drawn(fleet: Fleet) -> list[Peers]:
    outliers = Counter(outlier.peers for outlier in fleet.outliers)
    return sorted(fleet.peers, key=lambda each: (-outliers[each], -len(each.labels)))[:_MOST_MODELS]


def _odd(fleet: Fleet, peers: Peers) -> dict[int, Difference]:
    return {each.member: each for each in fleet.outliers if each.member is not None and each.peers is peers}


def _ratios(fleet: Fleet, every: Sequence[Peers]) -> Iterator[tuple[str, Table]]:
    """Yield captions and tables of key figures relative to those of peers, or else to predictions."""
    for peers in (each for each in every if each.compared):
        odd, counts = _odd(fleet, peers), np.bincount(peers.runs["member"])
        found = peers.speeds("usual")
        rest = sorted(found.keys() - odd, key=lambda m: (-max(abs(np.log(list(found[m].values())))), m))
        rows = [
            (peers.labels[m], "outlier" if m in odd else counted(counts[m], "run"), found[m])
            for m in (*odd, *rest)
            if m in found
        ]
        caption = (
            f"{peers.title}: speed relative to the median device. Outliers come first, then the largest differences."
        )
        yield from _ratio_table(rows, caption)
    rows = [
        (peers.labels[m], f"{peers.title}, {counted(np.bincount(peers.runs['member'])[m], 'run')}", ratios)
        for peers in fleet.peers
        if not peers.compared
        for m, ratios in peers.speeds("predicted").items()
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
    """Draw a row for each layer, with a dot for each device; outliers are orange, with their names."""
    odd = _odd(fleet, peers)
    layers = {layer: 100 * np.expm1(values) for layer, values in peers.layers.items()}
    usual, outliers = [], []
    for row, values in enumerate(layers.values()):
        for number in np.flatnonzero(~np.isnan(values)).tolist():
            if number in odd:
                outliers.append((float(values[number]), row - 0.1, peers.labels[number]))
            else:
                usual.append((float(values[number]), row + 0.2 * (2 * (number * 0.618 % 1) - 1)))
    series = [Series.of("devices", "muted", "small dots", usual)] if usual else []
    if outliers:
        x, y, names = zip(*sorted(outliers, key=lambda each: -abs(each[0])), strict=True)
        series.append(Series("outliers", "observed", "dots", x, y, texts=names, labelled=True))
    x_axis = Axis("speed relative to the median device", "%", ends=_ends(list(layers.values())))
    rows = Axis(scale="rows", rows=tuple(layers))
    panel = Panel(x_axis, rows, tuple(series), height_in=0.3 * len(layers), marks=(Mark(0, 0),))
    caption = f"{peers.title}: speed of each device on the sweeps that a layer limits. Orange: outliers."
    return Picture(Chart(((panel,),)), caption)


def _ends(values: Sequence[Floats]) -> tuple[float, float]:
    reach = max(_LEAST_PERCENT, *(_ROOM * float(np.nanmax(np.abs(each), initial=0.0)) for each in values))
    return -reach, reach


def _trends(fleet: Fleet, peers: Peers) -> Iterator[Picture]:
    """Draw each layer over time: the range of nine in ten runs and their median by day; some devices as lines."""
    if peers.runs["day"].max() == 0:
        return
    single = len(peers.labels) == 1  # which needs no median
    lines = [(peers.labels[m], np.flatnonzero(peers.of(m))) for m in ([0] if single else _odd(fleet, peers))]
    seconds = np.array([time.tz_localize(UTC).timestamp() for time in peers.runs["created_at"]])  # a store has UTC
    time = Axis(scale="time", ends=(float(seconds.min()), float(seconds.max())))
    panels = list[Panel]()
    for layer in peers.layers:
        values = 100 * np.expm1(nanmedian(peers.values.T[[part.layer == layer for part in peers.parts]]))
        series = [*(() if single else _daily(seconds, values)), *_lines(seconds, values, lines)]
        last = len(panels) + 1 == len(peers.layers)
        panels.append(Panel(time, Axis(unit="%", ends=_ends([values])), tuple(series), layer, 1.05, joined=not last))
    legend = {each.name: each.role for panel in panels for each in panel.series}
    caption = f"{peers.title}: speed by layer, relative to the median run."
    caption += "" if single else " Line: median of the day; area: nine in ten runs."
    yield Picture(Chart((tuple(panels),), legend=tuple(legend.items())), caption)


def _daily(seconds: Floats, values: Floats) -> Iterator[Series]:
    noon = (seconds // 86400 + 0.5) * 86400
    daily = pd.Series(values).groupby(noon).quantile(np.array([0.05, 0.5, 0.95])).unstack().dropna()
    if len(daily):
        x, y, low, high = (tuple(each) for each in (daily.index, daily[0.5], daily[0.05], daily[0.95]))
        yield Series("median", "ink", "line", x, y, low, high)


def _lines(seconds: Floats, values: Floats, lines: Sequence[tuple[str, Indices]]) -> Iterator[Series]:
    for (name, runs), role in zip(lines, _ROLES, strict=False):
        if found := [run for run in runs.tolist() if not np.isnan(values[run])]:
            yield Series(name, role, "line", tuple(seconds[found]), tuple(values[found]))


def _devices(fleet: Fleet, folder: Path) -> Table:
    rows, links = [], []
    for peers in fleet.peers:
        odd, counts, last_runs = _odd(fleet, peers), np.bincount(peers.runs["member"]), peers.last
        shown = zip(peers.labels, last_runs["created_at"], last_runs["report"], strict=True)
        for number, (label, last, report) in enumerate(shown):
            outlier = odd.get(number)
            normal = "like its peers" if peers.compared else "too few peers"
            state = f"outlier, {'slower' if outlier.slower else 'faster'}" if outlier else normal
            effect = precise_percent(expm1(outlier.effect), "+") if outlier else ""
            rows.append((label, peers.title, state, effect, str(counts[number]), f"{last:%Y-%m-%d}"))
            html = (path := Path(report or "")).parent / f"{report_stem(path)}.html"
            links.append(quote(os.path.relpath(html, folder.absolute())) if report and is_there(html) else "")
    return Table(("device", "model", "state", "difference", "runs", "last run"), tuple(rows), tuple(links))


def _figures(peers: Peers) -> Table:
    rows = []
    for name, own in peers.figures.groupby("name"):
        unit, usual, measured = own["unit"].iloc[0], own["usual"].iloc[0], own["measured"]
        spread = MAD_TO_SIGMA * (measured / usual - 1).abs().median()
        ends = (format_value(end, unit) for end in (measured.min(), measured.max()))
        several = (format_percent(spread, ".2g"), " to ".join(ends)) if len(own) > 1 else ("", "")
        predicted = own["predicted"].dropna().median()  # pandas 2 warns if nothing is predicted
        text = "" if pd.isna(predicted) else format_value(predicted, unit)
        rows.append((str(name), format_value(usual, unit), *several, text))
    return Table(("key figure", "median", "spread", "range", "predicted"), tuple(rows))
