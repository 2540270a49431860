"""Traffic is lines, not useful bytes."""

from collections.abc import Sequence
from math import ceil

from gpureport.spec.models import Device
from gpureport.workloads.model import Stream


def touched_bytes(stream: Stream, granularity: int) -> float:
    """Return the bytes of all granules (sectors or lines) that one pass of *stream* touches.

    Records no larger than a granule touch every granule; larger ones only those that the used bytes reach
    (records are assumed to be aligned).
    """
    if stream.used_bytes >= stream.record_bytes or stream.record_bytes <= granularity:
        return stream.elements * stream.record_bytes
    return stream.elements * min(stream.record_bytes, ceil(stream.used_bytes / granularity) * granularity)


def requested_bytes(streams: Sequence[Stream]) -> float:
    """Return the bytes that work-items ask of the first cache level in one dispatch."""
    return sum(stream.elements * stream.used_bytes * stream.passes for stream in streams)


def outer_bytes(streams: Sequence[Stream], granularity: int) -> float:
    """Return the bytes that cross the levels behind the first in one dispatch, in whole granules."""
    return sum(touched_bytes(stream, granularity) * stream.outer_passes for stream in streams)


def fill_bytes(stream: Stream, granularity: int, *, write_allocate: bool) -> float:
    """Return the bytes that must be read from memory because *stream* writes.

    A granule that is only partly written is merged with what memory holds; a cache that allocates on write fetches
    every line, even one that will be covered.
    """
    if not stream.write:
        return 0.0
    partly = stream.used_bytes < stream.record_bytes
    return touched_bytes(stream, granularity) if partly or write_allocate else 0.0


def memory_bytes(streams: Sequence[Stream], device: Device, *, every_pass: bool) -> float:
    """Return the bytes that move to and from memory in one dispatch if no cache holds anything from before.

    Args:
        streams: the dispatch's traffic.
        device: gives the access granule and whether writes allocate.
        every_pass: whether each pass over the data comes from memory (a kernel that goes round and round over more
            than the caches hold), or only the first (a stencil, whose other passes caches serve). A pass may be less
            than all of the data.
    """
    granularity = device.memory.access_bytes
    allocate = device.architecture.write_allocate
    return sum(
        (touched_bytes(stream, granularity) + fill_bytes(stream, granularity, write_allocate=allocate))
        * (stream.outer_passes if every_pass else min(1.0, stream.outer_passes))
        for stream in streams
    )


def one_way(streams: Sequence[Stream], device: Device) -> bool:
    """Return whether memory only reads, or only writes."""
    granularity, allocate = device.memory.access_bytes, device.architecture.write_allocate
    writes = [stream for stream in streams if stream.write]
    filled = any(fill_bytes(stream, granularity, write_allocate=allocate) for stream in writes)
    return not writes or (len(writes) == len(streams) and not filled)


def footprint_bytes(streams: Sequence[Stream], device: Device, *, one_buffer: bool = False) -> float:
    """Return the bytes of all lines of all buffers that the streams touch, or of the largest of them alone.

    Streams of one buffer count once.
    """
    line = max((cache.line_bytes for cache in device.caches), default=device.memory.access_bytes)
    largest: dict[str, float] = {}
    for stream in streams:
        largest[stream.buffer] = max(largest.get(stream.buffer, 0.0), touched_bytes(stream, line))
    return max(largest.values(), default=0.0) if one_buffer else sum(largest.values())
