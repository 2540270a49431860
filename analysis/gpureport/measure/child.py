"""A separate process for all calls of a driver: if the driver hangs or crashes, only this process ends.

The other end is :mod:`~.driver_process`. A request is the name of a method with its arguments; the replies are
:data:`Message` tuples.
"""

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from threading import Thread
from typing import TYPE_CHECKING, Any

from gpureport.errors import DeviceError, limit_remark
from gpureport.files import scratch_folder
from gpureport.isolation import reason, signal_name
from gpureport.measure.backends.runtimes import Runtime, installed_runtimes

if TYPE_CHECKING:
    from gpureport.measure.rounds import Progress

Message = tuple[str, Any]
"""``progress`` with a label and a share, ``item`` with one of several results, ``answer`` with the last result, or
``refusal`` with an error. After the last two the process waits for the next request."""

_POLL_S = 0.2
_LEAST_WAIT_S = 1.0  # for a process that may have been suspended since the request
_OUTPUT_BYTES = 65536
_END_S = 1.0
_children: dict[Runtime, "Child | None"] = {}


class EndedError(DeviceError):
    """The process ended, or was ended, before it answered.

    Attributes:
        hung: whether it was ended because it sent nothing for too long.
    """

    def __init__(self, message: str, *, hung: bool) -> None:
        super().__init__(message)
        self.hung = hung


class Child:
    """The process of one runtime.

    Attributes:
        doing: what it does, by its last progress message since the last request.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Start the process, which loads no other runtime. Its folder of temporary files is removed when it ends.

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
        self.doing = ""

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
        """Whether the process is known to have ended."""
        return self._connection.closed

    def send(self, name: str, *arguments: object) -> None:
        """Send a request. If the process has ended or does not read it, :meth:`answer` raises the error."""
        self._since_s, self.doing = time.monotonic(), ""
        request = ForkingPickler.dumps((name, arguments))

        def deliver() -> None:
            with suppress(OSError):
                self._connection.send_bytes(request)

        self._sending = Thread(target=deliver, daemon=True)  # it may wait for the process
        self._sending.start()

    def answer(self, limit_s: float, progress: "Progress | None" = None, items: list[Any] | None = None) -> Any:  # noqa: ANN401 - by request
        """Return the answer to the oldest open request; *progress* and *items* receive what arrives before it.

        Raises:
            EndedError: the process ended, or was ended because it sent nothing for *limit_s* seconds: after the
                request, after its last message or within a message.
            DeviceError: the request was refused.
        """
        while True:
            kind, value = self._receive(limit_s)
            if kind == "answer":
                return value
            if kind == "refusal":
                raise value
            if kind == "item" and items is not None:
                items.append(value)
            if kind == "progress":
                self.doing = value[0]
                if progress is not None:
                    progress.advance(*value)

    def arrived(self) -> Iterator[Any]:
        """Yield the items that have arrived, without waiting for more."""
        with suppress(EndedError):
            while not self.ended and self._connection.poll():
                kind, value = self._receive(0.0)
                if kind == "item":
                    yield value

    def _receive(self, limit_s: float) -> Message:
        """Return the next message. Time in which this process was suspended while it waited does not count."""
        if self.ended:
            raise EndedError("its driver process has ended", hung=False)
        left_s = max(limit_s - (time.monotonic() - self._since_s), min(_LEAST_WAIT_S, limit_s))
        while not self._connection.poll():
            if left_s <= 0:
                raise self._hung(limit_s)
            began = time.monotonic()
            self._wait(min(left_s, _POLL_S))  # short, so that an interrupt ends it
            left_s -= min(time.monotonic() - began, 2 * _POLL_S)
        self._limit_reading(max(limit_s, _LEAST_WAIT_S))
        try:
            message: Message = self._connection.recv()
        except BlockingIOError:
            raise self._hung(limit_s) from None
        except Exception as error:  # half a message may be any kind of error
            raise EndedError(self._ending(), hung=False) from error
        except BaseException:  # interrupted within a message: the rest would be taken for the next
            self.end()
            raise
        self._since_s = time.monotonic()
        return message

    def _hung(self, limit_s: float) -> EndedError:
        self.end()
        return EndedError(f"its driver did not answer within {limit_s:g} s", hung=True)

    def _limit_reading(self, seconds: float) -> None:
        """Let a read fail with BlockingIOError if nothing arrives for *seconds*, e.g. the rest of a message."""
        whole, part = divmod(seconds, 1.0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(whole), int(1e6 * part)))

    def _wait(self, seconds: float) -> None:
        messages, output = self._connection.fileno(), self._output.fileno()
        ready, _, _ = select.select([messages, output], [], [], seconds)
        if output in ready and not self._read_output():
            select.select([messages], [], [], seconds)  # a closed pipe is always ready

    def _read_output(self) -> bool:
        with suppress(BlockingIOError):
            while part := os.read(self._output.fileno(), _OUTPUT_BYTES):
                self._printed = (self._printed + part)[-_OUTPUT_BYTES:]
            return False
        return True

    def _ending(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._read_output()
        code = self._process.poll()
        self.end()
        return f"its driver {_how(code)}{reason(self._printed)}{limit_remark()}"

    def end(self) -> None:
        """End the process and those that it started; a process that cannot be killed is left behind."""
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
    return f"ended the process with exit code {code}" if code >= 0 else f"crashed ({signal_name(-code)})"


@contextmanager
def drivers() -> Iterator[dict[Runtime, Child | None]]:
    """Start a process for each installed runtime without a problem, which lists its devices; end them afterwards.

    A context within another gets its processes, and ends them: they load drivers while modules are imported.
    """
    try:
        if not _children:
            _children.update((runtime, _listing(runtime)) for runtime in installed_runtimes())
        yield _children
    finally:
        for child in filter(None, _children.values()):
            child.end()
        _children.clear()


def _listing(runtime: Runtime) -> Child | None:
    if runtime.problem:
        return None
    child = Child(runtime)
    child.send("devices")
    return child
