"""Old and new names of fields in entries, reports and published records."""

from collections.abc import Mapping
from types import MappingProxyType

RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "alone": "isolated",
        "arrival": "end",
        "bandwidth_extent": "bandwidth_transition",
        "binding": "bottleneck",
        "claims": "statements",
        "departure": "onset",
        "latency_extent": "latency_transition",
        "loaded_latency": "loaded_latency_factor",
        "local_memory_granule": "local_memory_granularity",
        "local_memory_granule_bytes": "local_memory_granularity_bytes",
        "ordered_extent": "cyclic_transition",
        "ping_pong_extent": "ping_pong_transition",
        "register_granule": "register_granularity",
        "sums": "steps",
        "told_by": "reported_by",
        "vector_register_granule": "vector_register_granularity",
        "wave_width": "wave_size",
        "written_extent": "write_transition",
    }
)
"""New names by old ones."""
