"""Memory traffic in whole lines or sectors, including bytes that no work-item uses."""

from collections.abc import Sequence
from math import ceil

from gpureport.spec.models import Device
from gpureport.workloads.model import Stream


def touched_bytes(stream: Stream, granularity: int) -> float:
    """Return the bytes of all sectors or lines of *granularity* bytes that one pass of *stream* touches.

    Records up to this size touch every sector. Larger ones touch only the sectors with used bytes (records are assumed
    to be aligned).
    """
    if stream.used_bytes >= stream.record_bytes or stream.record_bytes <= granularity:
        return stream.elements * stream.record_bytes
    return stream.elements * min(stream.record_bytes, ceil(stream.used_bytes / granularity) * granularity)


def requested_bytes(streams: Sequence[Stream]) -> float:
    """Return the bytes that work-items request from the first cache level in one dispatch."""
    return sum(stream.elements * stream.used_bytes * stream.passes for stream in streams)


def outer_bytes(streams: Sequence[Stream], granularity: int) -> float:
    """Return the bytes moved by the levels beyond the first in one dispatch, in units of *granularity*."""
    return sum(touched_bytes(stream, granularity) * stream.outer_passes for stream in streams)


def fill_bytes(stream: Stream, granularity: int, *, write_allocate: bool) -> float:
    """Return the bytes that must be read from memory because *stream* writes.

    A partly written sector is merged with the contents of memory. A cache that allocates on write fetches every line,
    even one that is overwritten completely.
    """
    if not stream.write:
        return 0.0
    partly = stream.used_bytes < stream.record_bytes
    return touched_bytes(stream, granularity) if partly or write_allocate else 0.0


def filled_bytes(streams: Sequence[Stream], device: Device, granularity: int) -> float:
    """Return the bytes that all passes of *streams* fetch because they write."""
    allocate = device.architecture.write_allocate
    return sum(fill_bytes(s, granularity, write_allocate=allocate) * s.outer_passes for s in streams)


def memory_bytes(streams: Sequence[Stream], device: Device, *, every_pass: bool) -> float:
    """Return the bytes to and from memory in one dispatch that starts with empty caches.

    *every_pass* over the data comes from memory if a kernel makes several passes over more data than the caches can
    store. Otherwise only the first one does (a stencil, whose other passes caches serve). A pass may cover a part of
    the data.
    """
    granularity = device.memory.access_bytes
    allocate = device.architecture.write_allocate
    return sum(
        (touched_bytes(stream, granularity) + fill_bytes(stream, granularity, write_allocate=allocate))
        * (stream.outer_passes if every_pass else min(1.0, stream.outer_passes))
        for stream in streams
    )


def one_way(streams: Sequence[Stream], device: Device) -> bool:
    """Return whether a dispatch only reads from memory, or only writes to it."""
    granularity, allocate = device.memory.access_bytes, device.architecture.write_allocate
    writes = [stream for stream in streams if stream.write]
    filled = any(fill_bytes(stream, granularity, write_allocate=allocate) for stream in writes)
    return not writes or (len(writes) == len(streams) and not filled)


def footprint_bytes(streams: Sequence[Stream], device: Device, *, one_buffer: bool = False) -> float:
    """Return the bytes of all lines that the streams touch in all buffers, or in the largest buffer only.

    Streams of one buffer count once.
    """
    largest: dict[str, float] = {}
    for stream in streams:
        largest[stream.buffer] = max(largest.get(stream.buffer, 0.0), touched_bytes(stream, device.line_bytes))
    return max(largest.values(), default=0.0) if one_buffer else sum(largest.values())
