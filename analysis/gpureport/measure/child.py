"""A process of its own for whatever a driver does: should it hang or crash, only this process ends.

The other end is :mod:`~.driver_process`. Requests are names with arguments; messages that come back are tuples, of
which the first element says what they are: see :data:`Message`.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from threading import Thread

from gpureport.errors import DeviceError, GpuReportError
from gpureport.files import scratch_folder
from gpureport.measure.backends.runtimes import Runtime
from gpureport.memory import limit_remark

Message = tuple[str, object]
"""``progress`` with a label and a share, ``item`` with one of several results, ``answer`` with the last one, or
``refusal`` with an error: after the last two the process waits for the next request."""

_LONGEST_REASON = 300
_POLL_S = 0.2
_LEAST_WAIT_S = 1.0  # of one that may have been suspended since it was asked
_KEPT_BYTES = 65536
_END_S = 1.0


class EndedError(DeviceError):
    """The process ended, or was ended, before it answered.

    Attributes:
        hung: whether it was ended, because it sent nothing for too long.
    """

    def __init__(self, message: str, *, hung: bool) -> None:
        super().__init__(message)
        self.hung = hung


class Child:
    """The process of one runtime."""

    def __init__(self, runtime: Runtime) -> None:
        """Start it; it loads no other runtime. Its temporary files are in a folder that ends with it.

        Raises:
            DeviceError: the system starts no process.
        """
        with ExitStack() as failed:
            try:
                self._start(runtime, failed)
            except OSError as error:
                raise DeviceError(f"no process can be started for the OpenCL runtime ({error.strerror})") from error
            self._resources = failed.pop_all()
        self._sending = Thread()
        self._printed = b""
        self._since_s = time.monotonic()

    def _start(self, runtime: Runtime, failed: ExitStack) -> None:
        scratch = failed.enter_context(scratch_folder())  # a process that is killed removes no files of its own
        ours, theirs = socket.socketpair()
        self._socket = failed.enter_context(ours)
        self._connection = failed.enter_context(Connection(os.dup(ours.fileno())))
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-P", "-m", "gpureport.measure.driver_process", str(theirs.fileno())],
                env={**os.environ, **runtime.environment(), "TMPDIR": str(scratch)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        self._output = self._process.stdout
        os.set_blocking(self._output.fileno(), False)

    @property
    def ended(self) -> bool:
        """Whether it was found to have ended."""
        return self._connection.closed

    def send(self, name: str, *arguments: object) -> None:
        """Ask for something; whether the process is still there and reads it, :meth:`receive` finds out."""
        self._since_s = time.monotonic()
        request = ForkingPickler.dumps((name, arguments))
        self._sending = Thread(target=self._deliver, args=(request,), daemon=True)  # it may wait for the process
        self._sending.start()

    def _deliver(self, request: memoryview) -> None:
        with suppress(OSError):
            self._connection.send_bytes(request)

    def answer(self, limit_s: float, hear: Callable[[Message], None] | None = None) -> object:
        """Return the answer to what was asked for first; *hear* is told of all messages before it.

        Raises:
            EndedError: the process ended, or sent nothing for *limit_s* seconds.
            DeviceError: it was refused.
        """
        while True:
            kind, value = message = self.receive(limit_s)
            if kind == "answer":
                return value
            if isinstance(value, GpuReportError):
                raise value
            if hear is not None:
                hear(message)

    def receive(self, limit_s: float) -> Message:
        """Return the next message.

        Time in which this process was suspended while it waited does not count.

        Raises:
            EndedError: the process ended, or has been ended, since it sent nothing for *limit_s* seconds after it was
                asked, or after its last message.
        """
        if self.ended:
            raise EndedError("its driver has ended", hung=False)
        left_s = max(limit_s - (time.monotonic() - self._since_s), min(_LEAST_WAIT_S, limit_s))
        while not self._connection.poll():
            if left_s <= 0:
                self.end()
                raise EndedError(f"its driver did not answer within {limit_s:g} s", hung=True)
            began = time.monotonic()
            self._wait(min(left_s, _POLL_S))  # short, so that an interrupt ends it
            left_s -= min(time.monotonic() - began, 2 * _POLL_S)
        try:
            message: Message = self._connection.recv()
        except Exception as error:  # half a message may be any kind of error
            raise EndedError(self._ending(), hung=False) from error
        except BaseException:  # interrupted within a message: the rest would be taken for the next
            self.end()
            raise
        self._since_s = time.monotonic()
        return message

    def arrived(self) -> Iterator[Message]:
        """Yield the messages that have arrived, without waiting for more."""
        with suppress(EndedError):
            while not self.ended and self._connection.poll():
                yield self.receive(0.0)

    def _wait(self, seconds: float) -> None:
        """Wait for a message or output; keep the last of the output."""
        messages, output = self._connection.fileno(), self._output.fileno()
        ready, _, _ = select.select([messages, output], [], [], seconds)
        if output in ready and not self._read_output():
            select.select([messages], [], [], seconds)  # a closed pipe is always ready

    def _read_output(self) -> bool:
        """Read what was printed; ``False`` at its end."""
        with suppress(BlockingIOError):
            while part := os.read(self._output.fileno(), _KEPT_BYTES):
                self._printed = (self._printed + part)[-_KEPT_BYTES:]
            return False
        return True

    def _ending(self) -> str:
        """Say how the process ended, and the last line that it printed."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._read_output()
        code = self._process.poll()
        self.end()
        last = self._printed.decode(errors="replace").strip().rpartition("\n")[2]
        return f"its driver {_how(code)}" + (f": {last[:_LONGEST_REASON]}" if last else "") + limit_remark()

    def end(self) -> None:
        """End the process, and those that it started; what even the system cannot end is left alone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        with suppress(OSError):  # it has been ended before
            self._socket.shutdown(socket.SHUT_RDWR)
        if self._sending.is_alive():
            self._sending.join()
        self._output.close()
        self._resources.close()


def _how(code: int | None) -> str:
    if code is None:
        return "closed its connection"
    if code >= 0:
        return f"ended the process with exit code {code}"
    with suppress(ValueError):
        return f"crashed ({signal.Signals(-code).name})"
    return f"crashed (signal {-code})"
