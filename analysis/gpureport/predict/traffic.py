"""Memory traffic in whole lines or sectors, including bytes that no work-item uses."""

from collections.abc import Sequence
from math import ceil

from gpureport.predict.propagation import maximum, minimum, where
from gpureport.spec.models import Device
from gpureport.workloads.model import Stream


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

    def passes(stream: Stream) -> float:
        usual = stream.outer_passes if every_pass else minimum(1.0, stream.outer_passes)
        return usual if stream.memory_passes is None else stream.memory_passes

    return sum(
        (touched_bytes(stream, granularity) + fill_bytes(stream, device, granularity)) * passes(stream)
        for stream in streams
    )


def one_way(streams: Sequence[Stream], device: Device) -> bool:
    """Return whether a dispatch only reads from memory, or only writes to it."""
    filled = any(fill_bytes(stream, device, device.memory.access_bytes) for stream in streams)
    return len({stream.write for stream in streams}) < 2 and not filled


def footprint_bytes(streams: Sequence[Stream], device: Device, *, one_buffer: bool = False) -> float:
    """Return the bytes of all lines touched in all buffers, or the largest only; streams of a buffer count once."""
    largest: dict[str, float] = {}
    for stream in streams:
        largest[stream.buffer] = maximum(largest.get(stream.buffer, 0.0), touched_bytes(stream, device.line_bytes))
    return maximum(0.0, *largest.values()) if one_buffer else sum(largest.values())
