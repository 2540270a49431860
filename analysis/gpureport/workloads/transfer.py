"""Transfers of 4 B to 1 GiB in each direction, from and to memory of the host."""

from collections.abc import Mapping
from itertools import islice, pairwise
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Axis, Metric
from gpureport.spec.models import Device
from gpureport.workloads import grid, model

Memory = Literal["pinned", "pageable"]

_SIZE = Axis(quantity="transfer", label="transfer size")
_LEAST, _MOST, _MOST_SHORT = 2**2, 2**30, 2**26
_DIRECTIONS = {
    "to_device": ("host to device", ("to_device",)),
    "to_host": ("device to host", ("to_host",)),
    "both_ways": ("both directions at once", ("to_device", "to_host")),
}
"""Title, and parameters with the size, by sweep."""


class _Copies(model.Workload):
    """Base of all transfers; the parameters ``to_device`` and ``to_host`` are the bytes in each direction, or zero."""

    family = "transfer"
    source = "transfer.cl"
    metric = Metric(kind="rate", unit="B", label="transfer bandwidth")
    microbenchmark = True
    memory: ClassVar[Memory]
    work_items_of = ()
    verification_dispatches = 3
    verified = tuple({"to_device": 4 * words, "to_host": 4 * words} for words in (1, 12347))
    """One word, and a size that is no multiple of anything."""

    def sweeps(self, device: Device, limits: model.Limits) -> tuple[model.Sweep, ...]:
        most = _MOST_SHORT if grid.is_short(device, limits) else _MOST
        most = int(min(most, limits.max_buffer_bytes, limits.max_bytes / 4))
        sizes = [2**power for power in range(_LEAST.bit_length() - 1, most.bit_length())]
        found = []
        directions = grid.chosen(device, cpu=2, gpu=3 if self.memory == "pinned" else 2)  # a CPU copies alike both ways
        for name, (title, used) in islice(_DIRECTIONS.items(), directions):
            points = tuple({key: size if key in used else 0 for key in ("to_device", "to_host")} for size in sizes)
            found.append(model.Sweep(name, _SIZE, points, title, coarse=grid.coarse(limits, 3, 2), isolated=True))
        return tuple(found)

    def work(self, parameters: model.Parameters) -> float:
        return parameters["to_device"] + parameters["to_host"]

    def nbytes(self, parameters: model.Parameters) -> int:
        return max(parameters["to_device"], parameters["to_host"])

    def demand(self, parameters: model.Parameters, device: Device) -> model.Demand:
        to_device, to_host = float(parameters["to_device"]), float(parameters["to_host"])
        traffic = model.HostTraffic(to_device, to_host, self.memory)
        return model.Demand(work_items=1, work_group=(1,), isolated=True, transfer=traffic)

    def job(self, parameters: model.Parameters, rng: np.random.Generator) -> model.Job:
        buffers: dict[str, model.Buffer] = {}
        copies = []
        ways = (("from_host", "to", parameters["to_device"]), ("from", "to_host", parameters["to_host"]))
        for source, target, size in ways:
            if size:
                buffers[source] = self._buffer(source, size, grid.random_words(rng, size))
                buffers[target] = self._buffer(target, size)
                copies.append(model.Copy(source, target, size))
        return model.Job(buffers, (model.Transfer.of(*copies, by_host=self.memory == "pageable"),))

    def verification_job(self, parameters: model.Parameters, rng: np.random.Generator) -> model.Job:
        """To the device, where a kernel increments each word, and back into other memory."""
        size = parameters["to_host"]
        contents = {"from_host": grid.random_words(rng, size)}
        names = ("from_host", "data", "to_host")
        buffers = {name: self._buffer(name, size, contents.get(name)) for name in names}
        there, back = (model.Transfer.of(model.Copy(*way, size)) for way in pairwise(names))
        return model.Job(buffers, (there, model.Dispatch("increment", (size // 4,), (1,), ("data",)), back))

    def _buffer(self, name: str, size: int, contents: NDArray[np.generic] | None = None) -> model.Buffer:
        return model.Buffer(size, contents, self.memory if name in ("from_host", "to_host") else "device")

    def expected(
        self, parameters: model.Parameters, job: model.Job, dispatches: int
    ) -> Mapping[str, NDArray[np.generic]]:
        return {"to_host": job.buffers["from_host"].filled().astype(np.uint32, copy=False) + np.uint32(1)}


class Pinned(_Copies):
    variant = "pinned"
    title = "Transfer, pinned memory"
    description = (
        "The device times a copy, without the cost of the call; on CPUs the host times the call. Two queues copy both "
        "ways at once."
    )
    counted = "bytes copied, of both directions together."
    memory = "pinned"
    essential = True


class Pageable(_Copies):
    variant = "pageable"
    title = "Transfer, ordinary memory"
    description = (
        "The host's memory is pageable: the driver copies through pinned memory of its own. The host times the copy."
    )
    memory = "pageable"


WORKLOADS = (Pinned(), Pageable())
