"""The state of a fleet: devices that differ from their peers or their predictions, why, and since when."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby
from math import copysign, log1p
from typing import TYPE_CHECKING

import numpy as np

from gpureport.errors import InputError
from gpureport.fleet.causes import affected, others_share, percent, place, reasons, replaced, typical
from gpureport.fleet.peers import (
    FALSE_DISCOVERIES,
    FEWEST_PEERS,
    MINIMUM_EFFECT,
    Effects,
    Flags,
    Indices,
    Part,
    effects,
    layer_effects,
    layers_of,
    nanmedian,
    significant,
)
from gpureport.fleet.schema import Row
from gpureport.fleet.store import Store
from gpureport.observe.statistics import Floats
from gpureport.text import listed

if TYPE_CHECKING:
    import pandas as pd

_MANY = 20
"""Devices from which the share of healthy fleets with an outlier hardly depends on how much healthy devices differ."""
RESERVATION = (
    "Healthy devices of one model often differ by several percent (8 % on average in Sinha et al., SC22). "
    f"With fewer than {_MANY} devices of a model, their usual spread is not known well: an outlier can be healthy."
)
_MOST_PEERS = 500  # whose conditions are compared
_SHARED = 0.5  # of the largest effect, which a layer or a device that shares it must have
_LEAST_WIDTH = 1e-9  # of an interval of ln(speed)
_FEWEST_IN_STATE = 2  # runs before and after a change that is reported, or in which only sweeps differ
_KEY = "model || '|' || device || '|' || compute_units || '|' || quick || '|' || length(model)"
"""What the runs of a group have in common. The length separates the two names, which may contain any text."""
_OWN = f"""
SELECT {_KEY} AS peers, run, family || '/' || variant || '/' || sweep AS sweep, point, layer,
    CAST(CASE WHEN unit = 's' THEN -ln(measured) ELSE ln(measured) END AS FLOAT) AS measured,
    CAST(CASE WHEN unit = 's' THEN -ln(predicted) ELSE ln(predicted) END AS FLOAT) AS predicted,
    CAST(ln(predicted_high / predicted) AS FLOAT) AS width,
    CASE WHEN measured_low > 0 AND measured_high >= measured_low THEN ln(measured_high / measured_low) / 3.92 END
        AS noise
FROM points WHERE measured BETWEEN 1e-60 AND 1e60 AND predicted BETWEEN 1e-60 AND 1e60
    AND predicted_high BETWEEN predicted AND 1e60
"""  # noqa: S608 - no input
_POINTS = f"""
CREATE TEMP TABLE common AS
WITH sizes AS (SELECT {_KEY} AS peers, count(*) AS runs FROM runs GROUP BY peers)
SELECT peers, sweep, point, layer, measured, predicted, width, noise,
    dense_rank() OVER (ORDER BY peers, sweep, layer) AS part
FROM (
    SELECT peers, sweep, point, mode(layer) AS layer, median(measured) AS measured, median(predicted) AS predicted,
        median(width) AS width, median(noise) AS noise, count(*) AS found
    FROM ({_OWN}) GROUP BY peers, sweep, point
) JOIN sizes USING (peers) WHERE 2 * found > runs
"""  # noqa: S608
"""Points that most runs of a model have, with their medians over the runs.

All runs of a model are compared with one prediction, the median: predictions change with gpureport's version and with
the clock that a device reports.
"""
_PARTS = """
SELECT peers, sweep, layer, part, median(measured - predicted) AS centre, median(width) AS width,
    coalesce(median(noise), 0) AS noise
FROM common GROUP BY peers, sweep, layer, part ORDER BY part
"""
_VALUES = f"""
SELECT numbers.number, common.part, median(own.measured - common.measured) AS deviation
FROM ({_OWN}) own JOIN common USING (peers, sweep, point)
    JOIN (SELECT run, row_number() OVER (ORDER BY created_at, run) - 1 AS number FROM runs) numbers USING (run)
