"""Game of Life, four bytes per cell, on a torus: one cell per work-item, only changes written.

As published by J. Guthmann for boards of 20 000 x 20 000 cells.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.workloads.game_of_life.board import Board, generations
from gpureport.workloads.model import Buffer, Dispatch, Job, Limits, Parameters, Stream

_STATES = "Cells whose state (alive or dead, now and before) does not change are not written."
_TORUS = "Opposite edges touch; comparisons and selections wrap the indices."


class Words(Board):
    source = "game_of_life/words.cl"
    variant = "words"
    kernel = "step_words"
    title = "Game of Life, 4 bytes per cell"
    description = f"One cell per work-item, two-dimensional dispatch, nine loads and one store, random start. {_TORUS}"
    bits_per_cell = 32
    element_bytes = 4
    wrapped = True
    mapped = True
    maskable = True
    published_side = 20_000
    read_bytes = 36.0
    displaced = 6 / 10
    operations: Mapping[str, float] = {"memory": 10.0, "int32": 46.0, "int32_mul": 16.0, "instruction": 88.0}
    scalar_instructions = 28.0


class WordsLinear(Words):
    variant = "words_linear"
    mapped = False
    maskable = False
    kernel = "step_words_linear"
    title = "Game of Life, 4 bytes per cell, one-dimensional"
    description = "As published, divisions give the position of the cell, and their remainders wrap the edges."
    # Including six conversions and reciprocals for two divisors, at a quarter of the rate.
    operations: Mapping[str, float] = {"memory": 10.0, "int32": 76.0, "int32_mul": 44.0, "instruction": 126.0}
    scalar_instructions = 144.0
    chain: ClassVar[Mapping[str, float]] = {"int32": 60.0, "int32_mul": 8.0}

    def shapes(self, device: Device, limits: Limits) -> tuple[tuple[int, int], ...]:
        return tuple((2**power, 1) for power in range(5, 11) if 2**power <= limits.max_work_group)

    def geometry(self, parameters: Parameters) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return a one-dimensional dispatch with work-groups of the same size."""
        local = parameters["local_x"] * parameters["local_y"]
        return (-(-parameters["width"] * parameters["height"] // local) * local,), (local,)


_GLIDER = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=np.uint32)
_ONCE = 2**31  # period of a pattern that no board repeats


class _Changed(Words):
    """Only changes are written; a cell has four states: alive or dead, now and in the previous generation.

    Boards are initialised before every sample, untimed: with one glider, or with a random pattern in both directions.
    """

    kernel = "step_words_changed"
    mapped = False
    random_side: ClassVar[int] = 0
    """Side of the random pattern, of states 0 to 3; 0: one glider."""
    extra_bytes = 2**18
    # Those of Words, a mask for each cell, and the comparison of states.
    operations: Mapping[str, float] = {"memory": 10.0, "int32": 57.0, "int32_mul": 17.0, "instruction": 101.0}
    scalar_instructions = 50.0

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        pattern, period, size = _GLIDER, self.random_side or _ONCE, self.board_bytes(parameters)
        if self.random_side:
            pattern = rng.integers(0, 4, size=(period, period), dtype=np.uint32)
        scalars = map(np.uint32, (len(pattern), period, period, parameters["width"], parameters["height"]))
        buffers = {"pattern": Buffer(pattern.nbytes, pattern), "a": Buffer(size), "b": Buffer(size)}
        start = Dispatch("start_words", *self.geometry(parameters), ("a", "pattern", *scalars))
        both = (start, replace(start, arguments=("b", *start.arguments[1:])))
        return replace(self.there_and_back(buffers, parameters), before=both)

    def start(self, parameters: Parameters, job: Job) -> NDArray[np.uint32]:
        """Return both boards after ``job.before``, shape (height, width)."""
        side, sizes = self.random_side or len(_GLIDER), (parameters["height"], parameters["width"])
        framed = np.pad(job.buffers["pattern"].filled().astype(np.uint32).reshape(side, side), (0, 1))
        cells = np.ix_(*(np.minimum(np.arange(n) % (self.random_side or _ONCE), side) for n in sizes))
        boards: NDArray[np.uint32] = framed[cells]  # NumPy 2.5 does not state the type
        return boards

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        source, target = self.start(parameters, job), self.start(parameters, job)
        for _ in range(dispatches):
            target = changed(source, target)
            source, target = target, source
        return dict(zip("ab" if dispatches % 2 == 0 else "ba", (source.ravel(), target.ravel()), strict=True))


def changed(source: NDArray[np.uint32], target: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return *target* after one dispatch from *source*; states are now + 2 x previous, shape (height, width).

    A cell whose state does not change is not written. The target is one generation older than the source, so its cell
    already has the right value now. Its previous value may be outdated; the next dispatch then writes the cell once
    more, which is unnecessary but correct.
    """
    alive = (source & 1).astype(np.bool_)
    after = generations(alive, 1, wrapped=True)
    state = after.astype(np.uint32) | source << 1 & 2
    return np.where(state == source, target, state).astype(np.uint32)


class WordsChangedGlider(_Changed):
    variant = "words_changed_glider"
    title = "Game of Life, 4 bytes per cell, only changes written, one glider"
    description = f"{_STATES} The board contains a single glider. {_TORUS}"

    def streams(self, parameters: Parameters, device: Device) -> tuple[Stream, ...]:
        """Both boards are used, but almost nothing is written."""
        read, written = super().streams(parameters, device)
        return read, replace(written, passes=0.0, outer_passes=0.0)


class WordsChangedRandom(_Changed):
    variant = "words_changed_random"
    title = "Game of Life, 4 bytes per cell, only changes written, random board"
    description = f"{_STATES} Every sample starts with a random board. {_TORUS}"
    random_side = 256
    written_share: ClassVar[float] = constant(0.6)
    """Share of the cells written in the second generation of a random board; a result of the rule."""

    def streams(self, parameters: Parameters, device: Device) -> tuple[Stream, ...]:
        """Almost every sector is written in part, so memory must be read first."""
        read, written = super().streams(parameters, device)
        sector = device.memory.access_bytes
        partly = replace(
            written,
            elements=written.elements * written.record_bytes / sector,
            record_bytes=sector,
            used_bytes=round(self.written_share * sector),
        )
        return read, partly


WORKLOADS = (Words(), WordsLinear(), WordsChangedGlider(), WordsChangedRandom())
