"""What compilers for CPUs and their runtimes change in the values of a device: a row for each.

How they execute kernels is in :mod:`gpureport.predict.cpu`.
"""

import re
from collections.abc import Mapping
from functools import partial
from math import sqrt
from typing import NamedTuple

from gpureport.spec import drivers
from gpureport.spec.drivers import CpuCompiler
from gpureport.spec.files import ArchitectureFile, levels
from gpureport.spec.models import CoreType, PresentDevice, core_source
from gpureport.spec.uncertainty import constant, sourced
from gpureport.spec.values import Provenance, Value


class CompilerValues(NamedTuple):
    """Values of a compiler and its runtime."""

    launch_transfers: float
    """Launch cost of one work-group on one thread / latency of the L3. Threads wait for the same locks, whose lines
    move from core to core through the L3."""
    exchanges: Mapping[str, float]
    """Lane operations per cycle of exchanges between work-items."""
    launch_exponent: float = 0.0
    """Growth of the launch cost with the number of threads."""
    call_transfers: float = 0.0
    """Fixed time of a copy / latency of the L3; 0: the usual time applies."""
    parallel_transfers: float = 0.0
    """Further time of a copy on all threads / latency of the L3, for one thread; it grows with their square root, as
    the time until threads have found work (assumed). 0: one thread copies."""


COMPILERS = sourced("spec.compilers.COMPILERS", dict[CpuCompiler, CompilerValues])
_BALLOT_CYCLES = sourced("spec.compilers._BALLOT_CYCLES", int)
_SKIPPED_ACCESSES = constant(
    16 / 21.2,
    "a loop of vpgatherdd and vpscatterdd on eight words with empty masks takes 21.2 cycles on a Zen 4",
    held_out="empty work-groups under PoCL 6 and 7 on the same core: 0.9 to 1.6 times the observed time",
)
"""Accesses per cycle of the lanes of gathers and scatters that masks disable, on pipes of half a vector's width."""
_SCALAR_POCL = range(5, 7)
"""Versions of PoCL that run work-items with conditions or barriers one by one: they give LLVM's vectorisers no target
(notes of PoCL 7.0; machine code of our kernels). Debian corrects 6.0 (0001-WG-vectorizer-Re-enable-*.patch)."""
_WIDE = re.compile(r"avx512|icelake|cannonlake|cascadelake|cooperlake|tigerlake|rocketlake|rapids|znver[4-9]")
_FULL_WIDTH = re.compile(r"znver[4-9]")
"""Targets with AVX-512 for which LLVM emits vectors of 512 bits (it prefers 256 bits for Intel's)."""
_MCA = "cycles on vectors of 256 bits (llvm-mca 14, Skylake-X to Sapphire Rapids)"
_NARROW_PIPES = {"ternary": constant(3, f"vpternlogd: 0.33 {_MCA}"), "shift": constant(2, f"vprolvd: 0.5 {_MCA}")}
"""Pipes for these instructions of AVX-512 on vectors of 256 bits."""


def launch_values(compiler: CpuCompiler, core: CoreType, architecture: str, threads: int) -> dict[str, Value]:
    """Return the cost of the launch of one work-group with *threads* on cores of a type."""
    each = COMPILERS[compiler]
    launch = each.launch_transfers * threads**each.launch_exponent
    counts = {"launch.single": launch, "launch.batched": launch, "launch.transfer": each.call_transfers}
    counts["launch.parallel_transfer"] = each.parallel_transfers * sqrt(threads)
    of = partial(Provenance, kind="derived", source=core_source(architecture))
    return {
        name: Value(count * core.l3_latency_s, of(note=f"{count:,.0f} times the latency of the L3"))
        for name, count in counts.items()
        if count
    }


def _emitted(present: PresentDevice, value: object, note: str = "the compiler emits vectors of 256 bits") -> Value:
    return Value(value, Provenance(kind="derived", source=present.version, note=note))


def compiler_value(present: PresentDevice) -> dict[str, Value]:
    """Return the compiler that the runtime of a CPU has, if it is known."""
    compiler = present.implementation.cpu_compiler
    return {"compiler": _emitted(present, compiler, "the compiler of the runtime")} if compiler else {}


