"""Rate of the matrix units by number format."""

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.matrix.formats import FORMATS, MOST, Format
from gpureport.workloads.matrix.units import UNITS, Unit
from gpureport.workloads.model import (
    Buffer,
    Demand,
    Features,
    Job,
    Limits,
    Parameters,
    Sweep,
    UnstoredResults,
)

_TABLE = 1024
_GROUPS_PER_UNIT = 16
_SECONDS = 1e-3


class MatrixRate(UnstoredResults):
    """The cases are number formats."""

    family = "matrix"
    variant = "rate"
    source = "matrix.cl"
    kernel = "matrix"
    microbenchmark = True
    essential = True
    title = "Matrix units"
    description = (
        "Waves multiply small matrices in registers and add the products to sums: NVIDIA's mma.sync, MFMA of CDNA 3, "
        "and WMMA of RDNA 3. No data are loaded. The asynchronous instructions of four warps (wgmma) on Hopper are "
        "faster than its mma.sync; they need shared memory and are not measured. Counted: multiply-adds."
    )
    metric = Metric(kind="rate", unit="multiply-adds", label="multiply-add rate")

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The formats whose rate the architecture lists."""
        architecture = device.architecture
        unit = next((number for number, each in enumerate(UNITS, 1) if each.serves(architecture)), None)
        cases = [number for number, form in enumerate(FORMATS, 1) if form.name in architecture.rates_per_cycle]
        if unit is None or not cases:
            return ()
        points = tuple(self._shaped({"unit": unit, "case": case}, device, limits) for case in cases)
        return (Sweep("format", Axis(quantity="case", label="number format"), points, "number format"),)

    def _shaped(self, which: Mapping[str, int], device: Device, limits: Limits) -> dict[str, int]:
        """Enough waves and independent chains for the peak rate of every compute unit, for about a millisecond."""
        local = min(256, limits.max_work_group)
        shape = {**which, "chains": 4, "steps": 16, "groups": _GROUPS_PER_UNIT * device.compute_units, "local": local}
        seconds = self.work({**shape, "rounds": 1}) / device.rate_per_s(self.form(which).name)
        return {**shape, "rounds": max(1, ceil(_SECONDS / seconds))}

    def form(self, parameters: Parameters) -> Format:
        """Return the number format of a point."""
        return FORMATS[parameters["case"] - 1]

    def unit(self, parameters: Parameters) -> Unit:
        """Return the instructions of a point."""
        return UNITS[parameters["unit"] - 1]

    def unsupported(self, parameters: Parameters, features: Features) -> str | None:
        """Only the vendor's compiler has the instructions."""
        unit = self.unit(parameters)
        return None if unit.extension in features.extensions else f"the device's compiler lists no {unit.extension}"

    def missing(self, features: Features) -> str | None:
        """One of the vendors' compilers is required."""
        if any(unit.extension in features.extensions for unit in UNITS):
            return None
        return "the device's compiler has no instruction for matrices that this program knows"

    def work(self, parameters: Parameters) -> float:
        """Work is multiply-adds."""
        unit, form = self.unit(parameters), self.form(parameters)
        instructions = parameters["chains"] * parameters["steps"] * parameters["rounds"]
        waves = self.work_items(parameters) // unit.lanes
        return float(instructions * waves * unit.fragments(form).multiply_adds)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002 - one sweep only
        """Label the point by its number format."""
        return grid.key(
            parameters,
            self.form(parameters).name,
            work=self.work(parameters),
            items=self.work_items(parameters),
            nbytes=8 * _TABLE,
            x=parameters["case"],
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """The multiply-adds."""
        registers = self.unit(parameters).fragments(self.form(parameters)).registers()
        return Demand(
            work_items=self.work_items(parameters),
            work_group=(parameters["local"],),
            operations={self.form(parameters).name: self.work(parameters)},
            registers=16 + registers[0] + registers[1] + registers[2] * parameters["chains"],
        )

    def build_options(self, parameters: Parameters) -> str:
        """The instructions, the format, chains per wave, unrolled steps."""
        unit = self.unit(parameters)
        chosen = f"-D{unit.macro} -D{self.form(parameters).name.upper()}"
        lanes = f"-DLANES={unit.lanes} -DSHARED_LANES={unit.shared_lanes}"
        return f"{chosen} {lanes} {grid.macros(parameters, 'chains', 'steps')}"

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        """Random small integers, none of them zero in A and B; results are the sums."""
        form = self.form(parameters)
        elements = rng.choice([-MOST, -1, 1, MOST], size=(_TABLE, form.per_word))
        drawn = {
            "sums": rng.integers(-MOST, MOST + 1, _TABLE, dtype=np.int32).view(np.uint32),
            f"elements {form.name}": form.words(elements),
        }
        return {name: Buffer(4 * _TABLE, words) for name, words in drawn.items()}, (parameters["rounds"],)

    def verification(self) -> Sequence[Parameters]:
        """Every format of every vendor, in several chains."""
        shape = {"chains": 2, "steps": 3, "rounds": 2, "groups": 3, "local": 64}
        return tuple(
            {"unit": unit, "case": case, **shape}
            for unit, each in enumerate(UNITS, 1)
            for case, form in enumerate(FORMATS, 1)
            if each.has(form)
        )

    def to_verify(self, sweeps: Sequence[Sweep]) -> Sequence[Parameters]:
        """Only the instructions of *sweeps*: compilers refuse others."""
        used = {(point["unit"], point["case"]) for sweep in sweeps for point in sweep.points}
        return tuple(point for point in self.verification() if (point["unit"], point["case"]) in used)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """Multiply the matrices of each wave; all numbers are integers."""
        unit, form = self.unit(parameters), self.form(parameters)
        fragments = unit.fragments(form)
        in_a, in_b, in_d = fragments.registers()
        initial, operands = (job.buffers[name].filled().astype(np.uint32) for name in ("sums", f"elements {form.name}"))
        items = np.arange(self.work_items(parameters)).reshape(-1, unit.lanes)
        own = items - items % unit.lanes + items % unit.shared_lanes

        def held(first: int, registers: int) -> NDArray[np.int64]:
            index = own[..., None] + 64 * (first + np.arange(registers))
            return form.elements(operands[index % _TABLE])

        added = parameters["steps"] * parameters["rounds"] * fragments.product(held(0, in_a), held(in_a, in_b))[..., 0]
        total = np.zeros(items.shape, dtype=np.uint32)
        for chain in range(parameters["chains"]):
            index = items[..., None] + 64 * (chain * in_d + np.arange(in_d))
            sums = form.sums(initial[index % _TABLE].view(np.int32) + added)
            for register in range(in_d):
                total = np.uint32(3) * total ^ sums[..., register]
        return {"folded": total.ravel()}


WORKLOADS = (MatrixRate(),)
