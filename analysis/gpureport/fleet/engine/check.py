"""The check that measures the devices of a node."""

from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function

from gpureport.fleet.cluster_file import OUTPUT, cluster_of_run
from gpureport.fleet.runs import COMPLETE

_CLUSTER = cluster_of_run()


@rfm.simple_test
class Devices(rfm.RunOnlyRegressionTest):  # type: ignore[misc] # without types
    """Measures the devices of a node."""

    descr = "devices of a node"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = _CLUSTER.executable
    executable_opts = _CLUSTER.arguments(OUTPUT)
    time_limit = f"{_CLUSTER.time_limit_minutes}m"
    max_pending_time = f"{_CLUSTER.pending_limit_minutes}m"
    local = _CLUSTER.scheduler == "local"  # so that the limit of local jobs applies

    @sanity_function  # type: ignore[untyped-decorator] # without types
    def measured(self) -> Any:
        """Whether the node reported that all devices were measured."""
        return sn.assert_found(COMPLETE, self.stdout, msg="not all devices were measured")
