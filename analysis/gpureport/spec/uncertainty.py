"""Constants of the code, and how uncertain values are.

Constants with sources are in ``tables/constants.yaml``, with the devices that were measured.

Fields of records name the uncertainty of values of devices and architectures (``Listed.uncertain``), a row of
``tables/uncertainties.yaml``. Constants of the model have no uncertainty of their own: fits show their errors only
together (:data:`SIGMA_MODEL`, :data:`SIGMA_CPU_CODE`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BeforeValidator, TypeAdapter

from gpureport.inputs import shipped_table

R = TypeVar("R")
N = TypeVar("N", bound=float | tuple[object, ...])


_Number = int | float
_Numbers = _Number | tuple[_Number | tuple[_Number, ...], ...]


class Constants(NamedTuple):
    """Where numbers of the code come from that are not those of a device or architecture: a row of the table."""

    values: dict[str, _Numbers | dict[str, _Numbers | dict[str, _Numbers]]]
    """By name; none, if the code has the value."""
    source: str
    """The data that determined them, and how well they fit these; empty: a definition, or a count."""
    measured_on: tuple[str, ...] = ()
    """Database entries of the devices of these data."""
    held_out: str = ""
    """The result for devices that were not used."""
    only: str = ""
    """The software whose kernels they describe; empty: they are part of all predictions."""


CONSTANTS: list[Constants] = []
"""All constants of the modules that were imported."""
SOURCED = shipped_table("constants", tuple[Constants, ...])
"""``tables/constants.yaml``."""


def constant(value: N, source: str = "", *, measured_on: tuple[str, ...] = (), held_out: str = "", only: str = "") -> N:
    """Declare a constant, and return its *value*."""
    CONSTANTS.append(Constants({}, source, measured_on, held_out, only))
    return value


def sourced(name: str, kind: type[R]) -> R:
    """Declare the constant of this *name* in ``tables/constants.yaml``, and return it as a *kind*.

    If names begin with it and a dot, what follows in them are its fields or keys, and those of its parts.
    """
    found: dict[str, Any] = {}
    for row in SOURCED:
        for path, value in row.values.items():
            if f"{path}.".startswith(f"{name}."):
                CONSTANTS.append(row)
                part = found
                *above, last = path.removeprefix(name).split(".")
                for step in above:
                    part = part.setdefault(step, {})
                part[last] = value
    return TypeAdapter(kind, config={"extra": "forbid"}).validate_python(found[""])


MAD_TO_SIGMA = constant(1.4826)
"""Standard deviation of a normal distribution / its median absolute deviation (median of its absolute errors)."""
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
SIGMA_MEASURED_HERE = sourced("spec.uncertainty.SIGMA_MEASURED_HERE", float)
"""Standard deviation of a value that the run itself measures."""
SIGMA_MEASURED_HERE_CPU = constant(0.2)
"""The least on a CPU: clocks and neighbours change from one kernel to another (assumed)."""
SIGMA_TRANSFER = constant(0.2)
"""Standard deviation of the logarithm of a measured value / that which another kernel finds, on a quiet machine with
neighbours (assumed)."""
SIGMA_RATE_TRANSFER = sourced("spec.uncertainty.SIGMA_RATE_TRANSFER", float)
"""The same of rates. A microbenchmark that keeps all pipes busy shares them with the other hardware thread of the core,
which halves its rate; a kernel that also waits loses less."""
SIGMA_LAUNCH_TRANSFER = sourced("spec.uncertainty.SIGMA_LAUNCH_TRANSFER", float)
"""The same of launch costs. Empty dispatches keep all threads awake; kernels with work let them sleep."""
_TRANSFERS = {"rates": SIGMA_RATE_TRANSFER, "launches": SIGMA_LAUNCH_TRANSFER}


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
    transfer: Annotated[float, BeforeValidator(_TRANSFERS.get)] = SIGMA_TRANSFER
    """Deviation of a value measured on a machine with neighbours, to another kernel."""
    centre: float = 1.0
    """Median of true / listed values, for the intervals of cliffs."""
    rows: Mapping[str, "Uncertainty"] = field(default_factory=dict, compare=False)
    """Uncertainties of rows of a table, by name."""
    on_cpus: Mapping[str, "Uncertainty"] = field(default_factory=dict, compare=False)
    """Uncertainties of CPUs, by the name of the cache; ``any``: of all others."""

    def of(self, path: str, *, on_cpu: bool) -> "Uncertainty":
        """Return that of the value at a dotted *path*, whose names may have one of their own."""
        known = {**self.rows, **self.on_cpus} if on_cpu else self.rows
        return next((known[name] for name in (*path.split("."), "any") if name in known), self)


ONE_WAY_LOSS = sourced("spec.uncertainty.ONE_WAY_LOSS", float)
UNCERTAINTIES: Mapping[str, Uncertainty] = {
    "by source": Uncertainty(),
    **shipped_table("uncertainties", dict[str, Uncertainty]),
}
"""``tables/uncertainties.yaml``, by the names that fields declare (``Listed.uncertain``)."""
