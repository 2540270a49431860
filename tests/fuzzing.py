"""Random changes to good input files, and what every command does with the result.

A good file is changed in its structure (values, keys, items) or in its text, read, and used as commands use it. It must
be refused with one of the project's own errors, or give a result; anything else raised, a number that cannot be, and
more than ten seconds of processor time are failures. A seed gives the same file every time.
"""

import copy
import json
import math
import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from gpureport.compare import Run, compare, excerpt
from gpureport.data import data_dir
from gpureport.errors import GpuReportError
from gpureport.notebook import ReportFrames
from gpureport.predict.ceilings import ceilings
from gpureport.records.curves import Points
from gpureport.records.report import Report, load_report
from gpureport.report.forecast import outlook_table
from gpureport.report.render import write_comparison
from gpureport.results import published
from gpureport.results.opening import predicted
from gpureport.results.replay import report_result
from gpureport.spec import database as files
from gpureport.spec.check import check_folder
from gpureport.spec.database import Database
from gpureport.validate.residuals import frame, residuals
from gpureport.workloads import all_workloads
from tests.kept import CPU, NAMES, PUBLISHED, kept, render_html
from tests.kept import database as shipped
from tests.make_report import stored

LIMIT_S = 10.0
DEVICES = ("nvidia/h200_sxm", "amd/rx_7900_xt", "intel/arc_a770", "apple/m1_max", "cpu/x86_64", "nvidia/a40")
ARCHITECTURES = {
    "hopper_90": "nvidia/h200_sxm",
    "rdna3": "amd/rx_7900_xt",
    "cdna2": "amd/mi210",
    "intel_gen9": "intel/hd_520",
    "apple_m1": "apple/m1_max",
    "x86_64": "cpu/x86_64",
    "ampere_86": "nvidia/a40",
}
"""One device of each architecture."""
RECORDS = ("gtx_1060_bit_transpose", "hd_630_bit_transpose", "rx_570_bit_transpose", "a40_game_of_life")
NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, -0.0, 0.5, 1e-308, 5e-324, 1e-30, 1e-9, 1e9, 1e18, 1e30, 1e308, -1e30),
    *(math.inf, -math.inf, math.nan, 2**31, 2**53, 2**63, 2**64, 10**30, -(2**63), 33_000_000, 4_000_000_000_000),
)
TEXTS: tuple[Any, ...] = (
    *("", " ", "x", "x" * 300, "$x_{$", "\\frac", "<script>", "\u202e", "\0", "\ud800", "é" * 40, "%s{}", "1e999"),
    *("nan", "../../x", "a/b/c", "a\nb", "[red]", "2^64 B", "-1 GHz", "1e300 GB/s", "1e-300 s", "0 B", "1e-308 cycles"),
    *("0.001 B", "1 KiB", "1 TiB", "1 PiB", "1 Hz", "1e12 GHz", "1e-12 s", "1e6 s", "1e9 cycles"),
)
OTHERS: tuple[Any, ...] = (
    *(None, True, False, [], {}, [[]], {"a": 1}, [0], [None], {"value": 1}, [1, 2, 3], [1] * 200),
)
TOKENS = (
    *("!!int ", "!!bool ", "&a ", "*a", "<<: ", "\t", "? ", "| ", "> ", "- ", "{", "}", "[", "]", ":", ": ", "#", "'"),
    *('"', "[" * 150, "{a: " * 200, '{"a":' * 200, "\n---\n", "%YAML 9\n", "\ufeff", "\0", "\\", ",", "1e999", "NaN"),
    *("-", "\r"),
)


class TooSlowError(Exception):
    """An input took longer than :data:`LIMIT_S`, in seconds of processor time."""