def emitted_values(present: PresentDevice, file: ArchitectureFile, narrow: ArchitectureFile) -> dict[str, Value]:
    """Return the values of the code that the runtime's compiler emits for a processor of the architecture *file*.

    LLVM prefers the vectors of *narrow*; instructions per cycle are those of *file*.
    """
    emitted_by = {"pocl": _of_pocl, "intel": _of_intel}.get(present.implementation.cpu_compiler or "")
    return emitted_by(present, file, narrow) if emitted_by else {}


def _of_intel(present: PresentDevice, file: ArchitectureFile, narrow: ArchitectureFile) -> dict[str, Value]:
    """Return the values of Intel's compiler, which uses the full width, and masks wherever code has conditions.

    Where pipes of half the width execute a vector in two cycles, it counts as two.
    """
    emitted = partial(_emitted, present, note="the compiler vectorises over work-items")
    own = file.values
    counted = narrow.values if file.double_pumped else own
    lanes, own_lanes = counted["wave_size"].value, own["wave_size"].value
    shuffles = own["shuffles_per_cycle"].value if "shuffles_per_cycle" in own else 1.0
    exchanges = COMPILERS["intel"].exchanges
    return {
        "wave_size": emitted(lanes),
        **dict.fromkeys(("masked_lanes", "barrier_lanes"), emitted(float(own_lanes))),
        "rates.instruction": emitted(own["rates.instruction"].value * lanes / own_lanes),
        "rates.barrier": emitted(exchanges["barrier"]),
        "rates.ballot": emitted(exchanges["ballot"] * shuffles),
        "latencies.ballot": emitted(_BALLOT_CYCLES),
    }


def _of_pocl(present: PresentDevice, file: ArchitectureFile, narrow: ArchitectureFile) -> dict[str, Value]:
    """Return the values of PoCL.

    LLVM prefers vectors of 256 bits for Intel's targets with AVX-512, whose instructions it uses on them. PoCL of a
    distribution compiles for such a target on AMD's processors, too. For a target without AVX-512, it emits code for
    AVX2. Code between barriers needs no masks.
    """
    own, other = file.values, narrow.values
    lanes, own_lanes = other["wave_size"].value, own["wave_size"].value
    has_masks, version = _WIDE.search(present.version) is not None, drivers.version(present.driver)
    corrected = version[:1] == (6,) and "debian" in present.driver
    scalar = not version or (version[0] in _SCALAR_POCL and not corrected)

    emitted = partial(_emitted, present)
    exchanges = {} if version and version[0] < _SCALAR_POCL.start else COMPILERS["pocl"].exchanges
    values = {f"rates.{name}": emitted(rate, "emulated in memory") for name, rate in exchanges.items()}
    if not scalar:
        values.pop("rates.barrier", None)
        values["barrier_lanes"] = emitted(min(lanes, own_lanes), "this PoCL vectorises code between barriers")
    if own_lanes <= lanes or _FULL_WIDTH.search(present.version):
        return values
    issued = own["rates.instruction"].value * lanes / own_lanes
    values |= {"wave_size": emitted(lanes), "rates.instruction": emitted(issued)}
    if has_masks and not scalar:
        values["masked_lanes"] = emitted(float(lanes), "this PoCL vectorises simple conditions")
    if has_masks and file.double_pumped:
        if not scalar:
            values["rates.masked"] = emitted(_SKIPPED_ACCESSES, "gathers and scatters with empty masks")
        return values  # two narrow instructions take as long as a wide one
    composed = ("latencies.ternary", "latencies.shift")
    copied = ("caches.L1.bandwidth", *composed, *(f"rates.{name}" for name in levels(other, "rates")))
    narrower = {path: emitted(other[path].value) for path in copied}
    if has_masks:
        narrower |= {f"rates.{name}": emitted(float(pipes * lanes)) for name, pipes in _NARROW_PIPES.items()}
        narrower |= {path: emitted(own[path].value) for path in composed}
    return narrower | values
