"""Memory traffic in whole lines or sectors, including bytes that no work-item uses."""

from collections.abc import Sequence
from math import ceil

from gpureport.predict.propagation import maximum, minimum, where
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import sourced
from gpureport.workloads.model import Stream

ROW_BYTES = sourced("predict.traffic.ROW_BYTES", int)
"""Neighbouring bytes in one row of a channel of memory."""
READ_ROW_S = sourced("predict.traffic.READ_ROW_S", float)
"""Time for which a channel opens a row from which it reads."""
WRITTEN_ROW_S = sourced("predict.traffic.WRITTEN_ROW_S", float)
"""The same if it writes to it."""


def touched_bytes(stream: Stream, granularity: int) -> float:
    """Return the bytes of all sectors or lines of *granularity* bytes that one pass of *stream* touches.

    Records up to this size touch every sector; larger ones, assumed to be aligned, only those with used bytes.
    """
    every = (stream.used_bytes >= stream.record_bytes) | (stream.record_bytes <= granularity)
    touched = minimum(stream.record_bytes, ceil(stream.used_bytes / granularity) * granularity)
    return stream.elements * where(every, stream.record_bytes, touched)


def requested_bytes(streams: Sequence[Stream]) -> float:
    """Return the bytes that work-items request from the first cache level in one dispatch."""
    return sum(stream.elements * stream.used_bytes * stream.passes for stream in streams)


def outer_bytes(streams: Sequence[Stream], granularity: int) -> float:
    """Return the bytes moved by the levels beyond the first in one dispatch, in units of *granularity*."""
    return sum(touched_bytes(stream, granularity) * stream.outer_passes for stream in streams)


def fill_bytes(stream: Stream, device: Device, granularity: int) -> float:
    """Return the bytes that must be read from memory because *stream* writes.

    A partly written sector is merged with the contents of memory. A cache that allocates on write fetches every line,
    even one that is overwritten completely.
    """
    filled = (stream.used_bytes < stream.record_bytes) | device.architecture.write_allocate
    return where(filled, touched_bytes(stream, granularity), 0.0) if stream.write else 0.0


def memory_bytes(streams: Sequence[Stream], device: Device, *, every_pass: bool) -> float:
    """Return the bytes to and from memory in one dispatch that starts with empty caches.

    *every_pass* over the data comes from memory if a kernel makes several passes over more data than the caches can
    store. Otherwise only the first one does (a stencil, whose other passes caches serve), unless a stream knows its
    passes. A pass may cover a part of the data.
    """
    granularity = device.memory.access_bytes

    def moved(stream: Stream) -> float:
        known = None if stream.accesses is None else stream.accesses * granularity
        return (known or touched_bytes(stream, granularity)) + fill_bytes(stream, device, granularity)

    return sum(moved(stream) * memory_passes(stream, every_pass=every_pass) for stream in streams)


def memory_passes(stream: Stream, *, every_pass: bool = False) -> float:
    """Return how often a dispatch that starts with empty caches moves a stream, as for :func:`memory_bytes`."""
    usual = stream.outer_passes if every_pass else minimum(1.0, stream.outer_passes)
    return usual if stream.memory_passes is None else stream.memory_passes


def opening_s(streams: Sequence[Stream], device: Device, *, every_pass: bool) -> float:
    """Return the seconds for which memory of known channels opens rows of which only a part is accessed.

    A channel opens four rows in a window of time (tFAW of JEDEC's JESD235 and JESD238: 15 ns), whatever it moves. Rows
    of which all bytes are accessed take the time of these bytes. *every_pass* as for :func:`memory_bytes`.
    """

    def of_pass(stream: Stream) -> float:
        filled = fill_bytes(stream, device, ROW_BYTES) > 0
        return WRITTEN_ROW_S + where(filled, READ_ROW_S, 0.0) if stream.write else READ_ROW_S

    return sum(
        _opened(each, device) * of_pass(each) * memory_passes(each, every_pass=every_pass) / device.memory.channels
        for each in streams
        if device.memory.channels
    )


def _opened(stream: Stream, device: Device) -> float:
    if stream.rows is not None:
        return stream.rows
    rows = stream.elements * where(
        stream.record_bytes < ROW_BYTES, stream.record_bytes / ROW_BYTES, ceil(stream.used_bytes / ROW_BYTES)
    )
    granularity = device.memory.access_bytes
    opened = rows_with_gaps(rows, touched_bytes(stream, granularity) / granularity, granularity)
    return where(stream.used_bytes < stream.record_bytes, opened, 0.0)


def rows_with_gaps(rows: float, accesses: float, access_bytes: int) -> float:
    """Return how many of *rows* lack some of the *accesses*: at most one for each access that is lacking."""
    return minimum(rows, maximum(0.0, rows * ROW_BYTES / access_bytes - accesses))


def one_way(streams: Sequence[Stream], device: Device) -> bool:
    """Return whether a dispatch only reads from memory, or only writes to it."""
    moved = [stream for stream in streams if stream.memory_passes != 0]
    filled = any(fill_bytes(stream, device, device.memory.access_bytes) for stream in moved)
    return len({stream.write for stream in moved}) < 2 and not filled


def footprint_bytes(streams: Sequence[Stream], device: Device, *, one_buffer: bool = False) -> float:
    """Return the bytes of all lines touched in all buffers, or the largest only; streams of a buffer count once."""
    largest: dict[str, float] = {}
    for stream in streams:
        largest[stream.buffer] = maximum(largest.get(stream.buffer, 0.0), touched_bytes(stream, device.line_bytes))
    return maximum(0.0, *largest.values()) if one_buffer else sum(largest.values())