@dataclass
class Mutator:
    """Changes plain data and text at random."""

    rng: random.Random

    def value(self, old: object) -> object:
        """Return something that may stand in place of *old*: mostly of its kind."""
        chance = self.rng.random()
        quantity = re.fullmatch(r"([\d.]+)( .+)", old) if isinstance(old, str) else None
        if isinstance(old, bool):
            return not old if chance < 0.8 else self.rng.choice(OTHERS)
        if quantity and chance < 0.8:
            return f"{self.value(float(quantity[1]))}{quantity[2]}"
        if isinstance(old, int | float) and chance < 0.7:
            scale = 10.0 ** self.rng.choice((-300, -20, -12, -6, -3, -2, -1, 1, 2, 3, 6, 9, 12, 20, 300))
            changed = self.rng.choice((-old, 0, *3 * (float(old) * scale,), old + 1, old - 1, old / 3))
            return int(changed) if isinstance(old, int) and math.isfinite(changed) else changed
        if chance > 0.97:
            return self.rng.choice(OTHERS)
        own, other = (TEXTS, NUMBERS) if isinstance(old, str) else (NUMBERS, TEXTS)
        return self.rng.choice(own if chance < 0.94 else other)

    def data(self, good: Any) -> Any:
        """Return a copy of *good* with one to three changes."""
        data = copy.deepcopy(good)
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            places: dict[str, list[tuple[Any, Any]]] = {}
            for path, holder, key in _places(data):
                places.setdefault(path, []).append((holder, key))
            if places:  # every kind of place is as likely as every other
                alike = places[self.rng.choice(sorted(places))]
                self._change(*self.rng.choice(alike), *self.rng.choice(alike))
        return data

    def _change(self, holder: Any, key: Any, other: Any, place: Any) -> None:
        """Change a place, or put what is in another of its kind there."""
        if isinstance(holder[key], list) and self.rng.random() < 0.8:
            self._change_list(holder[key])
        elif isinstance(holder[key], dict) and self.rng.random() < 0.5:
            holder[key] = copy.deepcopy(other[place])
        elif not isinstance(holder[key], dict) and self.rng.random() < 0.85:
            holder[key] = self.rng.choice((self.value(holder[key]), self.value(holder[key]), other[place]))
        elif self.rng.random() < 0.5:
            del holder[key]
        elif isinstance(holder, dict) and self.rng.random() < 0.3:
            holder[self.rng.choice((f"{key}x", "", 7, "rule"))] = holder.pop(key)
        else:
            holder[key] = self.rng.choice((None, [holder[key]], {"value": holder[key]}))

    def _change_list(self, items: list[Any]) -> None:
        """Change the order or the number of items."""
        here = self.rng.randrange(len(items) + 1)
        match self.rng.randrange(6):
            case 0:
                self.rng.shuffle(items)
            case 1:
                del items[here:]
            case 2:
                del items[here : here + 1]
            case 3:
                items.clear()
            case _:
                items[here:here] = copy.deepcopy(items[here - 1 : here]) * self.rng.choice((1, 2, 40))

    def text(self, good: str) -> str:
        """Return *good* with one to three changes of lines, words or characters."""
        text = good
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            text = self.rng.choice((self._line, self._word, self._word, self._token, self._cut))(text)
        return text

    def _line(self, text: str) -> str:
        lines = text.split("\n")
        here, there = (self.rng.randrange(len(lines)) for _ in range(2))
        match self.rng.randrange(4):
            case 0:
                del lines[here]
            case 1:
                lines.insert(there, lines[here])
            case 2:
                lines[here], lines[there] = lines[there], lines[here]
            case 3:
                lines[here] = self.rng.choice(("  ", "    ", "\t")) + lines[here]
        return "\n".join(lines)

    def _word(self, text: str) -> str:
        words = list(re.finditer(r"[-\w.]+(?: (?:[kMGT]?i?B(?:/s|/cycle)?|GHz|us|cycles))?", text))
        if not words:
            return text
        word = self.rng.choice(words)
        new = str(self.value(float(word[0]) if re.fullmatch(r"[\d.]*\d", word[0]) else word[0]))
        return text[: word.start()] + new + text[word.end() :]

    def _token(self, text: str) -> str:
        place = self.rng.randrange(len(text) + 1)
        return text[:place] + self.rng.choice(TOKENS) + text[place:]

    def _cut(self, text: str) -> str:
        start = self.rng.randrange(len(text) + 1)
        return text[:start] + text[start + self.rng.choice((1, 5, 100, 10_000)) :]


