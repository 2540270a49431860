"""Particles as a structure of arrays."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gpureport.workloads.model import Buffer, Job, Parameters, Stream
from gpureport.workloads.particles.family import Particles, advanced, drawn, there_and_back


class Arrays(Particles):
    """Positions and velocities in separate arrays."""

    variant = "arrays"
    title = "Structure of arrays"
    description = (
        "Positions and velocities in separate arrays, 16 bytes per particle, all of them used; otherwise like the "
        "structures of 16 bytes. Counted: particles advanced by one step."
    )
    stored_bytes = 16
    accesses = 4.0

    def streams(self, count: int) -> tuple[Stream, ...]:
        """Two arrays are read, two are written."""
        return (
            Stream("positions_a", count, 8, 8),
            Stream("velocities_a", count, 8, 8),
            Stream("positions_b", count, 8, 8, write=True),
            Stream("velocities_b", count, 8, 8, write=True),
        )

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        """Whether particles bounce."""
        return f"-DBOUNCE={int(self.bounce)}"

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Ping-pong between two pairs of arrays."""
        state = drawn(rng, parameters["count"])
        position, velocity = state[:, :2].copy(), state[:, 2:].copy()
        a, b = ("positions_a", "velocities_a"), ("positions_b", "velocities_b")
        return Job(
            {
                name: Buffer(8 * parameters["count"], half)
                for name, half in zip((*a, *b), (position, velocity) * 2, strict=True)
            },
            there_and_back("step_arrays", parameters, a, b),
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """The pair written last."""
        start = [
            job.buffers[name].filled().astype(np.float32).reshape(-1, 2) for name in ("positions_a", "velocities_a")
        ]
        state = advanced(np.concatenate(start, axis=1), dispatches, bounce=self.bounce)
        side = "a" if dispatches % 2 == 0 else "b"
        return {f"positions_{side}": state[:, :2].ravel(), f"velocities_{side}": state[:, 2:].ravel()}


WORKLOADS = (Arrays(),)
