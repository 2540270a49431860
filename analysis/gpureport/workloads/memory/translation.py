"""Latency of dependent loads from different pages: address translation."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.memory.latency import Chase, chased, single
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Limits, Parameters, Sweep

_PARTS = 4
"""Buffers that form the range of addresses."""
_BEYOND = 4
"""The range of addresses on a CPU ends at this multiple of the last reach; a GPU's at its memory."""
_LAST_REACH_BYTES = 16 * 2**20
"""On a CPU whose entry lists none: 4096 small pages, more than most processors' entries."""
_NAMES = tuple(f"pages{number}" for number in range(_PARTS))


class Translation(Chase):
    variant = "translation"
    title = "Load latency, one load per page"
    description = (
        "One work-item follows a random cycle through the pages of a range of addresses, whose data fit in the caches. "
        "The latency rises where the pages exceed the reach of a translation lookaside buffer (TLB)."
    )
    counted = "the time of one load."
    source = "memory/translation.cl"
    verified = (
        {"bytes": 37 * 4096, "page": 4096, "line": 64, "part": 64 * 4096, "steps": 50},
        {"bytes": 29 * 4096, "page": 4096, "line": 128, "part": 11 * 4096, "steps": 91},
    )
    """Cycles of odd lengths in one buffer and in three."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The range of addresses, from a few pages to most of the memory; on a CPU to a few times the last reach."""
        page, line = device.page_bytes, device.line_bytes
        part = int(min(limits.max_buffer_bytes, limits.max_bytes / _PARTS)) // page * page
        reaches = [tlb.covered_bytes for tlb in device.tlb if isfinite(tlb.covered_bytes)]
        # Most of a GPU's memory; the elements fit in half of the last cache.
        of_cpu = _BEYOND * max(reaches, default=_LAST_REACH_BYTES)
        last = page / line * grid.last_cache_bytes(device) / 2
        high = min(_PARTS * part, last, grid.chosen(device, cpu=of_cpu, gpu=inf), limits.max_bytes)
        steps = grid.chosen(device, cpu=1 << 15, gpu=1 << 12)  # enough to make the launch cost small
        shape = {"page": page, "line": line, "part": part, "steps": steps}
        sizes = grid.sizes(4 * page, high, grid.multiple(page))
        points = [{"bytes": size, **shape} for size in sizes if size <= _PARTS * part]
        return (grid.by_working_set(points, limits, "span", "range of addresses"),) if points else ()

    def build_options(self, parameters: Parameters) -> str:
        return " ".join(f"-D{name.upper()}={parameters[name]}ul" for name in ("page", "line", "part"))

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A chain of loads without address arithmetic; caches of compute units do not serve it (``reused``)."""
        steps, page, size = parameters["steps"], parameters["page"], parameters["bytes"]
        return replace(chased("pages", size / page, page, 8, steps), memory_chain=steps, span_bytes=size)

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        size, part = parameters["bytes"], parameters["part"]
        pages = size // parameters["page"]
        order = f"order{size}"
        buffers = {
            name: Buffer(min(part, size - start)) for name, start in zip(_NAMES, range(0, size, part), strict=False)
        }
        places = tuple(name if name in buffers else _NAMES[0] for name in _NAMES)
        link = Dispatch("link", (pages,), (1,), (*places, order, "state", np.uint32(pages)))
        visit, warm_up = (
            single("visit", *places, "state", "reached", np.uint32(loads)) for loads in (parameters["steps"], pages)
        )
        return Job(
            buffers={
                **buffers,
                order: Buffer(4 * pages, rng.permutation(pages).astype(np.uint32)),
                "state": Buffer(8),
                "reached": Buffer(4),
            },
            dispatches=(visit,),
            before=(link, warm_up),
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        order = job.buffers[f"order{parameters['bytes']}"].filled()
        return {"reached": order[[parameters["steps"] * dispatches % len(order)]]}


WORKLOADS = (Translation(),)
