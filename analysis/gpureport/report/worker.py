"""Processes that do the tasks of :mod:`gpureport.report.processes`: ``worker DESCRIPTORS MODULES``."""

import os
import sys
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection

from gpureport.errors import collect_rarely


def main() -> None:
    """Import modules, and serve each socket in a process of its own, until the other end closes it."""
    descriptors = [*map(int, sys.argv[1].split(","))]
    collect_rarely()
    for name in sys.argv[2:]:
        import_module(name)
    own = next((descriptor for descriptor in descriptors[1:] if os.fork() == 0), descriptors[0])
    for other in {*descriptors} - {own}:
        os.close(other)  # so that the end of its process closes it
    with suppress(EOFError, OSError):
        serve(Connection(own))


def serve(connection: Connection) -> None:
    """Answer each function and argument with an error and a result.

    Raises:
        EOFError: the other end is closed.
    """
    while True:
        function, argument = connection.recv()
        try:
            connection.send((None, function(argument)))
        except Exception as error:  # noqa: BLE001 - the other process raises it
            connection.send((error, None))


if __name__ == "__main__":
    main()
