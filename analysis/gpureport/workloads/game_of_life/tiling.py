"""How the work-items, waves and work-groups of a dispatch cover a board, and what that costs in lines and sectors."""

from collections import Counter
from dataclasses import dataclass
from math import ceil, prod

from gpureport.spec.models import Device

_LINE_BYTES, _SECTOR_BYTES = 128, 32  # of a device whose caches nobody knows


@dataclass(frozen=True)
class Tiling:
    """A board cut into equal rectangles, one for each work-item, in two-dimensional groups.

    A CPU works through the items of a group, and through the groups, in order: what matters to waves does not to it,
    and its cache still holds the rows of the group before.

    Attributes:
        device: runs it.
        items: columns and rows of work-items.
        group: columns and rows of work-items of one group.
        row_bytes: of a board row that one work-item covers.
        rows: of the board that one work-item covers.
    """

    device: Device
    items: tuple[int, int]
    group: tuple[int, int]
    row_bytes: float
    rows: int

    @property
    def wave(self) -> tuple[int, int]:
        """Columns and rows of work-items of one wave."""
        width = self.device.architecture.wave_size
        columns = min(self.group[0], width)
        return columns, max(1, min(self.group[1], width // columns))

    @property
    def busy_items(self) -> int:
        """Lanes of all waves that have any cell to advance: idle ones take as long as busy ones."""
        if self.device.kind == "cpu":
            return prod(self.items)
        waves = prod(ceil(n / side) for n, side in zip(self.items, self.wave, strict=True))
        return waves * self.device.architecture.wave_size

    @property
    def lines(self) -> int:
        """Lines that a wave's own cells lie in, counted row by row."""
        if self.device.kind == "cpu":
            return 1
        columns, rows = self.wave
        return rows * ceil(columns * self.row_bytes / self._line)

    def lines_per_access(self, aside: float) -> float:
        """Return the lines that an access of a wave touches, on average.

        Args:
            aside: the share of accesses that lie an element to the left or to the right: rows then begin anywhere in a
                line, and of b bytes touch b / line + 1 lines.
        """
        if self.device.kind == "cpu":
            return 1.0
        columns, rows = self.wave
        return (1 - aside) * self.lines + aside * rows * (columns * self.row_bytes / self._line + 1)

    def halo(self, reach: int, reach_bytes: float) -> float:
        """Return the bytes that groups fetch in whole sectors, relative to the bytes of the board.

        Args:
            reach: rows above and below a group's own that it needs.
            reach_bytes: bytes left and right of them.
        """
        if self.device.kind == "cpu":
            return 1.0
        row, rows = self.group[0] * self.row_bytes, self.group[1] * self.rows
        sectors = ceil(row / self._sector) + 2 * ceil(reach_bytes / self._sector)
        return (rows + 2 * reach) / rows * sectors * self._sector / row

    @property
    def written(self) -> float:
        """Bytes of the sectors that the rows of a wave reach, relative to the bytes that it writes."""
        if self.device.kind == "cpu":
            return 1.0
        row = self.wave[0] * self.row_bytes
        return ceil(row / self._sector) * self._sector / row

    @property
    def line_writes(self) -> float:
        """Lines that all waves together write, row by row."""
        return prod(self.items) / prod(self.wave) * self.lines * self.rows

    @property
    def line_conflicts(self) -> int:
        """Lines that one access of a wave wants of the same banks: of rows that begin at the same place of a line."""
        columns, rows = self.wave
        pitch, line = self.items[0] * self.row_bytes * self.rows, self._line
        starts = Counter(int(row * pitch % line) // 4 for row in range(rows))
        return max(starts.values()) * ceil(columns * self.row_bytes / line)

    @property
    def _line(self) -> int:
        return self.device.caches[0].line_bytes if self.device.caches else _LINE_BYTES

    @property
    def _sector(self) -> int:
        return self.device.caches[0].sector_bytes if self.device.caches else _SECTOR_BYTES
