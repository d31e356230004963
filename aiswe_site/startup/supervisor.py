"""The parent: owns the listening socket, starts the one child, starts it again when it dies, stops it when asked.

The socket stays open in the parent while a child is replaced: a page that asks in that moment waits instead of being
refused. The child learns that the parent is gone by the end of a pipe, so a killed parent leaves no child behind.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO

from aiswe_site.startup.home import REPOSITORY, Home

CANNOT_START = 78  # the child's exit code for "starting again would not help" (EX_CONFIG)
STOP_GRACE_S = 20.0  # a step in flight may end within this; what does not is taken up again at the next start
CALM_S = 60.0  # a child that lived this long starts with a clean slate
MAX_RESTARTS = 30  # of children that did serve: somebody or something ends them, and the work in between is kept
LONGEST_PAUSE_S = 5.0
MAX_FIRST_STARTS = 3  # a child that never served will hardly do so at the ninth try


class PortBusy(Exception):
    """Something else listens there; the text says where."""

    hint = "Choose another with --port, or --port 0 for a free one."


class StartFailed(Exception):
    """The child could not be started, or died too often; the text says what to do."""

    def __init__(self, message: str, home: Home) -> None:
        super().__init__(message)
        self.hint = f"Logs are in {home.logs}."


def backoff(restarts: int) -> float:
    """Seconds to wait before the n-th restart in a row: 0.2, 0.3, … at most LONGEST_PAUSE_S."""
    return float(min(0.2 * 1.5 ** max(restarts - 1, 0), LONGEST_PAUSE_S))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises PortBusy with the way out."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(256)
    except OSError as error:
        listener.close()
        raise PortBusy(f"Cannot listen on {host}:{port} ({error.strerror or error}).") from None
    return listener


def address_of(listener: socket.socket) -> str:
    """The address to open in a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


@dataclass
class Supervisor:
    """Runs one child until told to stop.

    `on_ready(first)` is called from the main thread each time a child serves; `say` prints a line for people.
    """

    home: Home
    listener: socket.socket
    say: Callable[[str], None]
    on_ready: Callable[[bool], None] = lambda first: None
    environment: Mapping[str, str] = field(default_factory=dict)
    log: IO[bytes] | None = None  # where the child's stderr goes; None: ours

    def __post_init__(self) -> None:
        # SimpleQueue.put is safe inside a signal handler.
        self._events: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        self._child: subprocess.Popen[bytes] | None = None
        self._lifeline = -1  # our end of the pipe to the child
        self.restarts = 0

    def stop(self) -> None:
        """Ask it to end; may be called from a signal handler or another thread."""
        self._events.put(("stop", 0))

    def wake(self) -> None:
        """Tell the child that another process left work in the database; may be called from a signal handler."""
        self._events.put(("wake", 0))

    def run(self) -> int:
        """Serve until stopped; returns the exit code. Raises StartFailed when the child cannot live."""
        with self._signals(), self._pid_files():
            try:
                return self._supervise()
            finally:
                self._end_child()

    def _supervise(self) -> int:
        in_a_row, first, born = 0, True, self._start_child()
        while True:
            event, value = self._events.get()
            if event == "stop":
                return 0
            if event == "ready":
                self.on_ready(first)
                first = False
                continue
            if event == "wake":
                with contextlib.suppress(OSError):  # a child that just died looks for work anyway when it is back
                    os.write(self._lifeline, b"w")
                continue
            if value == CANNOT_START:
                raise StartFailed("The server could not start; see the lines above.", self.home)
            in_a_row = 1 if time.monotonic() - born > CALM_S else in_a_row + 1
            if in_a_row > (MAX_FIRST_STARTS if first else MAX_RESTARTS):
                words = f"The worker died {in_a_row} times in a row; `aiswe doctor` may show why."
                raise StartFailed(words, self.home)
            pause = backoff(in_a_row)
            self.say(f"The worker {how(value)}; starting it again in {pause:.1f} s. Nothing is lost.")
            if self._stopped_within(pause):
                return 0
            self.restarts += 1
            born = self._start_child()

    def _stopped_within(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                if self._events.get(timeout=left)[0] == "stop":
                    return True
        return False

    def _start_child(self) -> float:
        life_read, life_write = os.pipe()
        ready_read, ready_write = os.pipe()
        os.set_inheritable(self.listener.fileno(), True)
        ends = {"--listen-fd": self.listener.fileno(), "--life-fd": life_read, "--ready-fd": ready_write}
        argv = [sys.executable, "-m", "aiswe_site.startup.child", *(f"{name}={fd}" for name, fd in ends.items())]
        path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
        self._child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=self.log or sys.stderr,
            stderr=self.log or sys.stderr,
            env={**os.environ, "AISWE_HOME": str(self.home.path), "PYTHONPATH": path, **self.environment},
            pass_fds=[*ends.values()],
            process_group=0,  # Ctrl-C in the terminal reaches the parent alone, which then stops the child in order
        )
        os.close(life_read)
        os.close(ready_write)
        self._drop_lifeline()
        self._lifeline = life_write
        self.home.worker_pid_file.write_text(f"{self._child.pid}\n")
        threading.Thread(target=self._watch, args=(self._child, ready_read), daemon=True).start()
        return time.monotonic()

    def _watch(self, child: subprocess.Popen[bytes], ready_read: int) -> None:
        with os.fdopen(ready_read, "rb") as pipe:
            if pipe.read(1):
                self._events.put(("ready", child.pid))
        self._events.put(("exited", child.wait()))

    def _end_child(self) -> None:
        child = self._child
        if child is None:
            return
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(STOP_GRACE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self._drop_lifeline()

    def _drop_lifeline(self) -> None:
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wishes = {signal.SIGINT: self.stop, signal.SIGTERM: self.stop, signal.SIGUSR1: self.wake}
        old = {number: signal.signal(number, lambda *_, do=do: do()) for number, do in wishes.items()}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def _pid_files(self) -> Iterator[None]:
        self.home.supervisor_pid_file.write_text(f"{os.getpid()}\n")
        self.home.address_file.write_text(address_of(self.listener))
        try:
            yield
        finally:
            for path in (self.home.supervisor_pid_file, self.home.worker_pid_file, self.home.address_file):
                path.unlink(missing_ok=True)


def how(code: int) -> str:
    """An exit code in words."""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
