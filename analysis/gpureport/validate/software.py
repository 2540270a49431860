"""Data on the scoreboard: its tables and operators, and the software that runs them, with its ways of timing."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpureport.inputs import shipped_table
from gpureport.spec.drivers import maker
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import sourced

Row = Mapping[str, float | str]
"""A row of a table of the scoreboard: texts, and the numbers that its operator needs."""


class DataSet(NamedTuple):
    """What a table of the scoreboard contains, for readers."""

    title: str
    timing: str = ""
    """The software, and the way of timing (:func:`timing_of`)."""
    parts: str = ""
    """If rows are whole models (operator ``sequence``): the table of the operators of each ``model``, each with its
    ``count``."""
    by_users: bool = False
    """Whether many users ran the program."""


class _Table(NamedTuple):
    data_sets: Mapping[str, DataSet]
    elementwise: Mapping[str, Mapping[str, Any]]
    streams: Mapping[str, Mapping[str, Any]]
    lattices: Mapping[str, Mapping[str, Any]]


TABLE = shipped_table("scoreboard", _Table)
"""``tables/scoreboard.yaml``: tables by the names of their files, and arguments of functions by operator."""
DATA_SETS = TABLE.data_sets


class Functions(NamedTuple):
    """Instructions of a work-item: of functions, of combining two means, and of what is outside loops."""

    exponential: float
    division: float
    combination: float
    softmax: float
    layer_norm: float


class Tile(NamedTuple):
    """A kernel for products: the rows and columns of the result of a work-group, and its work-items."""

    m: int
    n: int
    work_items: int = 256
    slices: int = 1
    """Parts of the work-items that share each sum: each adds its own part of the reduction."""
    depth: int = 8
    """Elements of the reduction that each slice loads at once."""


class Kernels(NamedTuple):
    """Kernels of a library for one product, and for a batch, if it has others for that."""

    one: tuple[Tile, ...]
    batch: tuple[Tile, ...] = ()


class Timing(NamedTuple):
    """What a way of timing adds to kernels: their time is at least *least_s*, and that of kernels + *before_s*."""

    before_s: float = 0.0
    least_s: float = 0.0
    deviation: float = 0.0
    """Relative standard deviation of both."""
    launch_s: float = 0.0
    """Time of a back-to-back dispatch, in place of that of the entry, which is OpenCL's; 0: they are equal."""


class Stack(NamedTuple):
    """The software for the devices of a vendor."""

    version: tuple[int, int]
    """Of PyTorch."""
    functions: Functions
    layer_norm_registers: int
    kernels: Kernels
    """Kernels for products, unless the architecture has others."""
    kernel_deviation: float
    """Relative standard deviation of products, because the library may choose another kernel."""
    timings: Mapping[str, Timing]
    """By the way of timing. Events of an idle stream are around the call of an operator, or the nodes of a graph: the
    first one passes before the host reaches the kernel, and the second one cannot pass before the host records it."""
    longer_powers: float = 1.0
    """Instructions of a power / on NVIDIA."""
    copies_of_bias: int = 0
    """Copies of the bias to the result before a product, each with a call of its own; 0: the product adds it."""


class Software(NamedTuple):
    """Constants of the software of all tables."""

    stacks: Mapping[str, Stack]
    """By the name that vendors of devices have in ``tables/drivers.yaml``."""
    kernels: Mapping[str, Kernels]
    """Kernels for products, of architectures that have their own."""
    tensor_kernels: tuple[Tile, ...]
    """Kernels for matrix units and fp16."""
    longer_calls: Mapping[str, float]
    """Host time of operators with more outputs or steps / that of element-wise ones. The difference delays kernels."""
    by_host: Mapping[str, Timing]
    """By operator, of the host's clock around a call and the wait for its end. PyTorch compiled some functions, which
    then check their arguments."""


SOFTWARE = sourced("validate.software.SOFTWARE", Software)


def stack_of(device: Device) -> Stack:
    """Return the software that runs kernels of PyTorch on *device*; that of CUDA, if its vendor has none."""
    return SOFTWARE.stacks[maker(device.vendor).software]


def timing_of(way: str, row: Row, device: Device) -> Timing:
    """Return what a *way* of timing adds to the kernels of *row*; nothing, if it is not known."""
    operator, stack = str(row.get("operator")), stack_of(device)
    if way == "PyTorch, host":
        return SOFTWARE.by_host.get(operator, Timing())
    found = stack.timings.get(way, Timing())
    calls = SOFTWARE.longer_calls.get(operator, 1.0) + (stack.copies_of_bias if operator == "linear" else 0)
    before_s = found.before_s + (calls - 1) * found.least_s
    before_s += found.launch_s - device.launch.batched_s if found.launch_s else 0.0
    return found._replace(before_s=before_s, least_s=calls * found.least_s)
