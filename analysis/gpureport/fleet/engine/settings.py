"""ReFrame's settings: a partition for each node, so that each gets one job."""

import json
import os
from typing import Any

from gpureport.fleet.cluster_file import NODES_VARIABLE, NodeSettings, cluster_of_run, partition_name

_CLUSTER = cluster_of_run()
_NODES = json.loads(os.environ[NODES_VARIABLE])


def _partition(number: int, node: str, settings: NodeSettings) -> dict[str, Any]:
    return {
        "name": partition_name(node, number),
        "descr": node,
        "scheduler": _CLUSTER.scheduler,
        "launcher": "local",
        "access": _CLUSTER.access(node, settings),
        "sched_options": {"ssh_hosts": [node]} if _CLUSTER.scheduler == "ssh" else {},
        "environs": ["default"],
        "env_vars": settings.variables,
        "prepare_cmds": list(_CLUSTER.prepare),
        "max_jobs": 1,
    }


site_configuration = {
    "systems": [
        {
            "name": "fleet",
            "hostnames": [".*"],
            "max_local_jobs": _CLUSTER.jobs,
            "partitions": [_partition(number, node, _CLUSTER.named()[node]) for number, node in enumerate(_NODES)],
        }
    ],
    "environments": [{"name": "default"}],
    "storage": [{"enable": False}],
    "logging": [
        {
            "level": "debug",
            "handlers": [
                {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"},
                {"type": "file", "name": "reframe.log", "level": "debug", "append": False},
            ],
        }
    ],
}
