"""How work-items, waves and work-groups cover a board: the resulting lines, sectors and halos."""

from collections import Counter
from dataclasses import dataclass
from math import ceil, prod

from gpureport.spec.models import Device
from gpureport.workloads import grid


@dataclass(frozen=True)
class Tiling:
    """A board cut into equal rectangles, one for each work-item, in two-dimensional groups.

    A CPU processes work-items and work-groups in order. It has no waves, and its cache still contains the rows of the
    previous work-group.
    """

    device: Device
    items: tuple[int, int]  # columns and rows of work-items
    group: tuple[int, int]  # the same of a work-group
    row_bytes: float  # bytes of a row per work-item
    rows: int  # rows per work-item

    @property
    def wave(self) -> tuple[int, int]:
        """Columns and rows of work-items per wave."""
        lanes = self.device.architecture.wave_size
        columns = min(self.group[0], lanes)
        return columns, max(1, min(self.group[1], lanes // columns))

    @property
    def busy_items(self) -> int:
        """Lanes of all waves with at least one cell; idle lanes of these take the same time."""
        if not grid.coalesces(self.device):
            return prod(self.items)
        waves = prod(ceil(n / side) for n, side in zip(self.items, self.wave, strict=True))
        return waves * self.device.architecture.wave_size

    @property
    def lines(self) -> int:
        """Lines that contain the cells of a wave, summed over its rows."""
        if not grid.coalesces(self.device):
            return 1
        columns, rows = self.wave
        return rows * ceil(columns * self.row_bytes / self._line)

    def lines_per_access(self, displaced: float) -> float:
        """Return the lines that an access of a wave touches, on average.

        *displaced* is the share of accesses to an element to the west or east. Their rows of b bytes may start anywhere
        in a line, so they touch b / line + 1 lines.
        """
        if not grid.coalesces(self.device):
            return 1.0
        columns, rows = self.wave
        return (1 - displaced) * self.lines + displaced * rows * (columns * self.row_bytes / self._line + 1)

    def halo(self, reach: int, reach_bytes: float) -> float:
        """Return the bytes that work-groups load in whole sectors, relative to the board.

        They load *reach* rows above and below their own, and *reach_bytes* to the west and east of them.
        """
        if not grid.coalesces(self.device):
            return 1.0
        row, rows = self.group[0] * self.row_bytes, self.group[1] * self.rows
        sectors = ceil(row / self._sector) + 2 * ceil(reach_bytes / self._sector)
        return (rows + 2 * reach) / rows * sectors * self._sector / row

    @property
    def written(self) -> float:
        """Bytes of the sectors that a wave writes in part or completely, relative to the bytes written."""
        if not grid.coalesces(self.device):
            return 1.0
        row = self.wave[0] * self.row_bytes
        return ceil(row / self._sector) * self._sector / row

    @property
    def line_writes(self) -> float:
        """Lines that all waves write, summed over their rows."""
        return prod(self.items) / prod(self.wave) * self.lines * self.rows

    @property
    def line_conflicts(self) -> int:
        """Maximum number of lines of one access that map to the same banks: rows with the same offset in a line."""
        columns, rows = self.wave
        pitch, line = self.items[0] * self.row_bytes * self.rows, self._line
        starts = Counter(int(row * pitch % line) // 4 for row in range(rows))
        return max(starts.values()) * ceil(columns * self.row_bytes / line)

    @property
    def _line(self) -> int:
        return grid.first_line_bytes(self.device)

    @property
    def _sector(self) -> int:
        return self.device.caches[0].sector_bytes if self.device.caches else self.device.memory.access_bytes
