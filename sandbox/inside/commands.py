"""Runs commands inside a sandbox: one at a time, within limits, leaving nothing behind."""

from __future__ import annotations

import errno
import gc
import os
import resource
import select
import signal
import sys
import time

from sandbox.inside.files import ROOT
from sandbox.inside.pipe import Head, Kept, Wire
from sandbox.inside.processes import (
    PR_SET_DUMPABLE,
    CpuClock,
    collect,
    kill_everything,
    libc,
    oom_kills,
    resident_bytes,
)

HARD_OUTPUT_BYTES = 64 * 1024 * 1024
REPORT_FD = 1000  # where a script writes its report; out of the way of what tests open and close
REPORT_BYTES = 32 * 1024 * 1024
WALL_FACTOR = 20.0  # a limit in seconds is this much wall time on a machine that gives the command no CPU
BEAT_SECONDS = 2.0
WRITABLE = (ROOT, "/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own
RESERVED_BYTES = 4096 * 1024 * 1024
# What a run of pytest with coverage imports, its installed plugins included: 300 ms once instead of each time.
WARM_MODULES = (
    "pytest pytest_cov.plugin coverage coverage.jsonreport coverage.python sqlite3 hypothesis "
    "hypothesis.strategies _hypothesis_pytestplugin anyio.pytest_plugin anyio._backends._asyncio unittest.mock pdb "
    "queue xml.etree.ElementTree"
).split()


def files_in_use() -> int:
    """Files and folders in the fullest of the places that can be written."""
    found = [os.statvfs(place) for place in WRITABLE]
    return max(usage.f_files - usage.f_ffree for usage in found)


class Commands:
    """Runs one command at a time and leaves nothing of it behind."""

    def __init__(self, wire: Wire, hello: Head) -> None:
        self.wire, self.env, self.limits = wire, dict(hello["env"]), hello["limits"]
        self.address_space = int(hello.get("address_space_mb", 0)) * 1024 * 1024
        self.site: list[str] = list(hello.get("site", ()))
        self.inodes, self.files_before = int(self.limits["inodes"]), 0
        self.warm = False
        read, self.wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.woken = read
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # Process 1 only gets the signals it has a handler for, and Python brings one for this.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        megabyte = 1024 * 1024
        self.fixed = {
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_FSIZE: int(self.limits["file_mb"]) * megabyte,
            resource.RLIMIT_NOFILE: 1024,
        }
        # 0: a control group counts them. This limit counts all of a user's, wherever they run.
        if self.limits["processes"]:
            self.fixed[resource.RLIMIT_NPROC] = int(self.limits["processes"])

    def warm_up(self) -> None:
        """Import the test tools once, so that a test run is a fork away."""
        if not self.warm and self.site:
            kept, sys.path = sys.path, [*sys.path, *self.site]
            try:
                for name in WARM_MODULES:
                    try:
                        __import__(name)
                    except ImportError:
                        continue
            finally:
                sys.path = kept
            gc.collect()
            gc.freeze()  # what every run shares need not be looked at again by its collector
            self.warm = True

    def _child(self, head: Head, fds: tuple[int, int, int], report: int, trouble: int) -> None:
        """After fork: become the command. Never returns."""
        try:
            libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
            os.setsid()
            for number in range(3):
                os.dup2(fds[number], number)
            os.dup2(report, REPORT_FD, inheritable=False)
            os.close(self.wire.inp)
            os.close(self.wire.out)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            try:
                with open("/proc/self/oom_score_adj", "w") as text:
                    text.write("1000")  # when memory runs out the command goes first, not process 1
            except OSError:
                pass
            argv = [str(word) for word in head["argv"]]
            os.chdir(os.path.join(ROOT, head["cwd"]))
            environment = {**self.env, **head["env"]}
            cpu = int(head["seconds"]) * max(1, int(self.limits["cpus"])) + 2
            limits = {**self.fixed, resource.RLIMIT_CPU: cpu}
            if self.address_space:
                # What is written to counts; V8 and others reserve far more than that without using it.
                limits[resource.RLIMIT_DATA] = self.address_space
                limits[resource.RLIMIT_AS] = self.address_space + RESERVED_BYTES
            for kind, value in limits.items():
                hard = resource.getrlimit(kind)[1]
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(kind, (value, value))
            if head.get("script") is not None and self.warm:
                self._script(str(head["script"]), argv, environment)
            os.environ.clear()
            os.environ.update(environment)
            os.execvpe(argv[0], argv, environment)  # noqa: S606 - no shell is the point
        except OSError as error:
            os.write(trouble, f"{error.errno or 0}".encode())
        except (ValueError, TypeError) as error:  # a NUL in an argument, a malformed request
            os.write(2, f"{error}\n".encode(errors="replace"))
        os._exit(127)

    def _script(self, source: str, argv: list[str], environment: dict[str, str]) -> None:
        """Run Python source in this fork, with what `warm_up` imported; never returns."""
        # Without exec nothing closes itself, the write end of our own stdin included.
        os.closerange(3, REPORT_FD)
        os.closerange(REPORT_FD + 1, 1024)
        code = 1
        try:
            os.environ.clear()
            os.environ.update(environment)
            sys.argv = argv
            extra = [part for part in environment.get("PYTHONPATH", "").split(":") if part]
            sys.path = [os.getcwd(), *extra, *sys.path, *self.site]
            sys.dont_write_bytecode = True
            import site

            site.setquit()  # this Python was started without `site`
            site.sethelper()
            # As at the start of every Python: a late write to a closed socket is an exception and not the end.
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for name, fd, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
                stream = open(fd, mode, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
                setattr(sys, name, stream)
                setattr(sys, f"__{name}__", stream)
            main = type(sys)("__main__")
            sys.modules["__main__"] = main
            exec(compile(source, "<aiswe>", "exec"), main.__dict__)  # noqa: S102
            code = 0
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else (0 if leave.code is None else 1)
        except BaseException:  # noqa: BLE001 - the last frame of this process: report and end
            import traceback

            traceback.print_exc()
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code & 255)

    def run(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        """Run a command to its end, its time limit or its output limit."""
        if head.get("script") is not None:
            self.warm_up()
        started, before = time.monotonic(), oom_kills()
        self.files_before = files_in_use()
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(5)]
        (in_read, in_write), (out_read, out_write), (err_read, err_write), (sorrow_read, sorrow_write) = pipes[:4]
        report_read, report_write = pipes[4]
        used, clock = resource.getrusage(resource.RUSAGE_CHILDREN), CpuClock()
        try:
            pid = os.fork()
        except OSError as error:
            for pair in pipes:
                for fd in pair:
                    os.close(fd)
            return {"broken": f"cannot start a process: {error.strerror}"}, b""
        if pid == 0:
            self._child(head, (in_read, out_write, err_write), report_write, sorrow_write)
        for fd in (in_read, out_write, err_write, report_write, sorrow_write):
            os.close(fd)
        for fd in (in_write, out_read, err_read, report_read):
            os.set_blocking(fd, False)
        sizes = {
            out_read: self.limits["output_bytes"],
            err_read: self.limits["output_bytes"],
            report_read: REPORT_BYTES,
        }
        streams = {fd: Kept(int(size)) for fd, size in sizes.items()}
        status: dict[int, int] = {}
        why = self._watch(pid, head, body, in_write, streams, status, clock)
        gone = kill_everything(status)
        for fd, kept in streams.items():  # every writer is dead: what is left in the pipes is all there is
            self._drain(fd, kept)
            os.close(fd)
        failure = os.read(sorrow_read, 16)
        os.close(sorrow_read)
        out_head, out_tail, out_lost = streams[out_read].parts()
        err_head, err_tail, err_lost = streams[err_read].parts()
        report, _, report_lost = streams[report_read].parts()
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        code = os.waitstatus_to_exitcode(status[pid]) if pid in status else None
        if failure:
            number = int(failure)
            code = 127 if number == errno.ENOENT else 126
            err_head = f"{head['argv'][0]}: {os.strerror(number)}\n".encode()
        answer: Head = {
            "code": code,
            "why": why,
            "gone": gone,
            "seconds": time.monotonic() - started,
            "oom": oom_kills() > before,
            "cpu": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime,
            "sizes": [len(out_head), len(out_tail), len(err_head), len(err_tail), 0 if report_lost else len(report)],
            "lost": [out_lost, err_lost],
        }
        return answer, out_head + out_tail + err_head + err_tail + (b"" if report_lost else report)

    @staticmethod
    def _drain(fd: int, kept: Kept) -> bool:
        """Read what is there; False at the end of the stream."""
        try:
            for _ in range(32):
                piece = os.read(fd, 65536)
                if not piece:
                    return False
                kept.add(piece)
        except BlockingIOError:
            pass
        return True

    def _watch(
        self,
        pid: int,
        head: Head,
        body: bytes,
        in_write: int,
        streams: dict[int, Kept],
        status: dict[int, int],
        clock: CpuClock,
    ) -> str:
        """Feed, read and guard the command until it ends; the reason it was stopped, or nothing.

        Time in which the command was ready to run and had no CPU does not count for its limit.
        """
        seconds, cpus, beat = float(head["seconds"]), max(1.0, float(self.limits["cpus"])), clock.began
        poll = select.poll()
        poll.register(self.wire.inp, 0)  # only its hang-up: the worker died
        poll.register(self.woken, select.POLLIN)
        for fd in streams:
            poll.register(fd, select.POLLIN)
        waiting = memoryview(body)
        if waiting:
            poll.register(in_write, select.POLLOUT)
        else:
            os.close(in_write)
        feeding = bool(waiting)
        try:
            while True:
                now = time.monotonic()
                left = seconds - clock.seconds(cpus)
                if left <= 0:
                    return "timeout"
                if now - clock.began > seconds * WALL_FACTOR:
                    return "starved"
                if now - beat > BEAT_SECONDS:
                    beat = now
                    self.wire.send({"beat": True})
                for fd, event in poll.poll(min(left, 0.1) * 1000 + 1):
                    if fd == self.wire.inp:
                        os._exit(0)
                    elif fd == self.woken:
                        os.read(self.woken, 512)
                    elif fd == in_write:
                        try:
                            sent = os.write(in_write, waiting[:65536]) if event & select.POLLOUT else len(waiting)
                            waiting = waiting[sent:]
                        except BlockingIOError:
                            continue
                        except OSError:
                            waiting = waiting[:0]
                        if not waiting:
                            poll.unregister(in_write)
                            os.close(in_write)
                            feeding = False
                    elif not self._drain(fd, streams[fd]):
                        poll.unregister(fd)
                if sum(kept.total for kept in streams.values()) > HARD_OUTPUT_BYTES:
                    return "output"
                collect(status)
                if pid in status:
                    return ""
                trouble = self.overuse()
                if trouble:
                    return trouble
        finally:
            if feeding:
                os.close(in_write)

    def overuse(self) -> str:
        """What no kernel limit of this sandbox covers: inodes, and total memory where there is no control group."""
        used = files_in_use()
        if used > self.inodes and used > self.files_before:  # a command that deletes must be let alone
            return "inodes"
        if self.address_space and resident_bytes() > self.address_space:
            return "memory"
        return ""
