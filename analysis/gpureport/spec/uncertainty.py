"""Constants of the code, and how uncertain values are.

Fields of records declare the uncertainty of values of devices and architectures (``Listed.uncertain``). Constants of
the model have no uncertainty of their own: fits show their errors only together (:data:`SIGMA_MODEL`,
:data:`SIGMA_CPU_CODE`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

N = TypeVar("N", bound=float | tuple[object, ...])


class Constant(NamedTuple):
    """A number of the code, or several, that is not one of a device or architecture."""

    value: object
    source: str
    """The data that determined it, and how well it fits them; empty: a definition, or a count."""
    measured_on: tuple[str, ...]
    """Database entries of the devices of these data."""
    held_out: str
    """The result for devices that were not used."""
    only: str = ""
    """The software whose kernels it describes; empty: it is part of all predictions."""


CONSTANTS: list[Constant] = []
"""All constants of the modules that were imported."""


def constant(value: N, source: str = "", *, measured_on: tuple[str, ...] = (), held_out: str = "", only: str = "") -> N:
    """Declare a :class:`Constant`, and return its value."""
    CONSTANTS.append(Constant(value, source, measured_on, held_out, only))
    return value


EMERALD_RAPIDS = ("architectures/emerald_rapids",)
"""The type of core of ``reports/pocl-xeon-*``, whose entry describes any CPU. Constants of PoCL were fitted to earlier
runs on 2 and 16 such cores, under the same names; the kept runs replaced some of them. Nothing was fitted to the Zen 4
of ``reports/*-epyc-*``."""
MAD_TO_SIGMA = constant(1.4826)
"""Standard deviation of a normal distribution / its median absolute deviation (median of its absolute errors)."""
MEAN_TO_SIGMA = constant(1.2533)
"""Standard deviation of a normal distribution / mean of its absolute errors."""
NORMAL_95 = constant(1.96)
"""Half-width of the 95 % interval of a normal distribution, in standard deviations."""
MODEL_BASIS = (
    "half of the times of an H100, which no constant was fitted to, are within 4.5 % of their predictions "
    "(reports/nvidia-h100), and of the published times within 3.0 % (NVIDIA GPUs 1.5 %, AMD 6.4 %, Intel 9.1 %)"
)
SIGMA_MODEL = constant(0.043 * MAD_TO_SIGMA, MODEL_BASIS)
"""Standard deviation of the model itself. This includes uncertain facts. Most of these devices have caches that the
same authors measured."""
CPU_CODE_BASIS = (
    "half of the calibrated times are within 18 % of their predictions (gpureport validate --times reports/pocl-*)"
)
SIGMA_CPU_CODE = constant(0.18 * MAD_TO_SIGMA, CPU_CODE_BASIS)
"""Standard deviation of the model of CPUs beyond that, with what compilers make of a kernel."""
SIGMA_ASSUMED = constant(0.3)
"""Standard deviation of an assumed value (itself assumed: correct within a factor of 1.8 in 95 % of cases)."""
SIGMA_BY_SOURCE = {
    "queried": constant(0.01, "assumed"),
    "spec": constant(0.02, "data sheets and databases differ by 2 % (H200's memory: 4.8 and 4.89 TB/s)"),
    "measured": constant(0.1, "assumed: they belong to another device of the architecture"),
    "derived": constant(0.15, "assumed, as for measured ones"),
    "assumed": SIGMA_ASSUMED,
}
"""Standard deviations of values without a published spread of their own, by kind of source."""
SIGMA_MEASURED_HERE = constant(
    0.01,
    "two runs on two H200: within 1.2 % in 90 % of 99 plateaus and cases, and within 2 % in 9 of 10 positions of "
    "cliffs and tapers of microbenchmarks",
)
"""Standard deviation of a value that the run itself measures."""
SIGMA_MEASURED_HERE_CPU = constant(0.2)
"""The least on a CPU: clocks and neighbours change from one kernel to another (assumed)."""
SIGMA_TRANSFER = constant(0.2)
"""Standard deviation of the logarithm of a measured value / that which another kernel finds, on a quiet machine with
neighbours (assumed)."""
SIGMA_RATE_TRANSFER = constant(
    0.5,
    "16 cores: an earlier quick run had smaller errors with 0.5 than with 0.35",
    measured_on=EMERALD_RAPIDS,
    held_out="reports/pocl-xeon-16-cores*: both are equal within 0.3 percentage points",
)
"""The same of rates. A microbenchmark that keeps all pipes busy shares them with the other hardware thread of the core,
which halves its rate; a kernel that also waits loses less."""
SIGMA_LAUNCH_TRANSFER = constant(
    1.0,
    "full run on 16 cores: a median error of 16.4 % with 1, 16.8 % with 0.5 (reports/pocl-xeon-16-cores)",
    measured_on=EMERALD_RAPIDS,
    held_out="the quick run: 12.5 and 11.9 %",
)
"""The same of launch costs. Empty dispatches keep all threads awake; kernels with work let them sleep."""


@dataclass(frozen=True)
class Uncertainty:
    """Relative standard deviations of one kind of value."""

    what: str = ""
    """The kind, in words."""
    published: float = 0.0
    """Deviation of a value with a source; 0: it depends on the kind of source only."""
    source: str = ""
    """Where *published* comes from."""
    assumed: float = SIGMA_ASSUMED
    """Deviation of a value without a source."""
    here: float = SIGMA_MEASURED_HERE
    """Deviation of a value that the run itself measured."""
    transfer: float = SIGMA_TRANSFER
    """Deviation of a value measured on a machine with neighbours, to another kernel."""
    centre: float = 1.0
    """Median of true / listed values, for the intervals of cliffs."""
    rows: Mapping[str, "Uncertainty"] = field(default_factory=dict, compare=False)
    """Uncertainties of rows of a table, by name."""
    on_cpus: Mapping[str, "Uncertainty"] = field(default_factory=dict, compare=False)
    """Uncertainties of CPUs, by the name of the cache; an empty name: of any."""

    def of(self, path: str, *, on_cpu: bool) -> "Uncertainty":
        """Return that of the value at a dotted *path*, whose names may have one of their own."""
        known = {**self.rows, **self.on_cpus} if on_cpu else self.rows
        return next((known[name] for name in (*path.split("."), "") if name in known), self)


BY_SOURCE = Uncertainty()
CLOCK = Uncertainty(
    "clock",
    0.052 * MAD_TO_SIGMA,
    "FP32 rate against the listed boost clock: off by 5.2 % in the median of 30 cards (krrishnarraj/clpeak logs)",
)
EFFICIENCY = Uncertainty(
    "achievable share of the memory bandwidth",
    0.068 * MEAN_TO_SIGMA,
    "OpenCL reads / listed bandwidth: one share for all is off by 6.8 % on average over 28 cards "
    "(krrishnarraj/clpeak logs)",
    assumed=0.15,
)
ONE_WAY_LOSS = constant(
    0.2,
    "an H200's copy reaches 0.89 of the listed bandwidth, its reads and writes 0.98 (reports/nvidia-h200)",
    measured_on=("nvidia/h200_sxm",),
)
ONE_WAY = Uncertainty(
    "part of the loss of bandwidth that remains if data move in one direction",
    0.5,
    "0.2 to 1.0 of reads of an MI210, whose work-groups read own data or share blocks (RRZE-HPC/gpu-benches, "
    "gpu-stream, gpu-l2-cache). The default, 0.2 of an H200's kernels, may be 1.0, as of reads of clpeak "
    "(krrishnarraj/clpeak logs)",
    assumed=2.0,
)
ERROR_CORRECTION = Uncertainty(
    "share of the bandwidth that error correction takes",
    0.25,
    "12 % on a K20c and a K40c (UoB-HPC/BabelStream), 20 % by NVIDIA's guide",
)
EXCHANGE = Uncertainty(
    "additional time of lines that work-groups exchange",
    0.5,
    "lattice Boltzmann on AMD GPUs of one generation: half are within 0.35 of the median (ProjectPhysX/FluidX3D)",
    assumed=0.6,
)
LATENCY = Uncertainty(
    "latency of caches and memory",
    0.07,
    "A100 and H100: sources differ by 7 % (root mean square; RRZE-HPC/gpu-benches @1038c5d; Luo et al., "
    "arXiv:2402.13499; Chips and Cheese)",
)
LOADED_LATENCY = Uncertainty(
    "latency under load / unloaded latency",
    0.25,
    "predicted work-items for 90 % of the bandwidth: off by 19 % in the median of A100, A40, H100 and "
    "MI210 (RRZE-HPC/gpu-benches @1038c5d, gpu-stream); memory's bandwidth share explains a part of that",
)
TURNOVER = Uncertainty(
    "time from one work-group to the next",
    0.15,
    "300 to 530 cycles on seven architectures; on one, reads and writes differ by 15 % (RRZE-HPC/gpu-benches, "
    "gpu-stream)",
    assumed=0.5,
)
LAUNCH_COST = Uncertainty(
    "launch cost",
    0.28,
    "3.4 to 9.3 µs on 17 NVIDIA cards (krrishnarraj/clpeak logs)",
    on_cpus={
        "": Uncertainty(
            "launch cost",
            0.5,
            "4 to 190 µs with PoCL (krrishnarraj/clpeak logs)",
            assumed=0.5,
            transfer=SIGMA_LAUNCH_TRANSFER,
        ),
    },
)
GROUP_RATE = Uncertainty(transfer=SIGMA_LAUNCH_TRANSFER)
LINK_BANDWIDTH = Uncertainty(
    "bandwidth of the link to the host",
    0.07,
    "pinned copies on 150 cloud machines, by model of GPU: 5 % to the host, 8 % to the device (root mean square; "
    "SpareCores/sc-inspector-data)",
)
TRANSFER_COST = Uncertainty("cost of a transfer", 0.4, "one value for all runtimes and machines (assumed)", assumed=0.4)
HOST_COPY = Uncertainty(
    "rate at which a core of the host copies",
    0.35,
    "6 to 17 GB/s on 15 machines (RRZE-HPC/kerncraft @5d1cc67, streams of one core)",
    assumed=0.35,
)
ISSUE_RATE = Uncertainty(
    "instruction issue rate", 0.02, "follows from the number of schedulers", transfer=SIGMA_RATE_TRANSFER
)
RATE = Uncertainty(transfer=SIGMA_RATE_TRANSFER, rows={"instruction": ISSUE_RATE})
TRANSITION = Uncertainty(
    "transition range of a cache / capacity",
    0.05,
    "latency: 1.00 to 1.05 of the capacity of second-level caches; bandwidth: 0.87 to 0.91 with two partitions "
    "(RRZE-HPC/gpu-benches @1038c5d); cyclic sweeps 0.75, copies 0.69 (simulated). If the run measures it: its "
    "kernels evict lines in another order than the microbenchmark (six calibrated cliffs of an H200: 6.5 %, root "
    "mean square; 8 % with Student's t for six values)",
    assumed=0.1,
    here=0.08,
    on_cpus={
        "L1": Uncertainty(
            "transition range of the L1 / capacity",
            0.35,
            "0.6 to 1.1 of the capacity on two virtual machines (reports/pocl-xeon-*)",
            assumed=0.35,
            here=0.2,
        ),
        "L2": Uncertainty(
            "transition range of the L2 / capacity",
            0.6,
            "0.5 to 2.6 times the predicted position on two virtual machines (reports/pocl-xeon-*): physical pages are "
            "not contiguous, and the other thread of a core uses a part",
            assumed=0.6,
            here=0.35,
        ),
        "L3": Uncertainty(
            "part of the L3 that programs find",
            0.59,
            "0.2 to 2.0 times the usual part on 95 % of cloud machines (``predict.cpu_memory.SPREADS``), with 0.63 in "
            "the middle on a logarithmic scale; other programs on the host use the rest. If the run measures it: "
            "streams and chains of loads of the same kernel find 0.3 to 1.0 of what the microbenchmark finds "
            "(reports/pocl-xeon-*)",
            assumed=0.59,
            here=0.59,
            centre=0.63,
        ),
    },
)
BANDWIDTH = Uncertainty(
    on_cpus={
        "": Uncertainty(
            "bandwidth of a core",
            0.3,
            "95 % of cloud machines: private caches within a factor of 1.5, L3 and memory within 2 "
            "(``predict.cpu_memory.SPREADS``)",
        ),
    },
)
UNCERTAINTIES = tuple(each for each in tuple(globals().values()) if isinstance(each, Uncertainty) and each.what)
"""Those with a spread of their own. The order of their definitions is that of documents."""
