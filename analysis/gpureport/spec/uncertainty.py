"""How uncertain the values of devices and architectures are; fields of records declare it (``Listed.uncertain``)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log

MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution / its median absolute deviation (median of its absolute errors)."""
MEAN_TO_SIGMA = 1.2533
"""Standard deviation of a normal distribution / mean of its absolute errors."""
NORMAL_95 = 1.96
"""Half-width of the 95 % interval of a normal distribution, in standard deviations."""
SIGMA_ASSUMED = 0.3
"""Standard deviation of an assumed value (itself assumed: correct within a factor of 1.8 in 95 % of cases)."""
SIGMA_MEASURED_HERE = 0.01
"""Standard deviation of a value that the run itself measures. Two runs on two H200 agree within 1.2 % in 90 % of 99
plateaus and cases, and within 2 % in 9 of 10 positions of cliffs and tapers of microbenchmarks."""
SIGMA_MEASURED_HERE_CPU = 0.2
"""The least on a CPU: clocks and neighbours change from one kernel to another (assumed)."""


@dataclass(frozen=True)
class Uncertainty:
    """Relative standard deviations of one kind of value.

    Attributes:
        what: the kind, in words.
        published: of a value with a source; 0: it depends on the kind of source only.
        source: where *published* comes from.
        assumed: of a value without a source.
        here: of a value that the run itself measured.
        centre: median of true / listed values, for the intervals of cliffs.
        on_cpus: that of CPUs, by the name of the cache; an empty name: of any.
    """

    what: str = ""
    published: float = 0.0
    source: str = ""
    assumed: float = SIGMA_ASSUMED
    here: float = SIGMA_MEASURED_HERE
    centre: float = 1.0
    on_cpus: Mapping[str, "Uncertainty"] = field(default_factory=dict, compare=False)


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
        "": Uncertainty("launch cost", 0.5, "4 to 190 µs with PoCL (krrishnarraj/clpeak logs)", assumed=0.5),
    },
)
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
PEER_SPEEDUP = Uncertainty(
    "rate of copies to another device / rate if staged through host memory",
    log(2.0) / NORMAL_95,
    "copies to and from host memory, one after the other, take twice the time of overlapping ones (assumed); the "
    "interval also contains the listed bandwidth of a direct link",
    assumed=log(2.0) / NORMAL_95,
)
ISSUE_RATE = Uncertainty("instruction issue rate", 0.02, "follows from the number of schedulers")
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
UNCERTAINTIES = (
    *(CLOCK, EFFICIENCY, LATENCY, LOADED_LATENCY, TURNOVER, LAUNCH_COST, LINK_BANDWIDTH, TRANSFER_COST, HOST_COPY),
    *(PEER_SPEEDUP, ISSUE_RATE, TRANSITION),
)
"""Those with a spread of their own, in the order of documents."""
