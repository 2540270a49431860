"""Kernels of users, executed on the host: their results, and what their accesses show of a device."""

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpureport.inputs import read_text
from gpureport.kernel_files.formulas import Formulas
from gpureport.spec.models import Device
from gpureport.trace.compiler import compile_file
from gpureport.trace.demand import dispatch_demand, emitted_as, placed
from gpureport.trace.execution import execute
from gpureport.trace.ir import Module
from gpureport.trace.program import Program, program
from gpureport.workloads.model import Demand, Job, Local, Parameters

_MOST_FILLED = 256 << 20


def program_of(
    path: Path, options: str, kernel: str, *, restrict: bool = False, unrolled: int = 4, joins: bool = False
) -> Program:
    """Return a kernel of a file, with options and errors of :func:`.compile_file` and :func:`.program`."""
    module = _module(path.absolute(), read_text(path), options, restrict)
    return program(module, kernel, unrolled, joins=joins)


def kernels_of(path: Path, options: str) -> tuple[str, ...]:
    """Return the names of the kernels of a file, with options and errors of :func:`.compile_file`."""
    return tuple(_module(path.absolute(), read_text(path), options).kernels)


@cache
def _module(path: Path, text: str, options: str, restrict: bool = False) -> Module:  # noqa: ARG001 - a key
    return compile_file(path, options, restrict=restrict)


def host_arguments(
    formulas: Formulas,
    parameters: Parameters,
    computed: Collection[str] | None = None,
    rng: np.random.Generator | None = None,
) -> list[Any]:
    """Return the arguments of a kernel for the host; buffers without *computed* contents are zero.

    By default all are computed, because they may determine what a kernel does; of random floating-point numbers the
    first 256 MiB, after which they are zero.
    """
    found, rng = list[Any](), rng or np.random.default_rng(0)
    for argument in formulas.arguments:
        if argument.kind == "buffer":
            count = formulas.count(argument, parameters) * argument.lanes
            own = argument.values != "zeros" or argument.name in formulas.arrays
            array = np.zeros(count, argument.dtype)  # pages that no work-item touches take no memory
            if argument.name in computed if computed is not None else own:
                large = argument.values == "random" and argument.dtype.kind == "f"
                filled = array[: _MOST_FILLED // array.itemsize] if large else array
                contents = formulas.contents(argument, parameters, rng)
                for start in range(0, filled.size, contents.size):
                    filled[start : start + contents.size] = contents[: filled.size - start]
            found.append(array)
        else:
            value = formulas.value(argument, parameters, {})
            found.append(value.nbytes if isinstance(value, Local) else value)
    return found


def executed_results(source: Path, options: str, job: Job) -> dict[str, NDArray[np.generic]]:
    """Return the contents of all buffers after the dispatches of *job*, all of whose work-groups are executed."""
    buffers = {name: each.filled().copy() for name, each in job.buffers.items()}
    for each in job.dispatches:
        execute(program_of(source, options, each.kernel), each.on_host(buffers), each, range(prod(each.groups)))
    return buffers


def demand_of(
    formulas: Formulas, source: Path, parameters: Parameters, device: Device, *, restrict: bool = False
) -> Demand:
    """Return the demand of a dispatch on a device, from the execution of some of its work-groups.

    A run asks several times for each point: *formulas* keep demands, also by the classes of instructions, because
    calibrated rates may change what compilers emit.
    """
    options, architecture = formulas.build_options(parameters), device.architecture
    unrolled, joins = architecture.unrolled_iterations, not architecture.groups_as_loops
    kernel = program_of(source, options, formulas.fields.kernel, restrict=restrict, unrolled=unrolled, joins=joins)
    shape = formulas.dispatch(parameters, {})
    placement = placed(device, kernel, shape, formulas.local_memory_bytes(parameters) + kernel.local_bytes)
    listed = architecture.rates_per_cycle, architecture.latency_cycles
    classes = [(*each, *emitted_as(architecture, each).values()) for each in listed]
    key = (kernel, placement, *classes, *parameters.items())
    if key not in formulas.demands:
        arguments = host_arguments(formulas, parameters)
        formulas.demands[key] = replace(
            dispatch_demand(kernel, arguments, shape, device, placement),
            ping_pong=formulas.fields.swap is not None,
            idle_items=prod(shape.global_size) - prod(formulas.wanted(parameters)),
        )
    return formulas.demands[key]
