"""The site that ReFrame's settings and check belong to, given by environment variables."""

import os
import re
from pathlib import Path

from gpureport.fleet.site_file import NodeSettings, Site, read_site

FILE_VARIABLE = "GPUREPORT_FLEET_FILE"
NODES_VARIABLE = "GPUREPORT_FLEET_NODES"
OUTPUT = "measured"
"""Folder of a job's reports."""


def site_of_run() -> Site:
    """Return the site."""
    return read_site(Path(os.environ[FILE_VARIABLE]))


def nodes_of_run() -> dict[str, NodeSettings]:
    """Return the nodes to measure."""
    every, chosen = site_of_run().named(), os.environ.get(NODES_VARIABLE, "")
    return {name: every[name] for name in chosen.split(",")} if chosen else every


def partition_name(node: str, number: int) -> str:
    """Return the name of the ReFrame partition for the *number*-th *node*: its name, if ReFrame permits it."""
    if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]*", node):
        return node
    return f"n{number}-" + re.sub(r"[^a-zA-Z0-9_-]", "_", node)
