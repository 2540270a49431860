"""The state of a fleet: devices that differ from their peers or their predictions, why, and since when."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from math import copysign, log1p
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.findings.key_figures import NO_SPEED
from gpureport.fleet.causes import Reason, reasons
from gpureport.fleet.peers import (
    FEWEST_PEERS,
    MINIMUM_EFFECT,
    Effects,
    Part,
    effects,
    layer_effects,
    layers_of,
    nanmedian,
    significant_parts,
)
from gpureport.fleet.store import TABLES, Store
from gpureport.grouping import grouped
from gpureport.observe.significance import Flags
from gpureport.observe.statistics import Floats

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST_PEERS = 500  # whose conditions are compared
_SHARED = 0.5  # of the largest effect, which a layer or a device that shares it must have
_FEWEST_IN_STATE = 2  # runs in which only sweeps differ
Layers = Mapping[str, float]
"""Effects on ln(speed) by layer."""
Sweeps = Sequence[tuple[Part, float]]
"""Parts of sweeps with the effects on them."""


@dataclass(frozen=True, eq=False)
class Peers:
    """The devices of a model, measured in the same way."""

    title: str
    """Unique name: that of the device, with its entry, compute units or kind of run if there are several."""
    labels: tuple[str, ...]
    """Unique names of the devices, by their index: the node, and the address if the node has several of the model."""
    runs: pd.DataFrame
    """Rows of ``runs`` in the order of time, with the columns ``member`` and ``day`` (indices)."""
    parts: tuple[Part, ...]
    """Parts of sweeps."""
    values: Floats
    """ln(speed / median speed of the model's runs) (runs, parts); NaN: not measured."""
    predicted: Floats
    """ln(median speed / predicted speed) (parts,)."""
    widths: Floats
    """Half-widths of the predictions' 95 % intervals of ln(speed) (parts,)."""
    effects: Effects
    """Effects of devices and days."""
    layers: Mapping[str, Floats]
    """Effect of each device on each layer (devices,)."""
    figures: pd.DataFrame
    """Key figures of the last run of each *member*: ``name``, ``unit``, ``measured``, ``predicted``, and ``usual``, the
    median over the devices."""

    @property
    def compared(self) -> bool:
        """Whether there are enough devices to compare them with one another."""
        return len(self.labels) >= FEWEST_PEERS

    @cached_property
    def last(self) -> pd.DataFrame:
        """The last run of each device (devices,)."""
        return self.runs.drop_duplicates("member", keep="last").sort_values("member")

    def speeds(self, reference: Literal["usual", "predicted"]) -> dict[int, dict[str, float]]:
        """Return the speed of each device relative to *reference* by key figure, above 1: faster; none of energy."""
        found = self.figures[~self.figures["unit"].isin(NO_SPEED)]
        ratio = (found["measured"] / found[reference]) ** np.where(found["unit"] == "s", -1, 1)
        known = found.assign(ratio=ratio).dropna(subset="ratio")
        rows = zip(known["member"].tolist(), zip(known["name"], known["ratio"], strict=True), strict=True)
        return {member: dict(own) for member, own in grouped(rows).items()}

    def of(self, member: int) -> Flags:
        """Return which runs are those of a device (runs,)."""
        return np.asarray(self.runs["member"] == member)

    def since(self, member: int) -> datetime | None:
        """Return the start of a device's first run in its present state; ``None``: it never changed."""
        own = self.of(member)
        if self.effects.present[own].all():
            return None
        first: datetime = self.runs["created_at"][own & self.effects.present].iloc[0].to_pydatetime()
        return first

    def known(self, values: Floats) -> Sweeps:
        """Return the parts of sweeps that have one of *values* (parts,), with the value, the largest first."""
        found = [(part, float(value)) for part, value in zip(self.parts, values, strict=True) if not np.isnan(value)]
        return sorted(found, key=lambda pair: -abs(pair[1]))


@dataclass(frozen=True, eq=False)
class Difference:
    """What differs, and why; effects are on ln(speed).

    A device differs from its peers, a model from its earlier runs, or, without *since*, from its prediction.
    """

    peers: Peers
    member: int | None
    """Index of the device; ``None``: the model as a whole."""
    layers: Layers
    """Effect on each layer."""
    sweeps: Sweeps
    """Effects on parts of sweeps, the largest first; none of a model that differs from its prediction."""
    reasons: tuple[Reason, ...] = ()
    """Recorded conditions that differ."""
    since: datetime | None = None
    """Start of the first run in the present state, or after the change; ``None``: there are no earlier ones."""
    until: datetime | None = None
    """Start of the last run of the period; ``None``: it lasts."""
    changed: int | None = None
    """How many devices of the model changed; ``None``: none was measured both before and after."""
    end: float = 0.0
    """End of the prediction's 95 % interval, of a model."""

    @property
    def of_sweeps(self) -> bool:
        """Whether sweeps are affected, but no layer as a whole."""
        return bool(self.sweeps) and abs(_worst(self.layers)) < _SHARED * abs(self.sweeps[0][1])

    @property
    def effect(self) -> float:
        """Effect on the most affected layer, or on a sweep if it alone is affected."""
        return self.sweeps[0][1] if self.of_sweeps else _worst(self.layers)

    @property
    def slower(self) -> bool:
        """Whether it is slower, not faster."""
        return self.effect < 0

    @property
    def touched(self) -> set[str]:
        """Layers that are affected as a whole, or in a sweep."""
        worst = _worst(self.layers)
        return {*affected(self.layers), *(part.layer for part, own in self.sweeps if _shares(own, worst))}

    @property
    def label(self) -> str:
        """Name of the device; empty: the model as a whole."""
        return "" if self.member is None else self.peers.labels[self.member]

    @property
    def recorded(self) -> bool:
        """Whether conditions of the device's last run are recorded."""
        return self.member is not None and bool(self.peers.last["driver"].iloc[self.member])


class Fleet(NamedTuple):
    """The state of all devices of a store."""

    peers: tuple[Peers, ...]
    outliers: tuple[Difference, ...]
    """Devices that differ significantly; the most affected first, slower ones before faster ones."""
    changes: tuple[Difference, ...]
    """Of whole models."""
    models: tuple[Difference, ...] = ()
    """Those that differ from their prediction as a whole, by layer."""
    minimum_effect: float = MINIMUM_EFFECT
    """Relative difference below which none is significant."""

    @property
    def slower(self) -> tuple[Difference, ...]:
        """Outliers that are slower."""
        return tuple(each for each in self.outliers if each.slower)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return sum(len(each.runs) for each in self.peers)

    @property
    def devices(self) -> int:
        """Number of devices; one with quick and complete runs counts once."""
        return _devices(self.peers)

    @property
    def compared(self) -> int:
        """Number of devices that are compared with their peers."""
        return _devices(each for each in self.peers if each.compared)


def _devices(peers: Iterable[Peers]) -> int:
    lasts = (each.last[["node", "device", "pci_address"]] for each in peers)
    return len({place for last in lasts for place in last.itertuples(index=False, name=None)})


def analyse(store: Store, minimum_effect: float = MINIMUM_EFFECT) -> Fleet:
    """Compare all devices of *store* with their peers, if there are at least three, and models with their predictions.

    Raises:
        InputError: the store contains no run with predictions, or a file cannot be read.
    """
    if not (every := tuple(store.read(_groups))):
        raise InputError(
            f"{store.folder}: contains no run with predictions, which runs on software or emulated devices lack; "
            "add runs on other devices"
        )
    compared = [each for each in every if each.compared]
    flags = significant_parts([each.effects for each in compared], minimum_effect)
    found = (outlier for each, own in zip(compared, flags, strict=True) for outlier in _against_peers(each, own))
    return Fleet(
        peers=every,
        outliers=tuple(sorted(found, key=lambda outlier: outlier.effect)),
        changes=tuple(change for each in every for change in _changes_of_model(each, minimum_effect)),
        models=tuple(difference for each in every for difference in _of_model(each, minimum_effect)),
        minimum_effect=minimum_effect,
    )


def _groups(connection: "DuckDBPyConnection") -> list[Peers]:
    connection.execute((data_dir("tables") / "fleet.sql").read_text("utf-8"))
    names = "numbered", "parts", "deviations", "figures"
    runs, parts, values, figures = (connection.table(name).df() for name in names)
    groups = []
    texts = [name for name, column in TABLES["runs"].items() if column == "VARCHAR"]
    runs[texts] = runs[texts].astype(object).where(runs[texts].notna(), None)  # missing texts may be NaN
    several = runs.groupby("device")[["model", "compute_units", "quick"]].nunique().gt(1)
    values_of = dict(iter(values.groupby("peers")))
    for key, own in ((key, own) for key, own in runs.groupby("peers") if key in values_of):
        own_parts, first = parts[parts["peers"] == key], own.iloc[0]
        member, day = (np.asarray(own[name], np.intp) for name in ("member", "day"))
        table = values_of[key].pivot(index="number", columns="part", values="deviation")
        matrix = table.reindex(index=own.index, columns=own_parts["part"]).to_numpy(float)
        named = tuple(Part(*pair) for pair in zip(own_parts["sweep"], own_parts["layer"], strict=True))
        found = effects(matrix, member, day, named, own_parts["noise"].to_numpy(float))
        devices = own.drop_duplicates("member").sort_values("member")
        counts, places = Counter(devices["node"]), zip(devices["node"], devices["pci_address"], strict=True)
        groups.append(
            Peers(
                title=_title(first, several.loc[first["device"]]),
                labels=tuple(node if counts[node] == 1 else f"{node} {address}" for node, address in places),
                runs=own.reset_index(drop=True),
                parts=named,
                values=matrix,
                predicted=own_parts["centre"].to_numpy(float),
                widths=own_parts["width"].to_numpy(float),
                effects=found,
                layers=layer_effects(found.devices, found.errors, named),
                figures=figures[figures["peers"] == key],
            )
        )
    return groups


def _title(first: pd.Series, several: pd.Series) -> str:
    """Return the name of a group from a run; *several*: which facts differ among all runs of this name of a device."""
    facts = {
        "model": first["model"],
        "compute_units": f"{first['compute_units']:.0f} compute units",
        "quick": "quick runs" if first["quick"] else "complete runs",
    }
    return ", ".join([first["device"], *(text for name, text in facts.items() if several[name])])


def affected(layers: Layers) -> tuple[str, ...]:
    """Return the layers with at least half of the largest effect, in its direction, the largest first."""
    found = [name for name, effect in layers.items() if _shares(effect, _worst(layers))]
    return tuple(sorted(found, key=lambda name: -abs(layers[name])))


def _worst(layers: Layers) -> float:
    return max(layers.values(), key=abs, default=0.0)


def _shares(effect: float, worst: float) -> bool:
    return effect * worst > 0 and abs(effect) >= _SHARED * abs(worst)


def _against_peers(peers: Peers, flags: Flags) -> Iterator[Difference]:
    """Yield the devices with significant effects on a layer, or in several runs on sweeps."""
    for member in np.flatnonzero(flags.any(axis=1)).tolist():
        layers = {name: float(own[member]) for name, own in peers.layers.items()}
        layers = {name: effect for name, effect in layers.items() if not np.isnan(effect)}
        sweeps = peers.known(np.where(flags[member], peers.effects.devices[member], np.nan))
        outlier, since = Difference(peers, member, layers, sweeps), peers.since(member)
        alone = len({part.sweep for part, _ in sweeps}) == 1 or outlier.of_sweeps
        if not alone or (peers.effects.present & peers.of(member)).sum() >= _FEWEST_IN_STATE:
            runs, others = peers.runs[peers.of(member)], peers.last[peers.last["member"] != member].head(_MOST_PEERS)
            earlier = runs["uuid"][runs["created_at"] < since] if since else ()
            why = reasons(outlier.effect, runs.tail(1), others, earlier)
            yield replace(outlier, reasons=tuple(why), since=since)


def _changes_of_model(peers: Peers, minimum_effect: float) -> Iterator[Difference]:
    """Yield the changes of most devices at the same time; the end of a short one is part of its fact."""
    shifts, period_of_run = peers.effects.shifts, peers.effects.period[peers.runs["day"]]
    for period in range(1, len(shifts)):
        effects = shifts[period] - shifts[period - 1]
        returned = period > 1 and np.abs(shifts[period] - shifts[period - 2]).max() < _SHARED * np.abs(effects).max()
        sweeps = peers.known(effects)
        by_layer = grouped((part.layer, value) for part, value in sweeps)
        layers = {layer: float(np.median(by_layer[layer])) for layer in layers_of([part for part, _ in sweeps])}
        change = Difference(peers, None, layers, sweeps)
        if returned or not effects.any() or abs(change.effect) < log1p(minimum_effect):
            continue
        now, before = (period_of_run == period), (period_of_run == period - 1)
        shares = _shares_of_devices(peers, effects, now, before)
        changed = sum(share >= _SHARED for share in shares)
        if not shares or 2 * changed > len(shares):
            starts = peers.runs["created_at"][now]
            yield replace(
                change,
                reasons=tuple(reasons(change.effect, peers.runs[now], peers.runs[before])),
                since=starts.iloc[0].to_pydatetime(),
                until=None if now[-1] else starts.iloc[-1].to_pydatetime(),
                changed=changed if shares else None,
            )


def _shares_of_devices(peers: Peers, effects: Floats, now: Flags, before: Flags) -> list[float]:
    """Return the share of *effects* (parts,) that each device shows which was measured *now* and *before* (runs,).

    Effects that are smaller than half of the largest do not count.
    """
    most = np.abs(effects) >= _SHARED * np.abs(effects).max()
    member = peers.runs["member"].to_numpy()
    own = [(now & (member == n), before & (member == n)) for n in np.intersect1d(member[now], member[before])]
    found = [nanmedian(peers.values[after]) - nanmedian(peers.values[earlier]) for after, earlier in own]
    return [float(np.nanmedian(each[most] / effects[most])) for each in found if not np.isnan(each[most]).all()]


def _of_model(peers: Peers, minimum_effect: float) -> Iterator[Difference]:
    """Yield the layers whose median effect lies outside the interval of the prediction."""
    for layer in layers_of(peers.parts):
        chosen = [part.layer == layer for part in peers.parts]
        effect, width = float(np.median(peers.predicted[chosen])), float(np.median(peers.widths[chosen]))
        if sum(chosen) >= FEWEST_PEERS and abs(effect) > max(width, log1p(minimum_effect)):
            yield Difference(peers, None, {layer: effect}, (), end=copysign(width, effect))
