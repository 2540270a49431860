"""The file that describes the nodes of a cluster and how jobs get to them."""

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from string import Formatter
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.spec.reading import read_file
from gpureport.text import quoted

FILE_NAME = "fleet.yaml"
TEMPLATE = data_dir("templates") / FILE_NAME
FILE_VARIABLE, NODES_VARIABLE = "GPUREPORT_FLEET_FILE", "GPUREPORT_FLEET_NODES"
"""Environment variables that tell ReFrame's settings and check the file, and the nodes to measure."""
OUTPUT = "measured"
"""Folder of a job's reports."""

Scheduler = Literal["local", "ssh", "slurm", "squeue", "flux", "pbs", "torque", "sge", "oar", "lsf"]

_NODE_OPTIONS: dict[Scheduler, str] = {
    "slurm": "--nodelist={node}",
    "squeue": "--nodelist={node}",
    "flux": "--requires=host:{node}",
    "pbs": "host={node}",  # ReFrame adds it to its own -l select
    "torque": "host={node}",
    "sge": "-l hostname={node}",
    "oar": "-p host='{node}'",
    "lsf": "-m {node}",
}
"""How a job asks for a node."""

_SSH = ("-oConnectTimeout=20", "-oServerAliveInterval=30")
"""Default options that end the connection to a node that does not answer; options of the file replace them."""

Text = Annotated[str, Field(min_length=1, max_length=1000)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=1000)]
_NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]*")
_MOST_NODES = 20_000


class NodeSettings(BaseModel):
    """What differs on a node.

    Attributes:
        options: additional options of its jobs.
        environment: variables of its jobs; values are literal text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    options: tuple[Text, ...] = ()
    environment: dict[Variable, Annotated[str, Field(max_length=1000)]] = {}

    @property
    def variables(self) -> list[list[str]]:
        """Names and values of its jobs' variables, quoted for a shell."""
        return [[name, shlex.quote(value)] for name, value in self.environment.items()]


def expanded(nodes: Iterable[str]) -> dict[str, str]:
    """Return the names in *nodes*, names and sets of names, and the text that each comes from.

    Raises:
        ValueError: a set or a name is invalid, a name appears twice, or there are no names or too many.
    """
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    found: dict[str, str] = {}
    for text in nodes:
        if not text.strip():
            raise ValueError("a name is empty; write such as gpu[01-16]")
        try:
            names = list(NodeSet(text))
        except NodeSetException:
            raise ValueError(f"{quoted(text)} is no set of names; write such as gpu[01-16]") from None
        if len(found) + len(names) > _MOST_NODES:
            raise ValueError(f"there are more than {_MOST_NODES} names; use several files")
        for name in names:
            if not _NODE.fullmatch(name):  # names are parts of paths and of options
                rule = "use letters, digits and _ . : @ -, and begin with a letter, a digit or _"
                raise ValueError(f"{quoted(name)} is no name of a node; {rule}")
            if name in found:
                raise ValueError(f"{quoted(name)} appears twice; remove one")
            found[name] = text
    if not found:
        raise ValueError("there are no names; add at least one")
    return found


