"""``gpureport predict --lscpu``: the memory hierarchy of a CPU from what ``lscpu`` says, and the database."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gpureport.cli.console import print_json, print_text
from gpureport.cli.database import open_database
from gpureport.cli.tables import print_table
from gpureport.predict.cpu_memory import Curve
from gpureport.predict.processor import ProcessorForecast, processor_forecast
from gpureport.spec.core_types import Quantity, Topology
from gpureport.spec.lscpu import read_lscpu
from gpureport.text import legible
from gpureport.units import format_bytes, format_interval

_LISTINGS = {
    "plain": "",
    "hidden threads": "The virtual machine hides whether its processors are hardware threads that share cores.",
    "default caches": "The listed cache sizes are defaults of the hypervisor; those of the core type are used.",
    "hidden cores": "Each processor is listed as a socket; two of them are assumed to share a core.",
    "whole threads": "Processors are listed as hardware threads, but each is assumed to have a core of its own.",
    "model of the hypervisor": "The name of the processor is that of a model of the hypervisor.",
}


def predict_processor(path: Path, entries: Sequence[Path], *, as_json: bool) -> int:
    """Print the prediction for the machine whose ``lscpu`` output is in a file.

    Raises:
        InputError: the file is no such output.
    """
    forecast = processor_forecast(read_lscpu(path), open_database(entries))
    if as_json:
        print_json(_json(forecast))
    else:
        _print(forecast)
    return 0


def _print(forecast: ProcessorForecast) -> None:
    facts, place = forecast.facts, forecast.topology
    machine = f"{facts.hypervisor} virtual machine" if facts.hypervisor else "no hypervisor listed"
    print_text(legible(facts.name) or "Unnamed processor", style="bold")
    print_text(
        f"{forecast.architecture_name}{'' if forecast.known else ' (unknown type of core; typical values)'}. "
        f"{_counted(place.processors, 'processor')}, {_counted(place.cores, 'core')}, "
        f"{_counted(place.sockets, 'socket')}; {legible(machine)}."
    )
    if remark := _LISTINGS[place.listing]:
        print_text(remark)
    usable, low, high = forecast.usable_l3_bytes
    print_text(
        f"One thread can use about {format_interval(usable, low, high, 'B')} of an L3 of "
        f"{format_bytes(float(place.l3_bytes))}."
    )
    print_text("")
    sizes = [format_bytes(float(size)) for size in forecast.working_sets_bytes]
    latencies = [(size, *_cells((forecast.latency,), "s", number)) for number, size in enumerate(sizes)]
    print_table("Latency of a dependent load (95 % interval)", ("working set", "latency"), latencies, right=(1,))
    rows = [(size, *_cells(forecast.bandwidth.values(), "B/s", number)) for number, size in enumerate(sizes)]
    print_table("Bandwidth of all threads (95 % interval)", ("of each", *forecast.bandwidth), rows, right=(1, 2, 3))
    if forecast.streams:
        rows = [
            (level, *(format_interval(*each, "B/s") for each in values)) for level, values in forecast.streams.items()
        ]
        columns = ("level", *forecast.kernels)
        print_table(
            "Vectorised kernels on all cores of a socket (95 % interval)", columns, rows, right=range(1, len(columns))
        )


def _cells(curves: Iterable[Curve], unit: str, number: int) -> Iterator[str]:
    return (format_interval(*_at(curve, number), unit) for curve in curves)


def _at(curve: Curve, number: int) -> tuple[float, float, float]:
    return float(curve.values[number]), float(curve.low[number]), float(curve.high[number])


def _counted(number: Quantity, noun: str) -> str:
    return f"{float(number):g} {noun}{'' if float(number) == 1 else 's'}"


def _json(forecast: ProcessorForecast) -> dict[str, object]:
    usable, low, high = forecast.usable_l3_bytes
    sizes = forecast.working_sets_bytes
    return {
        "architecture": forecast.architecture,
        "known": forecast.known,
        "facts": forecast.facts.model_dump(mode="json", exclude={"flags"}),
        "topology": _topology(forecast.topology),
        "usable_l3_bytes": {"value": usable, "low": low, "high": high},
        "latency_s": [{"working_set_bytes": float(s)} | _values(forecast.latency, i) for i, s in enumerate(sizes)],
        "bandwidth_bytes_per_s": {
            operation: [{"buffer_bytes": float(size)} | _values(curve, i) for i, size in enumerate(sizes)]
            for operation, curve in forecast.bandwidth.items()
        },
        "streams_bytes_per_s": {
            level: {
                kernel: {"value": value, "low": low, "high": high}
                for kernel, (value, low, high) in zip(forecast.kernels, values, strict=True)
            }
            for level, values in forecast.streams.items()
        },
    }


def _values(curve: Curve, number: int) -> dict[str, float]:
    return dict(zip(("value", "low", "high"), _at(curve, number), strict=True))


def _topology(place: Topology) -> dict[str, object]:
    values = ("processors", "cores", "sockets", "part", "l3_bytes", "l3_instances")
    return {"listing": place.listing} | {name: float(getattr(place, name)) for name in values}
