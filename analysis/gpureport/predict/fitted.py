"""Data that constants of the code were fitted to.

Values of devices and architectures name their sources in the database. This table does the same for constants of the
model and of the workloads. Constants of ``predict.uncertainty`` are not included: they affect intervals only.
"""

from collections.abc import Mapping

_A100 = ("nvidia/a100_sxm_40", "nvidia/a100_sxm_80")
_H200 = ("nvidia/h200_sxm",)

_STREAMS = (*_A100, "nvidia/v100_pcie_32", "nvidia/h100_pcie", "nvidia/a40", "nvidia/l40", "amd/mi100", "amd/mi210")

_CPUS: tuple[str, ...] = ()
"""Machines without entries: ``reports/published/cpus``."""
_POCL = ("architectures/emerald_rapids",)
"""The type of core of ``reports/pocl-xeon-*``, whose entry describes any CPU. Constants were fitted to earlier runs on
2 and 16 such cores, under the same names; the kept runs replaced some of them. Nothing was fitted to the Zen 4 of
``reports/pocl-epyc-*`` and ``reports/pocl-5-epyc-*``."""

_TRANSFERS = (
    *("nvidia/p100_pcie_16", "nvidia/v100_sxm2_16", "nvidia/v100_sxm2_32", "nvidia/t4", "nvidia/a10", "nvidia/a40"),
    *("nvidia/a100_sxm_40", "nvidia/a100_sxm_80", "nvidia/a100_pcie_80", "nvidia/l4", "nvidia/l40s"),
    *("nvidia/h200_sxm", "nvidia/b200", "nvidia/rtx_pro_6000"),
)

FITTED_TO: Mapping[str, tuple[str, ...]] = {
    "predict.gpu.FEWER_CHANNELS": _STREAMS,
    "predict.gpu.MIXED_EXPONENT": _STREAMS,
    "predict.gpu.ON_ONE_DIE": ("amd/mi300x",),
    "predict.gpu.READS_EXPONENT": _STREAMS,
    "predict.gpu.WRITES_EXPONENT": _STREAMS,
    "predict.cpu_memory.COPY_EXPONENTS": _CPUS,
    "predict.cpu_memory.FAR_S": _CPUS,
    "predict.cpu_memory.L2_REACH": _CPUS,
    "predict.cpu_memory.PRIVATE_EXPONENT": _CPUS,
    "predict.cpu_memory.SHARED_EXPONENT": _CPUS,
    "predict.cpu_memory.STREAMED_L3": _CPUS,
    "predict.cpu_memory.STREAMED_L3_RANGE": _CPUS,
    "predict.advice._LEAST_GAIN": (),
    "predict.calibration.calibrate.SIGMA_TRANSFER": (),
    "predict.calibration.calibrate.SIGMA_RATE_TRANSFER": _POCL,
    "predict.calibration.calibrate.SIGMA_LAUNCH_TRANSFER": _POCL,
    "predict.cpu.GROUPS_PER_THREAD_AWAKE": _POCL,
    "predict.cpu.FETCH_SHARE_OF_LAUNCH": _POCL,
    "predict.cpu.GATHER_SLOWDOWN": _POCL,
    "predict.cpu.WAKING_DELAY_S": _POCL,
    "predict.cpu.MASKED_CODE_SLOWDOWN": _POCL,
    "predict.cpu.SCALAR_CODE_SLOWDOWN": _POCL,
    "predict.cpu.MASKED_LOOP_SLOWDOWN": _POCL,
    "predict.cpu.WAKING_SHARE_OF_LAUNCH": _POCL,
    "predict.cpu_streams.LEVEL_EXPONENT": _CPUS,
    "predict.cpu_streams.LEVEL_SPREADS": _CPUS,
    "predict.cpu_streams.SATURATION_EXPONENT": _CPUS,
    "observe.features.IDLE": (),
    "predict.features._NEAR_PLATEAU": (),
    "predict.memory.FILL_TIME": _H200,
    "predict.gpu.ISOLATED_EXPONENT": _H200,
    "predict.gpu.LATENCY_EXPONENT": (*_A100, "nvidia/a40", "nvidia/h100_pcie", "amd/mi210"),
    "predict.gpu.ONE_WAY_LOSS": _H200,
    "predict.gpu.SEVERAL_LOADS": (*_A100, "nvidia/a40", "nvidia/h100_pcie", "nvidia/l40", "amd/mi100", "amd/mi210"),
    "predict.execution.THROUGHPUT_EXPONENT": (*_A100, "nvidia/a40", "nvidia/l40"),
    "predict.residency._AT_END": (),
    "predict.residency._AT_ONSET": (),
    "predict.ceilings.SHARE": _H200,
    "predict.ceilings.SHARE_FACTOR": (),
    "predict.transfers.BOTH_WAYS": _TRANSFERS,
    "predict.transfers.FROM_STAGING": _H200,
    "predict.transfers.TO_HOST_CALLS": _H200,
    "predict.transfers.TO_DEVICE_LATENCY": _H200,
    "predict.transfers.C2C_REACHED": (),
    "predict.transfers.OVERHEAD_BYTES": (),
    "predict.transfers.PAYLOAD_BYTES": _TRANSFERS,
    "predict.transfers.REACHED": _TRANSFERS,
    "workloads.atomics._HANDED_OVER": _POCL,
    "workloads.atomics._LOCKED_ADD_CYCLES": (),
    "workloads.bit_transpose.variants._JOINED": (),
    "workloads.bit_transpose.family._ROLLED_CHAIN": _H200,
    "workloads.game_of_life.board._SHAPES_S": (),
    "workloads.game_of_life.interleaved._AT_BORDERS": (),
    "workloads.game_of_life.interleaved._CPU_MOVES": (),
    "workloads.game_of_life.interleaved._CPU_OPERATIONS": (),
    "workloads.game_of_life.interleaved._DEPENDENT": (),
    "workloads.game_of_life.interleaved._OPERATIONS": (),
    "workloads.game_of_life.interleaved._OTHERS": (),
    "workloads.game_of_life.interleaved._PER_ROW": (),
    "workloads.matrix._SECONDS": (),
    "workloads.residency._USUAL_CYCLES": (),
    "workloads.residency._WAIT_S": (),
    "workloads.game_of_life.strips._SCALARS": (),
}
"""Entries of the devices whose measurements determined a constant, by the constant's dotted name.

Nothing: a definition, or a count from documents or machine code. Sizes are whole numbers, which are not listed.
Docstrings of fitted constants name the data.
"""
