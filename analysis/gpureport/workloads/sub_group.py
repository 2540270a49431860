"""Which way a device's sub-groups exchange values: the back ends of ``kernels_cl/common/sub_group.h``."""

from dataclasses import dataclass
from typing import Literal

from gpureport.workloads.model import Features

Exchange = Literal["shuffle", "ballot"]
"""What lanes of a sub-group may do together."""


@dataclass(frozen=True)
class BackEnd:
    """One way to exchange values within a sub-group.

    Attributes:
        extension: what the device must offer.
        exchanges: what it can do.
        options: build options that select it.
    """

    extension: str
    exchanges: frozenset[Exchange]
    options: str


_BOTH: frozenset[Exchange] = frozenset({"shuffle", "ballot"})

BACK_ENDS = (
    # Devices that have these extensions are newer than OpenCL 3.0, whose C is the first to have sub-groups everywhere.
    BackEnd("cl_khr_subgroup_shuffle", frozenset({"shuffle"}), "-cl-std=CL3.0 -DSUB_GROUP_KHR"),
    BackEnd("cl_khr_subgroup_ballot", frozenset({"ballot"}), "-cl-std=CL3.0 -DSUB_GROUP_KHR"),
    BackEnd("cl_intel_subgroups", frozenset({"shuffle"}), "-DSUB_GROUP_INTEL"),
    # These two vendors list no extension for it; what their compilers accept is told by whose device it is.
    BackEnd("cl_nv_device_attribute_query", _BOTH, "-DSUB_GROUP_NVIDIA"),
    BackEnd("cl_amd_device_attribute_query", _BOTH, "-DSUB_GROUP_AMD"),
)
"""In order of preference."""

_SIZED = "cl_intel_required_subgroup_size"


def back_end(features: Features, exchange: Exchange) -> BackEnd | None:
    """Return the first back end of the device that can do *exchange*, or ``None``."""
    return next((b for b in BACK_ENDS if exchange in b.exchanges and b.extension in features.extensions), None)


def missing(features: Features, exchange: Exchange) -> str | None:
    """Say in a sentence that the device cannot do *exchange*, or return ``None``."""
    if back_end(features, exchange):
        return None
    extensions = [b.extension for b in BACK_ENDS if exchange in b.exchanges and not b.extension.endswith("_query")]
    return (
        f"the device offers no sub-group {exchange} ({' or '.join(extensions)}; "
        "NVIDIA's PTX; a builtin of AMD's compiler)"
    )


def options(features: Features, exchange: Exchange) -> str:
    """Return the build options that select the device's back end for *exchange*; empty if there is none."""
    found = back_end(features, exchange)
    if found is None:
        return ""
    return f"{found.options} -DSUB_GROUP_SIZED" if _SIZED in features.extensions else found.options