class Cluster(BaseModel):
    """The contents of ``fleet.yaml``.

    Attributes:
        scheduler: of ReFrame; ``squeue`` is Slurm without accounting.
        nodes: names, and what differs there; ``gpu[01-16]`` is a set of names. A list of names is accepted.
        options: options of every job, such as the partition.
        node_option: how a job asks for a node, with ``{node}`` for its name; the scheduler's usual option if empty.
        prepare: shell commands before the measurement, such as ``module load``.
        command: the command ``gpureport`` on the nodes.
        devices: names or indices as of ``gpureport devices``; empty: all GPUs and accelerators, else the CPU.
        parallel: whether a node's devices are measured at the same time, which changes launch costs.
        quick: whether runs have fewer workloads and points.
        workloads: families or family/variant to measure; empty: all, or those of a quick run.
        time_limit_minutes: of a job; longer ones are cancelled.
        pending_limit_minutes: how long a job may wait for its node.
        retries: how often a node is measured again after a failure.
        jobs: largest number of jobs at a time with the local scheduler; others limit them themselves, except to 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scheduler: Scheduler
    nodes: dict[Text, NodeSettings]
    options: tuple[Text, ...] = ()
    node_option: Annotated[str, Field(max_length=1000)] = ""
    prepare: tuple[Text, ...] = ()
    command: Text = "gpureport"
    devices: tuple[Text, ...] = ()
    parallel: bool = False
    quick: bool = True
    workloads: tuple[Text, ...] = ()
    time_limit_minutes: Annotated[int, Field(ge=1, le=10_000)] = 30
    pending_limit_minutes: Annotated[int, Field(ge=1, le=100_000)] = 60
    retries: Annotated[int, Field(ge=0, le=10)] = 1
    jobs: Annotated[int, Field(ge=1, le=10_000)] = 64

    @field_validator("nodes", mode="before")
    @classmethod
    def _with_settings(cls, nodes: object) -> object:
        """Give the nodes of a list settings; refuse invalid sets and names, and names that appear twice."""
        if not isinstance(nodes, list | tuple | dict) or not all(isinstance(name, str) for name in nodes):
            raise ValueError(
                "must be a list of names, like [gpu01, gpu02], or a mapping of names to what differs there"
            )
        expanded(nodes)
        return nodes if isinstance(nodes, dict) else {name: {} for name in nodes}

    @field_validator("workloads")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        from gpureport.workloads import select

        try:
            select(names)
        except InputError as error:
            raise ValueError(str(error)) from None
        return names

    @field_validator("node_option")
    @classmethod
    def _with_node(cls, option: str) -> str:
        """Refuse options without a placeholder for the name of the node, or with other ones."""
        try:
            fields = {part[1:] for part in Formatter().parse(option) if part[1] is not None}
        except ValueError:
            fields = set()
        if option and fields != {("node", "", None)}:
            raise ValueError(f"{quoted(option)} needs {{node}} for the name and no other braces; write --host={{node}}")
        return option

    def named(self) -> dict[str, NodeSettings]:
        """Return the nodes by name, sets of names expanded."""
        return {name: self.nodes[text] for name, text in expanded(self.nodes).items()}

    def access(self, node: str, settings: NodeSettings) -> list[str]:
        """Return the options of the jobs of a *node*."""
        option = self.node_option or _NODE_OPTIONS.get(self.scheduler, "")
        defaults = _SSH if self.scheduler == "ssh" else ()  # of repeated options, ssh takes the first
        return [*self.options, *([option.format(node=node)] if option else []), *settings.options, *defaults]

    @property
    def executable(self) -> str:
        """Command of a node before its arguments; over SSH, where ReFrame has no time limit, it has one of its own."""
        return f"timeout -v {self.time_limit_minutes}m {self.command}" if self.scheduler == "ssh" else self.command

    def arguments(self, folder: str) -> list[str]:
        """Return the arguments of ``gpureport`` on a node, which writes to *folder*, quoted for a shell."""
        devices = [part for device in self.devices for part in ("--device", device)]
        flags = [name for name, given in (("--quick", self.quick), ("--parallel", self.parallel)) if given]
        workloads = [part for name in self.workloads for part in ("--workload", name)]
        return list(map(shlex.quote, ["fleet", "node", "--output", folder, *devices, *flags, *workloads]))


def read_cluster(path: Path) -> Cluster:
    """Read ``fleet.yaml``, or that of a folder.

    Raises:
        InputError: it is missing or has an error.
    """
    file = path / FILE_NAME if path.is_dir() else path
    if not file.exists():
        folder = path.parent if path.suffix else path
        raise InputError(f"{file}: there is no such file; `gpureport fleet init {folder}` writes one")
    return read_file(file, Cluster).get()


def cluster_of_run() -> Cluster:
    """Return the cluster that the environment of ReFrame names."""
    return read_cluster(Path(os.environ[FILE_VARIABLE]))


def partition_name(node: str, number: int) -> str:
    """Return the name of the ReFrame partition for the *number*-th *node*: its name, if ReFrame permits it."""
    if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]*", node):
        return node
    return f"n{number}-" + re.sub(r"[^a-zA-Z0-9_-]", "_", node)
