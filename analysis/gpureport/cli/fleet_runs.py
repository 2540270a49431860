"""``gpureport fleet init``, ``run`` and ``node``: runs on all nodes of a site."""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpureport.cli.console import note, print_line
from gpureport.cli.options import slug, writing
from gpureport.cli.tables import print_table
from gpureport.errors import GpuReportError, InputError
from gpureport.files import write_file


def write_site(folder: Path, force: bool) -> int:
    """Write a site file to fill in."""
    from gpureport.fleet.site_file import FILE_NAME, TEMPLATE

    file = folder / FILE_NAME
    with writing([file], force=force, option=""):
        write_file(file, TEMPLATE)
    print_line(f"Written: {file}")
    print_line(f"Fill in the nodes, then run `gpureport fleet run {shlex.quote(str(folder))}`.")
    return 0


def run_fleet(path: Path, chosen: Sequence[str], store: Path | None, output: Path | None) -> int:
    """Measure the nodes of a site and add the runs to the store, if one is given; return 1 if a node failed."""
    from gpureport.cli.fleet import add_runs
    from gpureport.fleet.runs import require_reframe, run_nodes
    from gpureport.fleet.site_file import FILE_NAME, read_site
    from gpureport.fleet.store import configured

    require_reframe()
    file = path / FILE_NAME if path.is_dir() else path
    site = read_site(file)
    every = list(site.named())
    unknown = [name for name in chosen if name not in every]
    if unknown:
        raise InputError(f"--node: {file} has no node {unknown[0]!r}; it has {', '.join(every[:10])}")
    nodes = list(chosen) or every
    folder = output or file.parent / "runs" / datetime.now(UTC).strftime("%Y-%m-%dT%H%M%S")
    if folder.exists():
        raise InputError(f"{folder}: exists; choose another folder with -o")
    if store and store.exists() and not store.is_dir():
        raise InputError(f"--store: {store} is a file; write the folder of the store")
    note(f"Measuring {len(nodes)} nodes with ReFrame; reports, logs and job scripts are kept in {folder}.")
    runs = run_nodes(site, file, nodes, folder)
    rows = [
        (run.node, f"failed: {run.reason}" if run.reason else "measured", str(run.devices), str(run.attempts))
        for run in runs
    ]
    print_table("Nodes", ("node", "result", "reports", "jobs"), rows, right=(2, 3))
    found = [f"{run.node}={run.folder}" for run in runs if run.devices]
    left_out = 0
    if found and (store or configured()):
        try:
            left_out = add_runs(found, store, None)
        except GpuReportError as error:  # the nodes to repeat are still named
            left_out = 1
            note(f"No run was added to the store: {error}")
    elif found:
        add = f"gpureport fleet add --store DIR {shlex.quote(str(folder))}"
        note(f"The runs were not added to a store; to add them: {add}")
    failed = [run.node for run in runs if run.reason]
    if failed:
        again = " ".join(f"--node {shlex.quote(name)}" for name in failed[:5])
        print_line(f"{len(failed)} of {len(runs)} nodes failed. To repeat: gpureport fleet run {path} {again}")
    return 1 if failed or left_out else 0


def measure_node(output: Path, names: Sequence[str], workloads: Sequence[str], *, quick: bool, parallel: bool) -> int:
    """Measure the devices of this node; return 1 if one failed."""
    from gpureport.fleet.node import COMPLETE, FAILED, devices_to_measure, measure_devices
    from gpureport.measure.presence import find_devices
    from gpureport.measure.selection import choose

    present = find_devices().devices
    chosen = [choose(present, name) for name in names] if names else devices_to_measure(present)
    folders = [(device, output / f"{device.index}-{slug(device.name)}") for device in chosen]
    settings = [*(("--quick",) if quick else ()), *(part for name in workloads for part in ("--workload", name))]
    failed = 0
    for run in measure_devices(folders, settings, parallel=parallel):
        if run.exit_code:
            failed += 1
            print_line(f"{FAILED}{run.device.name}: exit code {run.exit_code}: {run.last_line}")
        else:
            print_line(f"measured: {run.device.name}: {run.folder}")
    if not failed:
        print_line(f"{len(folders)} of {len(folders)}: {COMPLETE}")
    return 1 if failed else 0