def _places(data: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield every place of *data*: its kind (the path without indices), its container, and its key there."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in list(pairs):
        many = isinstance(data, list) or path.endswith((".provenance", ".workloads", ".sources", ".packages"))
        here = f"{path}[]" if many else f"{path}.{key}"
        yield here, data, key
        yield from _places(value, here)


def impossible(record: object, path: str = "") -> Iterator[str]:
    """Yield the paths of numbers that no record can have: not finite, or below zero (but for terms of a sum)."""
    if isinstance(record, BaseModel):
        for name in type(record).model_fields:
            yield from impossible(getattr(record, name), f"{path}.{name}")
    elif isinstance(record, dict):
        for key, value in record.items():
            yield from impossible(value, f"{path}.{key}")
    elif isinstance(record, list | tuple | Points):
        for item in record:
            yield from impossible(item, f"{path}[]")
    elif isinstance(record, int | float) and not (0 <= record < math.inf or path.endswith(".steps[].value")):
        yield f"{path} = {record}"


@contextmanager
def in_time() -> Iterator[None]:
    """Raise in the code that exceeds the limit of processor time or waits for a minute."""
    timers = {signal.SIGPROF: (signal.ITIMER_PROF, LIMIT_S), signal.SIGALRM: (signal.ITIMER_REAL, 6 * LIMIT_S)}

    def stop(*_: object) -> None:
        raise TooSlowError

    before = {number: signal.signal(number, stop) for number in timers}
    for timer, limit_s in timers.values():
        signal.setitimer(timer, limit_s)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


EVERY = True
"""Whether parts of all kept reports are tried, not of quick runs only."""


@cache
def reports() -> tuple[dict[str, Any], ...]:
    """Return small reports as their files have them: parts of those that are kept, and a publication's."""
    every = (kept(name) for name in NAMES if EVERY or name.endswith("-quick"))
    cited = published.published_report(published.load(PUBLISHED / "gtx_1060_bit_transpose.yaml", shipped()))
    parts = (Report.model_validate(_part(report.model_dump())) for report in every)
    return tuple(map(stored, (*parts, cited)))


def _part(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report with a few sweeps of different kinds, of five samples a point."""
    keys: dict[str, Any] = {}
    for measurement in report["measurements"]:
        if len(measurement["points"]) < 40:
            keys.setdefault(measurement["axis"]["quantity"], measurement["key"])
    explained = [explanation["key"] for explanation in report["explanations"]]
    chosen = [*keys.values(), *explained[:1]]
    names = {f"{key['family']}/{key['variant']}" for key in chosen}
    part = dict(report)
    for name in ("predictions", "measurements", "observations", "explanations"):
        part[name] = [record for record in report[name] if record["key"] in chosen]
    for measurement in part["measurements"]:
        for point in measurement["points"]:
            point["samples_s"], point["taken_at_s"] = point["samples_s"][:5], point["taken_at_s"][:5]
    part["findings"] = [f for f in report["findings"] if f["key"] in chosen]
    part["workloads"] = {name: info for name, info in report["workloads"].items() if name in names}
    part["conditions"] = [{**each, "readings": each["readings"][:5]} for each in report.get("conditions", ())[:2]]
    return part


@dataclass
class Fuzzer:
    """Makes one kind of input and uses it."""

    folder: Path
    outcomes: Counter[str] = field(default_factory=Counter)

    def __call__(self, kind: str, seed: int) -> None:
        """Make the input of *seed*, use it, and count what came of it.

        Raises:
            Exception: anything but one of the project's own errors.
        """
        rng = random.Random(f"{kind} {seed}")  # noqa: S311 - no secret
        outcome = "accepted"
        uses: dict[str, Callable[[random.Random], None]]
        uses = {"device": self._device, "architecture": self._architecture, "record": self._record}
        with in_time():
            try:
                uses.get(kind, self._report)(rng)
            except GpuReportError as error:
                sentence = str(error)
                assert sentence, "an error without a sentence"
                assert len(sentence) < 2000, "an error is longer than a sentence"
                outcome = "refused"
        self.outcomes[f"{kind} {outcome}"] += 1

    def _device(self, rng: random.Random) -> None:
        """Check an entry, read it as the user's own, and predict."""
        content = _yaml(rng, data_dir("devices") / f"{rng.choice(DEVICES)}.yaml")
        self._entry(content, rng, self.folder / "devices" / "mine.yaml")

    def _architecture(self, rng: random.Random) -> None:
        """Check an architecture, and predict a device of it."""
        folder, name = self.folder / "own", rng.choice(sorted(ARCHITECTURES))
        folder.mkdir(exist_ok=True)
        entry = (data_dir("devices") / f"{ARCHITECTURES[name]}.yaml").read_text(encoding="utf-8")
        (folder / "mine.yaml").write_text(entry.replace(f"architecture: {name}", "architecture: mine"))
        content = _yaml(rng, data_dir("devices") / "architectures" / f"{name}.yaml")
        self._entry(content, rng, folder / "architectures" / "mine.yaml")

    def _entry(self, content: bytes, rng: random.Random, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        root = path.parent.parent if path.parent.name == "architectures" else path.parent
        database = Database(dict(shipped().entries), dict(shipped().architecture_paths))
        wrong = [problem for problem in check_folder([path], database) if problem.severity == "error"]
        assert all(str(problem).count("\n") == 0 for problem in wrong), "a problem has several lines"
        files._add(database, root, own=True, strict=False)
        if database.broken:
            raise GpuReportError(next(iter(database.broken.values())))
        device = database.device("mine")
        _check(device)
        for workload in rng.sample(all_workloads(), 2):
            report = predicted(device, (workload,), quick=True)[0]
            _check(report, *ceilings(device))
            outlook_table(report.predictions)
        if rng.random() < 0.2:
            render_html(report)

    def _record(self, rng: random.Random) -> None:
        """Read a published record, predict and explain it, and render it."""
        path = self.folder / "record.yaml"
        path.write_bytes(_yaml(rng, PUBLISHED / f"{rng.choice(RECORDS)}.yaml"))
        report = published.published_report(published.load(path, shipped()))
        _check(report)
        if rng.random() < 0.3:
            render_html(report)

    def _report(self, rng: random.Random) -> None:
        """Read a report, and render it, compare it, validate it, and make frames of it."""
        path = self.folder / "report.json"
        path.write_bytes(_json(rng, rng.choice(reports())))
        report = load_report(path)
        _check(report)
        uses = (self._render, self._compare, self._compare_with_itself, self._validate, self._frames)
        for use in rng.sample(uses, 2):
            use(report)

    def _render(self, report: Report) -> None:
        render_html(report)

    def _compare(self, report: Report) -> None:
        self._written({"changed": (excerpt(report),), "base": (excerpt(kept(CPU)),)})

    def _compare_with_itself(self, report: Report) -> None:
        again = excerpt(report)
        self._written({"changed": (excerpt(report, set(report.workloads)),), "again": (again, again)})

    def _written(self, machines: dict[str, tuple[Run, ...]]) -> None:
        comparison = compare(machines)
        _check(comparison)
        write_comparison(comparison, self.folder, with_pdf=False)

    def _validate(self, report: Report) -> None:
        found = frame(residuals(report_result(report, "changed", shipped(), all_workloads())))
        assert found["predicted"].dropna().between(0, math.inf, inclusive="neither").all()

    def _frames(self, report: Report) -> None:
        frames = ReportFrames(report)
        for name in ("points", "features", "samples", "findings"):
            assert getattr(frames, name) is not None


KINDS = ("device", "architecture", "record", "report")


def _check(*records: object) -> None:
    """Check that records have no number that cannot be."""
    for record in records:
        wrong = list(impossible(record))
        assert not wrong, f"impossible: {', '.join(wrong[:5])}"


def _yaml(rng: random.Random, path: Path) -> bytes:
    mutator, text = Mutator(rng), path.read_text(encoding="utf-8")
    if rng.random() < 0.3:
        return mutator.text(text).encode(errors="surrogatepass")
    data = mutator.data(yaml.safe_load(text))
    return yaml.safe_dump(data, allow_unicode=rng.random() < 0.5, sort_keys=False).encode(errors="surrogatepass")


def _json(rng: random.Random, good: dict[str, Any]) -> bytes:
    mutator = Mutator(rng)
    if rng.random() < 0.1:
        return mutator.text(json.dumps(good, indent=1)).encode(errors="surrogatepass")
    text = json.dumps(mutator.data(good))
    return text.replace("Infinity", rng.choice(("Infinity", "1e999"))).encode()
