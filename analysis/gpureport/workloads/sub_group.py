"""Selects a back end of ``kernels_cl/common/sub_group.h`` for exchanges within sub-groups."""

from collections.abc import Mapping
from typing import Literal

from gpureport.workloads.model import Features, Workload

Exchange = Literal["shuffle", "ballot"]
"""An operation across the lanes of a sub-group."""


_KHR = "-cl-std=CL3.0 -DSUB_GROUP_KHR"
"""Devices with these extensions support OpenCL C 3.0, which has sub-groups as a feature of the language."""
_OF_VENDORS = {"cl_nv_device_attribute_query": "-DSUB_GROUP_NVIDIA", "cl_amd_device_attribute_query": "-DSUB_GROUP_AMD"}
"""These two vendors list no extension for exchanges, but their compilers support them on all devices."""
_BACK_ENDS: Mapping[Exchange, Mapping[str, str]] = {
    "shuffle": {"cl_khr_subgroup_shuffle": _KHR, "cl_intel_subgroups": "-DSUB_GROUP_INTEL", **_OF_VENDORS},
    "ballot": {"cl_khr_subgroup_ballot": _KHR, **_OF_VENDORS},
}
"""Build options by required OpenCL extension, in order of preference."""
_SIZED = "cl_intel_required_subgroup_size"


def options(features: Features, exchange: Exchange) -> str:
    """Return the build options of the device's back end for *exchange*; empty if there is none."""
    found = next((text for name, text in _BACK_ENDS[exchange].items() if name in features.extensions), "")
    return f"{found} -DSUB_GROUP_SIZED" if found and _SIZED in features.extensions else found


class Exchanging(Workload):
    """A workload whose work-items may exchange values within sub-groups."""

    required: tuple[Exchange, ...] = ()

    def missing(self, features: Features) -> str | None:
        """All exchanges are required, in one back end."""
        for exchange in self.required:
            if not options(features, exchange):
                listed = " or ".join(extension for extension in _BACK_ENDS[exchange] if extension not in _OF_VENDORS)
                every = f"{listed}; NVIDIA's PTX; a builtin of AMD's compiler"
                return f"the device supports no sub-group {exchange} ({every})"
        if len({options(features, exchange) for exchange in self.required}) > 1:
            return "the device's sub-group shuffle and ballot need different extensions, which one kernel cannot use"
        return super().missing(features)

    def options(self, features: Features) -> str:
        return options(features, self.required[-1]) if self.required else ""
