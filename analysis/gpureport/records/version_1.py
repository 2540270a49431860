"""Conversion of reports from version 1 of the format to version 2: field names, keys of findings, levels."""

from contextlib import suppress
from typing import Any

from gpureport.errors import InputError
from gpureport.records.renamed import RENAMED
from gpureport.units import parse

_Json = dict[str, Any]
_SWEEPS = {"alone": "isolated", "row": "batched"}
_PARAMETERS = {"lap": "warm_up"}
_HYPOTHESES = {
    "banks apart": "no line conflicts",
    "both sides": "no crossing",
    "caches copy": "replicated data",
    "caches divide": "distributed data",
    "caches forget": "cold caches",
    "caches keep": "warm caches",
    "conflicts": "bank conflicts",
    "line a lane": "one line per lane",
    "loads at once": "independent loads",
    "loads in turn": "dependent loads",
    "lone latency": "unloaded latency",
    "lone launches": "isolated dispatches",
    "measured primitives": "measured microbenchmarks",
    "no carve-out": "no carve out",
    "no conflicts": "no bank conflicts",
    "one line": "one line per wave",
    "own buffers": "separate footprints",
    "own pipes": "separate pipes",
    "re-read": "no reuse",
    "read once": "full reuse",
    "scalar": "scalar code",
    "to and fro": "partition crossing",
    "vector": "vector code",
    "waves started": "wave by wave",
    "whole cache": "full capacity",
}
"""New names of hypotheses by old ones."""


def upgraded(report: _Json) -> _Json:
    """Return the JSON of a version 1 report in version 2; errors in it are left for validation."""
    new: _Json = _renamed(report)
    for prediction in _records(new, "predictions"):
        for point in _records(prediction, "points"):
            _with_level(point)
        for sensitivity in _records(prediction, "sensitivities"):
            sensitivity["fact"] = _current(sensitivity.get("fact"))
    for curve in (*_records(new, "predictions"), *_records(new, "observations")):
        for feature in _records(curve, "features"):
            _with_level(feature)
    for name in ("predictions", "measurements", "observations", "explanations"):
        for record in _records(new, name):
            record["key"] = _key(record.get("key"))
    _upgrade_findings(new)
    publication = new.get("publication")
    for statement in _records(publication, "statements") if isinstance(publication, dict) else ():
        statement["about"] = [_sweep_path(each) for each in statement.get("about") or ()]
    device = new.get("device")
    if isinstance(device, dict) and isinstance(device.get("provenance"), dict):
        device["provenance"] = {_current(path): origin for path, origin in device["provenance"].items()}
    return new | {"schema_version": 2}


def _upgrade_findings(report: _Json) -> None:
    """Give findings keys and levels, rename hypotheses, and remove them from the explanations of findings."""
    tested = {str(each["key"]): str(each.get("sentence") or "") for each in _records(report, "explanations")}
    for explanation in _records(report, "explanations"):
        for field in ("hypothesis", "next_best"):
            if isinstance(name := explanation.get(field), str):
                explanation[field] = _HYPOTHESES.get(name, name)
    for finding in _records(report, "findings"):
        _with_level(finding)
        finding["key"] = _key({part: finding.pop(part, None) for part in ("workload", "variant", "sweep")})
        if isinstance(text := finding.get("explanation"), str):
            finding["explanation"] = text.removesuffix(tested.get(str(finding["key"]), "")).rstrip()


def _renamed(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {RENAMED.get(key, _PARAMETERS.get(key, key)): _renamed(inner) for key, inner in value.items()}
    return [_renamed(inner) for inner in value] if isinstance(value, list) else value


def _records(of: _Json, name: str) -> list[_Json]:
    found = of.get(name)
    return [record for record in found if isinstance(record, dict)] if isinstance(found, list) else []


def _current(name: object) -> object:
    """Return a name, or a dotted path of names, with current names."""
    return ".".join(RENAMED.get(part, part) for part in name.split(".")) if isinstance(name, str) else name


def _sweep_path(path: object) -> object:
    """Return ``family/variant/sweep`` with the sweep's current name."""
    if not isinstance(path, str) or path.count("/") < 2:
        return path
    workload, _, sweep = path.rpartition("/")
    return f"{workload}/{_SWEEPS.get(sweep, sweep)}"


def _key(key: object) -> object:
    if not isinstance(key, dict):
        return key
    sweep = key.get("sweep")
    current = _SWEEPS.get(sweep, sweep) if isinstance(sweep, str) else sweep
    return {"family": key.get("workload"), "variant": key.get("variant"), "sweep": current}


def _with_level(record: _Json) -> None:
    """Convert the strings of level and position in a point, a feature or a finding."""
    if "level" in record:
        record["level"] = _level(record["level"])
    if "position" in record:
        record["position"] = _current(record["position"])


def _level(text: object) -> object:
    if not isinstance(text, str):
        return text
    for start, beyond in (("step at ", False), ("beyond ", True)):
        if text.startswith(start):
            with suppress(InputError):
                size = parse(text.removeprefix(start), "bytes")
                return {"transition_bytes": size} | ({"beyond": True} if beyond else {})
    return {"name": text.removesuffix(" near"), "near": True} if text.endswith(" near") else text
