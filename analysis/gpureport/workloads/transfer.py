"""Transfers of 4 B to 1 GiB in each direction, from and to memory of the host."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Axis, Metric
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.model import (
    Buffer,
    Copy,
    Demand,
    Dispatch,
    HostTraffic,
    Job,
    Limits,
    Parameters,
    Place,
    Sweep,
    Transfer,
    Workload,
)

Memory = Literal["pinned", "pageable", "mapped"]

_SIZE = Axis(quantity="transfer", label="transfer size")
_LEAST, _MOST, _MOST_SHORT = 2**2, 2**30, 2**26
_DIRECTIONS = {
    "to_device": ("host to device", ("to_device",)),
    "to_host": ("device to host", ("to_host",)),
    "both_ways": ("both directions at once", ("to_device", "to_host")),
}
"""Title, and parameters with the size, by sweep."""
_PLACES: Mapping[Memory, tuple[Place, Place]] = {
    "pinned": ("pinned", "device"),
    "pageable": ("pageable", "device"),
    "mapped": ("pageable", "mappable"),
}
"""Buffers of the host and of the device."""
_KINDS: tuple[Memory, ...] = ("pinned", "pageable", "mapped")


class _Copies(Workload):
    """Base of all transfers; the parameters ``to_device`` and ``to_host`` are the bytes in each direction, or zero."""

    family = "transfer"
    source = "transfer.cl"
    counted = "bytes copied."
    metric = Metric(kind="rate", unit="B", label="transfer bandwidth")
    microbenchmark = True
    memory: ClassVar[Memory]
    by_host: ClassVar[bool] = True
    """Whether the host's clock times it."""
    most: ClassVar[int] = _MOST
    """Largest transfer, bytes."""
    directions: ClassVar[tuple[str, ...]] = ("to_device", "to_host")
    work_items_of = ()
    verification_dispatches = 3
    verified = tuple({"to_device": 4 * words, "to_host": 4 * words} for words in (1, 12347))
    """One word, and a size that is no multiple of anything."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The size of one transfer, in each direction."""
        most = min(self.most, _MOST_SHORT if grid.is_short(device, limits) else _MOST)
        most = int(min(most, limits.max_buffer_bytes, limits.max_bytes / 4))
        sizes = [2**power for power in range(_LEAST.bit_length() - 1, most.bit_length())]
        found = []
        for name in self.directions[: grid.chosen(device, cpu=2, gpu=3)]:  # copies of a CPU are the same either way
            title, used = _DIRECTIONS[name]
            points = tuple({key: size if key in used else 0 for key in ("to_device", "to_host")} for size in sizes)
            found.append(Sweep(name, _SIZE, points, title, coarse=grid.coarse(limits, 3, 2), isolated=True))
        return tuple(found)

    def work(self, parameters: Parameters) -> float:
        return parameters["to_device"] + parameters["to_host"]

    def nbytes(self, parameters: Parameters) -> int:
        return max(parameters["to_device"], parameters["to_host"])

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        to_device, to_host = float(parameters["to_device"]), float(parameters["to_host"])
        traffic = HostTraffic(to_device, to_host, self.kind(parameters), self.by_host)
        return Demand(work_items=1, work_group=(1,), isolated=True, transfer=traffic)

    def kind(self, parameters: Parameters) -> Memory:
        """Return the kind of the host's memory at a point."""
        return self.memory

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        memory, to_device, to_host = self.kind(parameters), parameters["to_device"], parameters["to_host"]
        buffers: dict[str, Buffer] = {}
        copies = []
        own = max(to_device, to_host) if memory == "mapped" else ""  # the time to map a buffer depends on its size
        for source, target, size in (("from_host", f"to{own}", to_device), (f"from{own}", "to_host", to_host)):
            if size:
                buffers[source] = _buffer(memory, source, size, grid.random_words(rng, size))
                buffers[target] = _buffer(memory, target, size)
                copies.append(Copy(source, target, size))
        return Job(buffers, (Transfer.of(*copies, mapped=memory == "mapped", by_host=self.by_host),))

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """To the device, where a kernel increments each word, and back into other memory."""
        memory, size = self.kind(parameters), parameters["to_host"]
        contents = {"from_host": grid.random_words(rng, size)}
        names = ("from_host", "data", "to_host")
        buffers = {name: _buffer(memory, name, size, contents.get(name)) for name in names}
        there, back = (Transfer.of(Copy(*way, size), mapped=memory == "mapped") for way in pairwise(names))
        return Job(buffers, (there, Dispatch("increment", (size // 4,), (1,), ("data",)), back))

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        words = job.buffers["from_host"].filled().astype(np.uint32, copy=False)
        return {"to_host": words + np.uint32(1)}


def _buffer(memory: Memory, name: str, size: int, contents: NDArray[np.generic] | None = None) -> Buffer:
    of_host, of_device = _PLACES[memory]
    return Buffer(size, contents, of_host if name.endswith("host") else of_device)


class Pinned(_Copies):
    variant = "pinned"
    title = "Transfer, pinned memory"
    description = (
        "Copies between a buffer of the device and pinned memory of the host (a mapped buffer with "
        "CL_MEM_ALLOC_HOST_PTR). The time is that between the device's time stamps of the copy command, without the "
        "cost of the call; on CPUs it is the host's. In both directions at once, two queues work at the same time."
    )
    counted = "bytes copied, of both directions together."
    memory = "pinned"
    by_host = False
    essential = True
    directions = ("to_device", "to_host", "both_ways")


class Pageable(_Copies):
    variant = "pageable"
    title = "Transfer, ordinary memory"
    description = (
        "Blocking copies between a buffer of the device and ordinary (pageable) memory of the host. The driver copies "
        "the data through pinned memory of its own. The time is that of the host, from the call to its return."
    )
    memory = "pageable"


class Mapped(_Copies):
    variant = "mapped"
    title = "Transfer, mapped buffer"
    description = (
        "The host maps a buffer of the device (made with CL_MEM_ALLOC_HOST_PTR), copies between it and ordinary "
        "memory, and unmaps it. The time is that of the host, for all three steps."
    )
    memory = "mapped"
    most = 2**28


class Smallest(_Copies):
    variant = "latency"
    title = "Transfer, latency"
    description = (
        "Copies of 4 B in each direction, from and to each kind of host memory. The time is that of the host, from the "
        "call to the arrival of the data."
    )
    counted = "transfers."
    metric = Metric(kind="time", unit="transfers", label="time of a transfer")
    verified = tuple({"to_device": 4, "to_host": 4, "memory": number} for number in range(3))

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        points = (
            {"to_device": to_device, "to_host": _LEAST - to_device, "memory": number}
            for number in range(len(_KINDS))
            for to_device in (_LEAST, 0)
        )
        cases = grid.by_case("smallest", "memory and direction", points, "transfers of 4 B")
        return (replace(cases, isolated=True),)

    def kind(self, parameters: Parameters) -> Memory:
        return _KINDS[parameters["memory"]]

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        return f"{self.kind(parameters)}, to {'device' if parameters['to_device'] else 'host'}"

    def work(self, parameters: Parameters) -> float:
        return 1


WORKLOADS = (Pinned(), Pageable(), Mapped(), Smallest())
