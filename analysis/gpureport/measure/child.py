"""A separate process for all calls of a driver: if the driver hangs or crashes, only this process ends.

The other end is :mod:`~.driver_process`. A request is the name of a method with its arguments; the replies are
:data:`Message` tuples. Both are pickled.
"""

import atexit
import os
import pickle
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

from gpureport.errors import DeviceError, limit_remark
from gpureport.files import scratch_folder
from gpureport.isolation import ending, process_of, skip_output
from gpureport.measure import Progress
from gpureport.measure.backends.runtimes import Runtime, installed_runtimes
from gpureport.system import kill

Message = tuple[str, Any]
"""``progress`` with what ``Progress`` receives, ``item`` with one of several results, ``answer`` with the last result,
or ``refusal`` with an error. After the last two the process waits for the next request. ``end``: it has ended."""

_POLL_S = 0.2
_LEAST_WAIT_S = 1.0  # for a process that may have been suspended since the request
_OUTPUT_BYTES = 65536
_END_S = 1.0
_children: dict[Runtime, "Child | None"] = {}


class EndedError(DeviceError):
    """The process ended, or was ended, before it answered."""


class Child:
    """The process of one runtime.

    Attributes:
        doing: what it does, by its last progress message since the last request.
        folder: its temporary files.
        builders: processes that build programs for it in its folder, and end with it.
        ended: whether the process is known to have ended.
    """

    doing = ""
    ended = False
    _printed = b""

    def __init__(self, runtime: Runtime, store: Path | None = None) -> None:
        """Start the process, which loads no other runtime. Its folder of temporary files is removed when it ends.

        NVIDIA's driver stores programs in the folder *store*, or else in that one.

        Raises:
            DeviceError: the system starts no process.
        """
        self._requests, self._messages = SimpleQueue[bytes](), SimpleQueue[Message]()
        self.builders: list[Child] = []
        with ExitStack() as failed:
            self.folder = failed.enter_context(scratch_folder())  # of the process, which may be killed
            # Without a store, NVIDIA's driver takes two seconds to open a device.
            stored = {"CUDA_CACHE_PATH": str(store or self.folder), "CUDA_CACHE_DISABLE": "0"}
            own = {"TMPDIR": str(self.folder), **stored}
            try:
                environment = {**os.environ, **runtime.environment(), **own}
                self._process = process_of("gpureport.measure.driver_process", subprocess.PIPE, environment)
            except OSError as error:
                raise DeviceError(f"no process can be started for the OpenCL runtime ({error.strerror})") from error
            self._resources = failed.pop_all()
        atexit.register(self.end)  # an interrupt may leave it without an owner
        self._reading = Thread(target=self._keep, args=(self._process.stderr,), daemon=True)
        self._reading.start()
        Thread(target=self._exchange, args=(self._process.stdin, self._process.stdout), daemon=True).start()

    def _keep(self, output: IO[bytes]) -> None:
        with output:
            while part := os.read(output.fileno(), _OUTPUT_BYTES):
                self._printed = (self._printed + part)[-_OUTPUT_BYTES:]

    def send(self, name: str, *arguments: object) -> None:
        """Send a request; the last one was answered. If the process ends, :meth:`answer` raises the error."""
        self._since_s, self.doing = time.monotonic(), ""
        self._requests.put(pickle.dumps((name, arguments)))

    def close(self) -> None:
        """Let the process end when it has answered all requests."""
        self._requests.put(b"")

    def _exchange(self, requests: IO[bytes], replies: IO[bytes]) -> None:
        """Send each request, and receive all replies. This may wait for the process, and ends with it."""
        with suppress(OSError), requests, replies:
            try:
                skip_output(replies)
                while request := self._requests.get():
                    requests.write(request)
                    requests.flush()
                    kind = ""
                    while kind not in ("answer", "refusal"):
                        kind, value = pickle.load(replies)  # noqa: S301 - of our own process
                        self._since_s = time.monotonic()
                        self._messages.put((kind, value))
            except Exception:  # noqa: BLE001 - half a message may be any kind of error
                self._messages.put(("end", None))

    def answer(self, limit_s: float, progress: Progress | None = None, items: list[Any] | None = None) -> Any:  # noqa: ANN401 - by request
        """Return the answer to the open request; *progress* and *items* receive what arrives before it.

        Raises:
            EndedError: the process ended, or was ended because it sent no complete message for *limit_s* seconds:
                after the request, or after its last message.
            DeviceError: the request was refused.
        """
        while True:
            kind, value = self._receive(limit_s)
            if kind == "answer":
                return value
            if kind == "refusal":
                raise value
            if kind == "end":
                raise EndedError(self._ending())
            if kind == "item" and items is not None:
                items.append(value)
            if kind == "progress":
                self.doing = ": ".join(value[:2])
                if progress is not None:
                    progress(*value)

    def arrived(self) -> Iterator[Any]:
        """Yield the items that have arrived, without waiting for more."""
        with suppress(Empty):
            while True:
                kind, value = self._messages.get_nowait()
                if kind == "item":
                    yield value

    def _receive(self, limit_s: float) -> Message:
        if self.ended:
            raise EndedError("its driver process has ended")
        left_s = max(limit_s - (time.monotonic() - self._since_s), min(_LEAST_WAIT_S, limit_s))
        for _ in range(max(1, round(left_s / _POLL_S))):  # time in which this process is suspended does not count
            with suppress(Empty):
                return self._messages.get(timeout=_POLL_S)
        self.end()
        raise EndedError(f"its driver did not answer within {limit_s:g} s")

    def _ending(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._reading.join(_END_S)
        how = ending(self._process.poll(), self._printed)
        self.end()
        return f"its driver {how}{limit_remark()}"

    def kill(self) -> None:
        """Begin to end the process, as :meth:`end`; a driver takes up to a second to free its device."""
        self.ended = True
        for each in self.builders:
            each.kill()
        self.close()
        kill(self._process)

    def end(self) -> None:
        """End the process and those that it started; a process that cannot be killed is left behind."""
        self.kill()
        for each in self.builders:  # before the folder is removed
            each.end()
        with self._resources, suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        atexit.unregister(self.end)


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
        started = [child for child in _children.values() if child]
        for child in started:
            child.kill()
        for child in started:
            child.end()
        _children.clear()


def _listing(runtime: Runtime) -> Child | None:
    if runtime.problem:
        return None
    child = Child(runtime)
    child.send("devices")
    return child
