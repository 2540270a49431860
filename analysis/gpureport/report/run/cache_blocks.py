"""The table of properties of the nearest cache: by the entry, and as loads show them."""

from collections.abc import Iterator

from gpureport.predict.calibration.cache_details import cache_details
from gpureport.records.report import Report
from gpureport.report.run.sweep_blocks import Block
from gpureport.report.text.tables import Table
from gpureport.units import format_bytes

_CAPTION = (
    "Latencies of dependent loads show which words a load brings into the cache, whether loads after loads or stores "
    "find their data there, and how many lines at a distance of a power of two stay there."
)


def cache_blocks(report: Report) -> Iterator[Block]:
    """Yield the table, if any of it was measured."""
    device = report.device
    details = cache_details(device, report.observations)
    if not device.caches:
        return
    cache, name = device.caches[0], device.caches[0].name
    stride = details.stride_bytes
    lines = round(cache.lines_within(cache.capacity_bytes, min(stride, device.page_bytes)))
    rows = (
        (f"sector of {name}", format_bytes(cache.sector_bytes), _size(details.sector_bytes)),
        ("transfer from memory", format_bytes(device.memory.access_bytes), _size(details.access_bytes)),
        (f"{name} keeps loaded data", "yes", _answer(details.keeps_loads)),
        (f"{name} keeps stored data", _answer(device.architecture.write_allocate), _answer(details.keeps_stores)),
        (f"lines in {name} at a stride of {format_bytes(stride)}", f"{lines:,}", f"{details.lines_kept or 0:,}"),
    )
    measured = tuple(row for row in rows if row[-1] not in ("", "0"))
    if measured:
        table = Table(("property", "entry", "measured"), measured, frozenset(("entry", "measured")))
        yield Block("cache-details", "Sectors, sets and write policy", table=table, caption=_CAPTION)


def _size(nbytes: int | None) -> str:
    return format_bytes(nbytes) if nbytes else ""


def _answer(known: bool | None) -> str:
    return {None: "", True: "yes", False: "no"}[known]
