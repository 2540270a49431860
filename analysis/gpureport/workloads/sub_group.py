"""Selects a back end of ``kernels_cl/common/sub_group.h`` for exchanges within sub-groups."""

from collections.abc import Mapping
from typing import Literal

from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Workload

Exchange = Literal["shuffle", "ballot"]
"""An operation across the lanes of a sub-group."""
NVIDIA, AMD = "cl_nv_device_attribute_query", "cl_amd_device_attribute_query"
"""These two vendors list no extension for exchanges and number formats that their compilers support nevertheless."""
_BACK_ENDS: Mapping[str, Mapping[Exchange, str]] = {
    # Devices with these extensions support OpenCL C 3.0, which has sub-groups as a feature of the language.
    "-cl-std=CL3.0 -DSUB_GROUP_KHR": {"shuffle": "cl_khr_subgroup_shuffle", "ballot": "cl_khr_subgroup_ballot"},
    "-DSUB_GROUP_INTEL": {"shuffle": "cl_intel_subgroups"},
    "-DSUB_GROUP_NVIDIA": {"shuffle": NVIDIA, "ballot": NVIDIA},
    "-DSUB_GROUP_AMD": {"shuffle": AMD, "ballot": AMD},
}
"""Required OpenCL extensions by build options, in order of preference."""
_SIZED = "cl_intel_required_subgroup_size"


class Exchanging(Workload):
    """A workload whose work-items may exchange values within sub-groups."""

    required: tuple[Exchange, ...] = ()

    def missing(self, present: PresentDevice) -> str | None:
        """One back end must have all exchanges."""
        if not self.required or self.options(present):
            return super().missing(present)
        sets = [{has[each] for each in self.required} for has in _BACK_ENDS.values() if {*self.required} <= has.keys()]
        listed = " or ".join(" with ".join(sorted(names)) for names in sets if not names & {NVIDIA, AMD})
        every = f"{listed}; NVIDIA's PTX; a builtin of AMD's compiler"
        return f"the device supports no sub-group {' and '.join(self.required)} ({every})"

    def options(self, present: PresentDevice) -> str:
        """Return the build options of the device's back end; empty if there is none."""
        for text, has in _BACK_ENDS.items() if self.required else ():
            if {has.get(each) for each in self.required}.issubset(present.extensions):
                return f"{text} -DSUB_GROUP_SIZED" if _SIZED in present.extensions else text
        return ""
