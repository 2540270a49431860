"""ReFrame's settings: a partition for each node, so that each gets one job."""

from typing import Any

from gpureport.fleet.engine.site_of_run import nodes_of_run, partition_name, site_of_run
from gpureport.fleet.site_file import NodeSettings

_SITE = site_of_run()


def _partition(number: int, node: str, settings: NodeSettings) -> dict[str, Any]:
    return {
        "name": partition_name(node, number),
        "descr": node,
        "scheduler": _SITE.scheduler,
        "launcher": "local",
        "access": _SITE.access(node, settings),
        "sched_options": {"ssh_hosts": [node]} if _SITE.scheduler == "ssh" else {},
        "environs": ["default"],
        "env_vars": settings.variables,
        "prepare_cmds": list(_SITE.prepare),
        "max_jobs": 1,
    }


site_configuration = {
    "systems": [
        {
            "name": "fleet",
            "hostnames": [".*"],
            "max_local_jobs": _SITE.jobs,
            "partitions": [
                _partition(number, node, settings) for number, (node, settings) in enumerate(nodes_of_run().items())
            ],
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
