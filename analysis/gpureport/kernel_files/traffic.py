"""The memory traffic of a described kernel: streams, and the lines that accesses of a wave touch."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod

from gpureport.kernel_files.description import ArgumentFields
from gpureport.kernel_files.formulas import Formulas
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.atomics import waiting_cycles
from gpureport.workloads.model import Parameters, Stream
from gpureport.workloads.tiling import Tiling


@dataclass(frozen=True)
class Traffic:
    """The traffic of one dispatch, as declared.

    Work-items access their own element of an array, neighbours along x neighbouring elements, unless an argument says
    otherwise.
    """

    formulas: Formulas
    parameters: Parameters
    device: Device

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """Work-items in each dimension, without those that only fill work-groups."""
        return self.formulas.wanted(self.parameters)

    @cached_property
    def gathered(self) -> float:
        """Number of accesses without order."""
        return sum(self._amount(each, "gather") for each in self.formulas.buffers)

    @property
    def beyond_caches(self) -> bool:
        """Whether an array that is accessed without order exceeds the last cache; else it stays there."""
        sizes, last = self.formulas.nbytes(self.parameters), grid.last_cache_bytes(self.device)
        return any(each.gather and sizes[each.name] > last for each in self.formulas.buffers)

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The traffic of all buffers."""
        return tuple(stream for each in self.formulas.buffers for stream in self._streams(each))

    @cached_property
    def _counts(self) -> Mapping[tuple[str, bool], float]:
        """Accesses of all work-items, by buffer and whether they are stores."""
        found: dict[tuple[str, bool], float] = {}
        served = {(each.name, False): self._served(each) for each in self.formulas.buffers}
        for stream in self.streams:
            key = stream.buffer, stream.write
            found[key] = found.get(key, 0.0) + stream.elements * stream.passes * served.get(key, 1.0)
        return found

    @property
    def accesses(self) -> float:
        """Loads and stores of all work-items."""
        return sum(self._counts.values())

    @property
    def loads(self) -> tuple[float, ...]:
        """Loads of a work-item from each buffer that it reads."""
        atomic = {each.name for each in self.formulas.buffers if each.atomic}
        found = (count for (name, write), count in self._counts.items() if not write and name not in atomic)
        return tuple(count / prod(self.wanted) for count in found)

    @property
    def lines_per_access(self) -> float:
        """Lines that an access of a wave touches, relative to one of neighbouring elements; mean of all accesses."""
        if not self.accesses or not grid.coalesces(self.device):
            return 1.0
        lines = {each.name: self._lines(each) for each in self.formulas.buffers}
        return sum(count * lines[name] for (name, _), count in self._counts.items()) / self.accesses

    @property
    def line_conflicts(self) -> float:
        """Rows of a wave that start in the same banks of the first cache."""
        tilings = (self._tiling(each) for each in self.formulas.buffers if each.access == "read")
        return float(max((tiling.line_conflicts for tiling in tilings if tiling), default=1))

    @property
    def stores_per_sector(self) -> float:
        """Number of stores that together write one sector, the mean of all written arrays.

        If neighbouring work-items write a run apart, each store of a wave covers only their own elements.
        """
        written = {each.name: each for each in self.formulas.buffers if each.access != "read" and not each.atomic}
        if not (written and grid.coalesces(self.device)):
            return 1.0
        sector = grid.last_sector_bytes(self.device)
        nbytes = dict.fromkeys(written, 0.0)
        for stream in self.streams:
            if stream.write and stream.buffer in written:
                nbytes[stream.buffer] += stream.elements * stream.record_bytes
        stores = {name: max(1.0, min(self._run(each), sector / each.element_bytes)) for name, each in written.items()}
        return sum(nbytes[name] * stores[name] for name in written) / (sum(nbytes.values()) or 1.0)

    def _run(self, argument: ArgumentFields) -> float:
        """Return the elements from one work-item's to its neighbour's."""
        return self._amount(argument, "run") if argument.run else 1.0

    @property
    def line_writes(self) -> float | None:
        """Lines that all waves write; ``None``: those that the streams cover."""
        written = ((each, self._tiling(each)) for each in self.formulas.buffers if each.access != "read")
        lines = [t.line_writes * self._lines_by_row(each, t) / t.lines for each, t in written if t]
        return sum(lines) if lines else None

    @property
    def waiting_cycles(self) -> float:
        """Clock cycles for which atomic operations on global memory wait for each other, on a GPU."""
        atomic = [each for each in self.formulas.buffers if each.atomic]
        return sum(
            waiting_cycles(self.device, self._amount(each, "atomic"), self.formulas.elements(each, self.parameters))
            for each in grid.chosen(self.device, cpu=[], gpu=atomic)
        )

    def _amount(self, argument: ArgumentFields, field: str) -> float:
        return self.formulas.amount_of(argument, field, self.parameters)

    def _served(self, argument: ArgumentFields) -> float:
        """Return how many work-items get their data from one load from the first cache."""
        shared = argument.uniform and grid.coalesces(self.device)
        return float(self.device.architecture.wave_size) if shared else 1.0

    def _streams(self, argument: ArgumentFields) -> tuple[Stream, ...]:
        record, used = argument.record_bytes, argument.accessed_bytes
        count = self.formulas.elements(argument, self.parameters) / argument.stride
        passes, outer = self._passes(argument)
        if argument.gather:
            passes = self._amount(argument, "gather") / count
            outer = passes * max(1.0, self._bytes_of_request / record)
        if argument.atomic:
            each = self._amount(argument, "atomic") / count
            written = Stream(argument.name, count, record, used, True, each, each)
            read = Stream(argument.name, count, record, used, False, each, each)
            # GPUs add in the cache, which returns nothing if no work-item uses the previous value.
            return grid.chosen(self.device, cpu=(read, written), gpu=(written,))
        own = passes if argument.access == "write" else 1.0
        written = Stream(argument.name, count, record, used, True, own, self._written(argument))
        if argument.access == "write":
            return (written,)
        served = self._served(argument)
        passes, rows = passes / served, self._other_rows(argument) / served
        read = Stream(argument.name, count, record, used, False, passes - rows, outer)
        # Independent loads from other rows; the work-group's other work-items bring their data.
        others = (Stream(argument.name, count, record, used, False, rows, 0.0),) if rows else ()
        return (read, *others, *((written,) if argument.access == "read_write" else ()))

    @property
    def _bytes_of_request(self) -> float:
        """Return the bytes that the cache of all compute units could deliver in the time of an access without order.

        Each moves a whole sector. A slice accepts one request in the time in which it writes a sector, and delivers
        more than a sector in that time.
        """
        sector, shared = grid.last_sector_bytes(self.device), self.device.shared_cache
        rate = self.device.architecture.sector_writes_per_cycle
        if shared is None or not (shared.slices and rate):
            return sector
        return max(sector, shared.bandwidth_bytes_per_cycle * self.device.compute_units / (shared.slices * rate))

    def _passes(self, argument: ArgumentFields) -> tuple[float, float]:
        """Return how often an array passes into registers, and beyond the first cache."""
        passes = self._amount(argument, "passes") if argument.passes else 1.0
        outer = self._amount(argument, "outer_passes") if argument.outer_passes else min(1.0, passes)
        return passes * (argument.pattern.points if argument.pattern else 1), outer * self._halo(argument)

    def _other_rows(self, argument: ArgumentFields) -> float:
        """Return the loads of a stencil from other rows than the work-item's own."""
        if argument.pattern is None or argument.passes:
            return 0.0
        return float(argument.pattern.points - 2 * argument.pattern.stencil[-1] - 1)

    def _halo(self, argument: ArgumentFields) -> float:
        """Return the bytes that work-groups load in whole sectors, relative to the array."""
        if argument.pattern is None or not grid.coalesces(self.device):
            return 1.0
        sector, size = grid.last_sector_bytes(self.device), argument.element_bytes
        x, *others = zip(self.formulas.local_size(self.parameters), reversed(argument.pattern.stencil), strict=False)
        own = x[0] * size
        row = (ceil(own / sector) + 2 * ceil(x[1] * size / sector)) * sector / own
        return row + sum(2 * radius / side for side, radius in others)

    def _written(self, argument: ArgumentFields) -> float:
        """Return the bytes of the sectors that waves write, relative to the bytes written."""
        tiling = self._tiling(argument)
        if tiling is None or not self._shifted(argument):
            return tiling.written if tiling else 1.0
        row = tiling.wave[0] * tiling.row_bytes
        return (row + grid.last_sector_bytes(self.device) - argument.element_bytes) / row

    def _tiling(self, argument: ArgumentFields) -> Tiling | None:
        """Return how waves cover the rows of an array; ``None``: in order, or not by rows."""
        local = self.formulas.local_size(self.parameters)
        otherwise = argument.gather or argument.atomic or argument.uniform or argument.run
        if len(local) == 1 or otherwise or not grid.coalesces(self.device):
            return None
        items, group = (self.wanted[0], prod(self.wanted[1:])), (local[0], prod(local[1:]))
        return Tiling(self.device, items, group, argument.record_bytes, 1)

    def _shifted(self, argument: ArgumentFields) -> bool:
        """Return whether the rows of an array start anywhere in a sector."""
        pitch = self.wanted[0] * argument.record_bytes
        return len(self.wanted) > 1 and pitch % grid.last_sector_bytes(self.device) != 0

    def _lines_by_row(self, argument: ArgumentFields, tiling: Tiling) -> float:
        """Return the lines that an access of a wave touches, the mean over the points of a stencil."""
        pattern = argument.pattern
        beside = 2 * pattern.stencil[-1] / (pattern.points if pattern.shape == "cross" else 3) if pattern else 0.0
        return tiling.lines_per_access(1.0 if self._shifted(argument) else min(1.0, beside))

    def _lines(self, argument: ArgumentFields) -> float:
        """Return the lines that an access of a wave touches, relative to the lines of its data."""
        lanes = self.device.architecture.wave_size
        if argument.gather:
            return lanes
        line = max((cache.line_bytes for cache in self.device.caches), default=self.device.memory.access_bytes)
        tiling, apart = self._tiling(argument), self._run(argument) * argument.record_bytes
        touched = self._lines_by_row(argument, tiling) if tiling else min(lanes, lanes * apart / line)
        return max(1.0, touched / max(1.0, lanes * argument.element_bytes / line))