GROUP BY numbers.number, common.part
"""  # noqa: S608
"""Deviation of each run, by its number in the order of time, from the medians of the points of each part."""
_FIGURES = f"""
SELECT *, median(measured) OVER (PARTITION BY key, name) AS usual FROM (
    SELECT {_KEY} AS key, node, coalesce(pci_address, '') AS pci_address, name, arg_max(unit, created_at) AS unit,
        arg_max(measured, created_at) AS measured, arg_max(predicted, created_at) AS predicted
    FROM key_figures WHERE measured BETWEEN 1e-60 AND 1e60 GROUP BY ALL
) ORDER BY name, key, node, pci_address
"""  # noqa: S608 - no input
"""Key figures of the last run of each device, with the medians of its model."""


@dataclass(frozen=True)
class Member:
    """A device of a fleet.

    Attributes:
        node: its machine.
        device: its name.
        pci_address: distinguishes devices of a node; empty if unknown.
        label: unique name: the node, and the address if the node has several devices of the model.
    """

    node: str
    device: str
    pci_address: str
    label: str


@dataclass(frozen=True)
class Outlier:
    """A device that differs significantly.

    Attributes:
        member: the device.
        peers: key of its group.
        effect: on ln(speed) of the most affected layer.
        layers: effect on each layer.
        sweeps: significant parts of sweeps with their effects, the largest first.
        basis: what it differs from.
        since: start of the first run in its present state, if there are earlier ones.
        sentence: what is slow, how much, why and since when.
    """

    member: Member
    peers: str
    effect: float
    layers: Mapping[str, float]
    sweeps: tuple[tuple[Part, float], ...]
    basis: str
    since: datetime | None
    sentence: str

    @property
    def slower(self) -> bool:
        """Whether it is slower, not faster."""
        return self.effect < 0


@dataclass(frozen=True)
class Change:
    """A change of speed at a time.

    Attributes:
        peers: key of the group.
        member: the device, which has too few peers; ``None``: most devices of the group changed together.
        layers: effect on ln(speed) of each layer.
        sentence: since when, how much, where, and which recorded conditions changed.
    """

    peers: str
    member: Member | None
    layers: Mapping[str, float]
    sentence: str


@dataclass(frozen=True)
class Peers:
    """The devices of a model, measured in the same way.

    Attributes:
        key: what its runs have in common.
        title: unique: name of the device, with its entry, compute units or kind of run if there are several.
        model: id of the entry.
        quick: whether the runs were quick.
        members: devices.
        runs: rows of ``runs`` in the order of time, with the columns ``member`` and ``day`` (indices).
        parts: of sweeps.
        values: ln(speed / median speed of the model's runs) (runs, parts); NaN: not measured.
        predicted: ln(median speed / predicted speed) (parts,).
        widths: half-widths of the predictions' 95 % intervals of ln(speed) (parts,).
        effects: of devices and days.
        layers: effect of each device on each layer (devices,).
    """

    key: str
    title: str
    model: str
    quick: bool
    members: tuple[Member, ...]
    runs: "pd.DataFrame"
    parts: tuple[Part, ...]
    values: Floats
    predicted: Floats
    widths: Floats
    effects: Effects
    layers: Mapping[str, Floats]

    @property
    def compared(self) -> bool:
        """Whether there are enough devices to compare them with one another."""
        return len(self.members) >= FEWEST_PEERS

    @cached_property
    def rows(self) -> tuple[tuple[Row, ...], ...]:
        """Rows of the runs of each device in the order of time; missing values are ``None``."""
        found: tuple[list[Row], ...] = tuple([] for _ in self.members)
        for member, row in zip(self.runs["member"], self.rows_of(np.ones(len(self.runs), bool)), strict=True):
            found[member].append(row)
        return tuple(map(tuple, found))

    def rows_of(self, chosen: Flags) -> tuple[Row, ...]:
        """Return the rows of the *chosen* runs (runs,) in the order of time; missing values are ``None``."""
        rows = self.runs[chosen].to_dict("records")
        return tuple({str(name): None if v != v else v for name, v in row.items()} for row in rows)

    def since(self, member: int) -> datetime | None:
        """Return the start of a device's first run in its present state; ``None``: it never changed."""
        own = (self.runs["member"] == member).to_numpy()
        if self.effects.present[own].all():
            return None
        first: datetime = self.runs["created_at"][own & self.effects.present].iloc[0].to_pydatetime()
        return first


@dataclass(frozen=True)
class Figure:
    """A key figure of the last run of a device.

    Attributes:
        name: of the key figure.
        unit: of all values.
        measured: value of the device.
        predicted: from the specification, if it was.
        usual: median over the devices of the model.
    """

    name: str
    unit: str
    measured: float
    predicted: float | None
    usual: float

    @property
    def ratio(self) -> float:
        """Speed relative to the median device: above 1 is faster."""
        return self._speed(self.usual)

    @property
    def predicted_ratio(self) -> float | None:
        """Speed relative to the prediction; ``None`` without one."""
        return self._speed(self.predicted) if self.predicted else None

    def _speed(self, other: float) -> float:
        return other / self.measured if self.unit == "s" else self.measured / other


Figures = tuple[tuple[tuple[Figure, ...], ...], ...]
"""By model and device."""


@dataclass(frozen=True)
class Fleet:
    """The state of all devices of a store.

    Attributes:
        peers: devices by model.
        outliers: the most affected first; slower ones before faster ones.
        changes: of whole models, then of devices that have too few peers.
        figures: key figures of each device, by model and device.
        models: sentences about models that differ from their prediction as a whole.
        minimum_effect: relative difference below which none is significant.
    """

    peers: tuple[Peers, ...]
    outliers: tuple[Outlier, ...]
    changes: tuple[Change, ...]
    figures: Figures
    models: tuple[str, ...] = ()
    minimum_effect: float = MINIMUM_EFFECT

    @property
    def slower(self) -> tuple[Outlier, ...]:
        """Outliers that are slower."""
        return tuple(each for each in self.outliers if each.slower)

    @property
    def few_peers(self) -> bool:
        """Whether an outlier has too few peers for an estimate of how much healthy devices differ."""
        small = {each.key for each in self.peers if each.compared and len(each.members) < _MANY}
        return any(outlier.peers in small for outlier in self.outliers)

    @property
    def reservations(self) -> tuple[str, ...]:
        """Sentences about the limits of the result."""
        last = [rows[-1] for each in self.peers for rows in each.rows]
        loaded = sum(others_share(row) is not None for row in last)
        text = f"Other processes used {loaded} of {len(last)} devices during their last run; this load alone can make "
        text += "devices differ."
        return (*((RESERVATION,) if self.few_peers else ()), *((text,) if loaded else ()))

    @property
    def runs(self) -> int:
        """Number of runs."""
        return sum(len(each.runs) for each in self.peers)

    @property
    def devices(self) -> int:
        """Number of devices; one with quick and complete runs counts once."""
        return len({(m.node, m.device, m.pci_address) for each in self.peers for m in each.members})


def analyse(store: Store, minimum_effect: float = MINIMUM_EFFECT) -> Fleet:
    """Compare all devices of *store* with their peers, or with their predictions where there are fewer than three.

    Raises:
        InputError: the store contains no run with predictions, or a file cannot be read.
    """
    with store.connect() as connection:
        runs = connection.execute(f"SELECT *, {_KEY} AS peers FROM runs ORDER BY created_at, run").df()  # noqa: S608 - no input
        connection.execute(_POINTS)
        parts = connection.execute(_PARTS).df()
        values = connection.execute(_VALUES).df()
        figures = connection.execute(_FIGURES).fetchall()
    every = tuple(_groups(runs, parts, values))
    if not every:
        raise InputError(f"{store.folder}: contains no run with predictions; add reports that gpureport measured")
    compared = [each for each in every if each.compared]
    flags = significant(
        [each.effects.p_values for each in compared], [each.effects.devices for each in compared], minimum_effect
    )
    found = [
        *(outlier for each, own in zip(compared, flags, strict=True) for outlier in _against_peers(each, own)),
        *_against_prediction([each for each in every if not each.compared], minimum_effect),
    ]
    return Fleet(
        peers=every,
        outliers=tuple(sorted(found, key=lambda outlier: outlier.effect)),
        changes=(
            *(change for each in every for change in _shifts(each, minimum_effect)),
            *(change for each in every if not each.compared for change in _changes(each, minimum_effect)),
        ),
        figures=_figures(figures, every),
        models=tuple(text for each in compared for text in _of_model(each, minimum_effect)),
        minimum_effect=minimum_effect,
    )


def _figures(
    rows: Sequence[tuple[str, str, str, str, str, float, float | None, float]], every: Sequence[Peers]
) -> Figures:
    """Return the key figures of devices."""
    place = {
        (each.key, device.node, device.pci_address): (number, member)
        for number, each in enumerate(every)
        for member, device in enumerate(each.members)
    }
    found: list[tuple[list[Figure], ...]] = [tuple([] for _ in each.members) for each in every]
    for row in rows:
        if row[:3] in place:
            number, member = place[row[:3]]
            found[number][member].append(Figure(*row[3:]))
    return tuple(tuple(map(tuple, members)) for members in found)


def _groups(runs: "pd.DataFrame", parts: "pd.DataFrame", values: "pd.DataFrame") -> Iterator[Peers]:
    runs = runs.assign(pci_address=runs["pci_address"].fillna(""))
    peers_of = parts.set_index("part")["peers"]
    by_key = dict(iter(values.groupby(values["part"].map(peers_of))))
    several = runs.groupby("device")[["model", "compute_units", "quick"]].nunique().gt(1)
    for name, own in runs.groupby("peers"):
        if name in by_key:
            yield _peers(str(name), _title(own, several), own, parts[parts["peers"] == name], by_key[name])


def _title(runs: "pd.DataFrame", several: "pd.DataFrame") -> str:
    """Return the name of a group of *runs*; *several*: which facts differ among the runs of each name of a device."""
    first = runs.iloc[0]
    facts = {
        "model": first["model"],
        "compute_units": f"{first['compute_units']:.0f} compute units",
        "quick": "quick runs" if first["quick"] else "complete runs",
    }
    return ", ".join([first["device"], *(text for name, text in facts.items() if several.loc[first["device"], name])])


def _peers(key: str, title: str, runs: "pd.DataFrame", parts: "pd.DataFrame", values: "pd.DataFrame") -> Peers:
    members, member = _members(runs)
    day = np.unique(runs["created_at"].dt.date.to_numpy(), return_inverse=True)[1].ravel()
    matrix = np.full((len(runs), len(parts)), np.nan)
    rows = np.searchsorted(runs.index.to_numpy(), values["number"])
    matrix[rows, np.searchsorted(parts["part"].to_numpy(), values["part"])] = values["deviation"]
    named = tuple(Part(*pair) for pair in zip(parts["sweep"], parts["layer"], strict=True))
    found = effects(matrix, member, day, named, parts["noise"].to_numpy(float))
    first = runs.iloc[0]
    return Peers(
        key=key,
        title=title,
        model=str(first["model"]),
        quick=bool(first["quick"]),
        members=members,
        runs=runs.assign(member=member, day=day).reset_index(drop=True),
        parts=named,
        values=matrix,
        predicted=parts["centre"].to_numpy(float),
        widths=parts["width"].to_numpy(float),
        effects=found,
        layers=layer_effects(found.devices, found.errors, named),
    )


def _members(runs: "pd.DataFrame") -> tuple[tuple[Member, ...], Indices]:
    """Return the devices of *runs*, and the index of the device of each run."""
    keys = list(zip(runs["node"], runs["pci_address"], strict=True))
    unique = sorted(set(keys))
    devices = Counter(node for node, _ in unique)
    device = str(runs["device"].iloc[0])
    members = tuple(
        Member(node, device, address, node if devices[node] == 1 else f"{node} {address}") for node, address in unique
    )
    index = {key: number for number, key in enumerate(unique)}
    return members, np.array([index[key] for key in keys])


def _against_peers(peers: Peers, flags: Flags) -> Iterator[Outlier]:
    """Yield the devices with significant effects on a layer, or in several runs on sweeps."""
    for member in np.flatnonzero(flags.any(axis=1)):
        chosen = np.flatnonzero(flags[member])
        layers = {name: float(found[member]) for name, found in peers.layers.items() if not np.isnan(found[member])}
        found = sorted(((peers.parts[i], float(peers.effects.devices[member, i])) for i in chosen), key=_size)
        runs = int((peers.effects.present & (peers.runs["member"] == member).to_numpy()).sum())
        alone = len({part.sweep for part, _ in found}) == 1 or _is_of_sweeps(layers, found)
        if alone and runs < _FEWEST_IN_STATE:
            continue
        basis = f"the median of {len(peers.members)} devices of the model"
        yield _outlier(peers, int(member), layers, found, basis)


def _size(pair: tuple[Part, float]) -> float:
    return -abs(pair[1])


@dataclass(frozen=True)
class _Deviation:
    """The difference of a device from its prediction in a layer.

    Attributes:
        peers: group of the device.
        member: its index.
        layer: what limits these parts of sweeps.
        effect: on ln(speed), the median over the parts.
        width: half-width of the prediction's 95 % interval.
        parts: of sweeps, with the effect on each.
    """

    peers: Peers
    member: int
    layer: str
    effect: float
    width: float
    parts: tuple[tuple[Part, float], ...]


def _against_prediction(every: Sequence[Peers], minimum_effect: float) -> Iterator[Outlier]:
    """Yield the devices with a layer that differs significantly from its prediction.

    The false discovery rate among all layers of all these devices is limited to FALSE_DISCOVERIES.
    """
    from scipy.stats import false_discovery_control, norm

    found = [each for peers in every for each in _deviations(peers)]
    if not found:
        return
    scores = norm.isf(0.025) * np.array([abs(each.effect) / max(each.width, _LEAST_WIDTH) for each in found])
    beyond = np.array([abs(each.effect) >= log1p(minimum_effect) for each in found])
    flags = beyond & (false_discovery_control(2 * norm.sf(scores)) <= FALSE_DISCOVERIES)
    pairs = zip(found, flags, strict=True)
    for (_, member), of_device in groupby(pairs, key=lambda pair: (pair[0].peers.key, pair[0].member)):
        own = list(of_device)
        outside = [part for each, flag in own if flag for part in each.parts]
        if outside:
            layers = {each.layer: each.effect if flag else 0.0 for each, flag in own}
            yield _outlier(own[0][0].peers, member, layers, sorted(outside, key=_size), "its prediction")


def _deviations(peers: Peers) -> Iterator[_Deviation]:
    """Yield the layers with enough parts of each device, in its present state."""
    for member in range(len(peers.members)):
        present = peers.effects.present & (peers.runs["member"] == member).to_numpy()
        own = peers.predicted + nanmedian(peers.values[present])
        for layer in layers_of(peers.parts):
            chosen = [i for i, part in enumerate(peers.parts) if part.layer == layer and not np.isnan(own[i])]
            if len(chosen) >= FEWEST_PEERS:
                parts = tuple((peers.parts[i], float(own[i])) for i in chosen)
                effect, width = float(np.median(own[chosen])), float(np.median(peers.widths[chosen]))
                yield _Deviation(peers, member, layer, effect, width, parts)


def _outlier(
    peers: Peers, member: int, layers: Mapping[str, float], sweeps: Sequence[tuple[Part, float]], basis: str
) -> Outlier:
    device, since = peers.members[member], peers.since(member)
    effect, where = _affects(layers, sweeps)
    when = f" since {since:%Y-%m-%d %H:%M}" if since else ""
    text = f"{device.label} is {percent(effect)} than {basis}{when}; {where}"
    others = [rows[-1] for other, rows in enumerate(peers.rows) if other != member][:_MOST_PEERS]
    own = peers.rows[member][-1]
    earlier = [row for row in peers.rows[member] if since and row["created_at"] < since]  # type: ignore[operator]
    why = "; ".join((*replaced(own, earlier), *reasons(effect, own, others)))
    if not why and peers.compared and own["driver"]:
        why = "no recorded condition differs from its peers"
    return Outlier(
        member=device,
        peers=peers.key,
        effect=effect,
        layers=layers,
        sweeps=tuple(sweeps),
        basis=basis,
        since=since,
        sentence=f"{text}{': ' if why else ''}{why}.",
    )


def _affects(layers: Mapping[str, float], sweeps: Sequence[tuple[Part, float]]) -> tuple[float, str]:
    """Return the effect on the most affected layer, or on a sweep if it alone is affected, and a clause about it."""
    worst = max(layers.values(), key=abs, default=0.0)
    part, effect = max(sweeps, key=lambda pair: abs(pair[1]))
    if _is_of_sweeps(layers, sweeps):
        return effect, f"this affects {part.sweep} ({part.layer}) only"
    touched = {part.layer for part, own in sweeps if own * worst > 0 and abs(own) >= _SHARED * abs(worst)}
    unaffected = [name for name in layers if name not in affected(layers) and name not in touched]
    others = f", not {listed(unaffected, 'or')}" if unaffected else ""
    return worst, f"this affects {place(layers)}{others}"


def _is_of_sweeps(layers: Mapping[str, float], sweeps: Sequence[tuple[Part, float]]) -> bool:
    """Return whether sweeps are affected, but no layer as a whole."""
    most = max(abs(effect) for _, effect in sweeps)
    return max(map(abs, layers.values()), default=0.0) < _SHARED * most


def _shifts(peers: Peers, minimum_effect: float) -> Iterator[Change]:
    """Yield the changes of most devices at the same time; the end of a short one is part of its sentence."""
    shifts, period_of_run = peers.effects.shifts, peers.effects.period[peers.runs["day"]]
    for period in range(1, len(shifts)):
        effects = shifts[period] - shifts[period - 1]
        returned = period > 1 and np.abs(shifts[period] - shifts[period - 2]).max() < _SHARED * np.abs(effects).max()
        layers = _by_layer(peers, effects)
        effect, where = _affects(layers, _known(peers, effects))
        if returned or not effects.any() or abs(effect) < log1p(minimum_effect):
            continue
        now, before = (period_of_run == period), (period_of_run == period - 1)
        shares = _shares(peers, effects, now, before)
        changed = sum(share >= _SHARED for share in shares)
        if shares and 2 * changed <= len(shares):
            continue
        every, rows, earlier = len(peers.members), peers.rows_of(now), peers.rows_of(before)
        who = f"{changed} of {every}" if shares and changed < every else f"all {every}" if shares else "the"
        days = peers.runs["created_at"][now].dt.date
        first, last = days.min(), days.max()
        when = f"Since {first}" if now[-1] else f"On {first}" if first == last else f"From {first} to {last}"
        verb = "have been" if now[-1] else "were"
        text = f"{when}, {who} devices ({peers.title}) {verb} {percent(effect)} than before; {where}"
        if not shares:
            text += "; none was measured both before and after, so time and devices cannot be separated"
        why = "; ".join(reasons(effect, typical(rows), earlier, "earlier runs", "their"))
        yield Change(peers.key, None, layers, f"{text}: {why or 'no recorded condition changed'}.")


def _shares(peers: Peers, effects: Floats, now: Flags, before: Flags) -> list[float]:
    """Return the share of *effects* that each device shows which was measured in both periods.

    Args:
        peers: group.
        effects: of the change (parts,); at least half as large as the largest: those that count.
        now: runs after it (runs,).
        before: runs of the period before (runs,).
    """
    most = np.abs(effects) >= _SHARED * np.abs(effects).max()
    member = peers.runs["member"].to_numpy()
    own = [(now & (member == n), before & (member == n)) for n in np.intersect1d(member[now], member[before])]
    found = [nanmedian(peers.values[after]) - nanmedian(peers.values[earlier]) for after, earlier in own]
    return [float(np.nanmedian(each[most] / effects[most])) for each in found if not np.isnan(each[most]).all()]


def _changes(peers: Peers, minimum_effect: float) -> Iterator[Change]:
    """Yield the devices whose present state differs from earlier runs, with at least two runs of each."""
    for number, member in enumerate(peers.members):
        own, present = (peers.runs["member"] == number).to_numpy(), peers.effects.present
        now, before = own & present, own & ~present
        since = peers.since(number)
        if since is None or min(now.sum(), before.sum()) < _FEWEST_IN_STATE:
            continue
        effects = nanmedian(peers.values[now]) - nanmedian(peers.values[before])
        layers, known = _by_layer(peers, effects), _known(peers, effects)
        effect, where = _affects(layers, known) if known else (0.0, "")
        if abs(effect) >= log1p(minimum_effect):
            text = f"Since {since:%Y-%m-%d %H:%M}, {member.label} ({peers.title}) has been {percent(effect)} than in "
            earlier = [row for row in peers.rows[number] if row["created_at"] < since]  # type: ignore[operator]
            last = peers.rows[number][-1]
            why = "; ".join((*replaced(last, earlier), *reasons(effect, last, earlier, "earlier runs")))
            yield Change(peers.key, member, layers, f"{text}earlier runs; {where}{': ' if why else ''}{why}.")


def _known(peers: Peers, values: Floats) -> list[tuple[Part, float]]:
    """Return the parts of sweeps that have one of *values* (parts,), with the value."""
    return [(part, float(value)) for part, value in zip(peers.parts, values, strict=True) if not np.isnan(value)]


def _by_layer(peers: Peers, values: Floats) -> dict[str, float]:
    """Return the median of *values* of parts (parts,) over the parts of each layer."""
    known = _known(peers, values)
    every = layers_of([part for part, _ in known])
    return {layer: float(np.median([value for part, value in known if part.layer == layer])) for layer in every}


def _of_model(peers: Peers, minimum_effect: float) -> Iterator[str]:
    """Yield a sentence for each layer in which the median device lies outside the interval of the prediction."""
    for layer in layers_of(peers.parts):
        chosen = [part.layer == layer for part in peers.parts]
        found, width = float(np.median(peers.predicted[chosen])), float(np.median(peers.widths[chosen]))
        if sum(chosen) >= FEWEST_PEERS and abs(found) > max(width, log1p(minimum_effect)):
            text = f"The median of {len(peers.members)} devices ({peers.title}) is {percent(found)} than predicted"
            where = f"with {place({layer: found})} as the bottleneck"
            yield f"{text} {where}; the 95 % interval ends at {percent(copysign(width, found))}."
