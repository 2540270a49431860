"""How many work-groups are resident at once, by work-group size and resources; the kernel counts them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.units import label_bytes
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Local, Parameters, Sweep, Workload

_MOST_ITEMS = 2560
"""No compute unit of the database keeps more work-items resident."""
_WAIT_S = constant(50e-6)
"""Wait of a work-group: much longer than the device takes to start all groups that are resident at once."""
_USUAL_CYCLES = constant(4.0)
"""Latency of a multiplication for the length of the wait, if the entry lists none."""
_FEWEST_BYTES = 4
_ONE_REGISTER = 1
_COUNTS = "counts{local}_{kept}_{used}"


class Residency(Workload):
    family = "residency"
    variant = "work_groups"
    title = "Resident work-groups"
    description = "Each work-group counts itself while it waits; the largest count is the number of resident groups."
    source = "residency.cl"
    macros = ("kept",)
    metric = Metric(kind="rate", unit="work-items", label="finished work-items")
    microbenchmark = True
    not_on_cpu = "A processor's core runs one work-group at a time."
    counter = ("counts", 2)
    verification_dispatches = 3
    work_of = ("groups", "local")
    verified = (
        {"local": 33, "kept": 1, "used": 4, "groups": 7, "steps": 19},
        {"local": 8, "kept": 5, "used": 1024, "groups": 13, "steps": 3},
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Sizes of work-groups; then more local memory, and more registers. None on a CPU."""
        if not grid.coalesces(device):
            return ()
        sizes = grid.work_groups(device, limits)
        middle = min(128, limits.max_work_group)
        cases = [(size, _ONE_REGISTER, _FEWEST_BYTES) for size in sizes]
        cases += [(middle, _ONE_REGISTER, kib * 1024) for kib in (4, 12, 30)]
        cases += [(middle, registers, _FEWEST_BYTES) for registers in (64, 128)]
        steps = round(_WAIT_S * device.clock_hz / device.architecture.latency_cycles.get("int32_mul", _USUAL_CYCLES))
        # Twice as many work-groups as any compute unit keeps resident.
        groups = {local: device.compute_units * min(80, 2 * -(-_MOST_ITEMS // local)) for local, *_ in cases}
        points = (
            {"local": local, "kept": kept, "used": used, "groups": groups[local], "steps": steps}
            for local, kept, used in cases
        )
        return (grid.by_case("resources", "work-group", points, "work-groups and resources"),)

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        kept, used = parameters["kept"], parameters["used"]
        extra = f", {label_bytes(used)} local" if used > _FEWEST_BYTES else ""
        extra += f", {kept} values kept" if kept > _ONE_REGISTER else ""
        return f"groups of {parameters['local']}{extra}"

    def nbytes(self, parameters: Parameters) -> int:
        return 4 * (parameters["local"] + parameters["kept"])

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """One wave of each work-group computes a chain; the others wait at a barrier."""
        groups, steps = parameters["groups"], parameters["steps"]
        return Demand(
            *self.launched(parameters),
            operations={"int32_mul": float(steps) * groups * device.architecture.wave_size},
            chain={"int32_mul": float(steps), "barrier": 1.0},
            registers=parameters["kept"] + 12,
            local_memory_bytes=parameters["used"],
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        counts = _COUNTS.format_map(parameters)
        buffers = {
            counts: Buffer(12, np.zeros(3, dtype=np.uint32)),
            "data": Buffer(self.nbytes(parameters), grid.random_words(rng, 4096)),
            "result": Buffer(4),
        }
        arguments = (counts, "data", np.uint32(parameters["steps"]), Local(parameters["used"]), "result")
        return Job.linear(buffers, "reside", self.work_items(parameters), parameters["local"], arguments)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """No group is resident after the end, and all have run."""
        return {_COUNTS.format_map(parameters): np.array([0, parameters["groups"] * dispatches], dtype=np.uint32)}


WORKLOADS = (Residency(),)
