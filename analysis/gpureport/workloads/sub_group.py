"""Selects a back end of ``kernels_cl/common/sub_group.h`` for exchanges within sub-groups."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from gpureport.workloads.model import Features, Workload

Exchange = Literal["shuffle", "ballot"]
"""An operation across the lanes of a sub-group."""


@dataclass(frozen=True)
class BackEnd:
    """One way to exchange values within a sub-group.

    Attributes:
        extension: required OpenCL extension.
        exchanges: supported operations.
        options: build options that select this back end.
    """

    extension: str
    exchanges: frozenset[Exchange]
    options: str


_BOTH: frozenset[Exchange] = frozenset({"shuffle", "ballot"})

BACK_ENDS = (
    # Devices with these extensions support OpenCL C 3.0, which has sub-groups as a feature of the language.
    BackEnd("cl_khr_subgroup_shuffle", frozenset({"shuffle"}), "-cl-std=CL3.0 -DSUB_GROUP_KHR"),
    BackEnd("cl_khr_subgroup_ballot", frozenset({"ballot"}), "-cl-std=CL3.0 -DSUB_GROUP_KHR"),
    BackEnd("cl_intel_subgroups", frozenset({"shuffle"}), "-DSUB_GROUP_INTEL"),
    # These two vendors list no extension for exchanges, but their compilers support them on all devices.
    BackEnd("cl_nv_device_attribute_query", _BOTH, "-DSUB_GROUP_NVIDIA"),
    BackEnd("cl_amd_device_attribute_query", _BOTH, "-DSUB_GROUP_AMD"),
)
"""In order of preference."""

_SIZED = "cl_intel_required_subgroup_size"


def back_end(features: Features, exchange: Exchange) -> BackEnd | None:
    """Return the first back end that the device supports for *exchange*, or ``None``."""
    return next((b for b in BACK_ENDS if exchange in b.exchanges and b.extension in features.extensions), None)


def missing(features: Features, exchange: Exchange) -> str | None:
    """Return the reason why the device has no *exchange*, in a sentence, or ``None``."""
    if back_end(features, exchange):
        return None
    extensions = [b.extension for b in BACK_ENDS if exchange in b.exchanges and not b.extension.endswith("_query")]
    return (
        f"the device supports no sub-group {exchange} ({' or '.join(extensions)}; "
        "NVIDIA's PTX; a builtin of AMD's compiler)"
    )


def options(features: Features, exchange: Exchange) -> str:
    """Return the build options of the device's back end for *exchange*; empty if there is none."""
    found = back_end(features, exchange)
    if found is None:
        return ""
    return f"{found.options} -DSUB_GROUP_SIZED" if _SIZED in features.extensions else found.options


class Exchanging(Workload):
    """A workload whose work-items exchange values within sub-groups."""

    required: ClassVar[tuple[Exchange, ...]]

    def missing(self, features: Features) -> str | None:
        """All exchanges are required, in one back end."""
        for exchange in self.required:
            if lacking := missing(features, exchange):
                return lacking
        if len({options(features, exchange) for exchange in self.required}) > 1:
            return "the device's sub-group shuffle and ballot need different extensions, which one kernel cannot use"
        return None

    def options(self, features: Features) -> str:
        return options(features, self.required[-1])
