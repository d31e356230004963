"""The program that runs as process 1 inside every sandbox and does what the worker asks of it.

It speaks length-prefixed frames (4-byte length, JSON head, raw body of `head["body"]` bytes) on its standard input and
output. Being process 1 of its own PID namespace, it cannot be killed from inside, inherits every orphan, and
`kill(-1)` reaches each process of a command, daemons included. Standard library only; it is sent to the sandbox as source.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import gc
import json
import os
import resource
import select
import signal
import stat
import sys
import time
from typing import Any

HARD_OUTPUT_BYTES = 64 * 1024 * 1024
MAX_FRAME = 1024 * 1024 * 1024
MAX_INODES = 200_000
ROOT = "/workspace"
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 24, 38
CAPABILITY_VERSION = 0x20080522
# What a run of pytest with coverage imports, its installed plugins included: 300 ms once instead of each time.
WARM_MODULES = [
    "pytest",
    "pytest_cov.plugin",
    "coverage",
    "coverage.jsonreport",
    "coverage.python",
    "sqlite3",
    "hypothesis",
    "hypothesis.strategies",
    "_hypothesis_pytestplugin",
    "anyio.pytest_plugin",
    "anyio._backends._asyncio",
    "unittest.mock",
    "pdb",
    "queue",
    "xml.etree.ElementTree",
]
Head = dict[str, Any]

libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """The worker asked for a path that leaves the workspace."""


class Wire:
    """The two ends of the worker's pipe, moved away from 0 and 1 so that no command inherits them."""

    def __init__(self) -> None:
        self.inp = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 100)
        self.out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 100)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.close(null)

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            piece = os.read(self.inp, min(count, 1 << 20))
            if not piece:
                os._exit(0)  # the worker is gone; the kernel ends every process of this namespace with us
            parts.append(piece)
            count -= len(piece)
        return b"".join(parts)

    def receive(self) -> tuple[Head, bytes]:
        size = int.from_bytes(self._exactly(4), "big")
        head = json.loads(self._exactly(min(size, MAX_FRAME)))
        return head, self._exactly(min(int(head.get("body", 0)), MAX_FRAME))

    def send(self, head: Head, body: bytes = b"") -> None:
        text = json.dumps({**head, "body": len(body)}).encode()
        view = memoryview(len(text).to_bytes(4, "big") + text + body)
        while view:
            view = view[os.write(self.out, view) :]


class Kept:
    """The head and the tail of a stream, in flat memory."""

    def __init__(self, cap: int) -> None:
        self.cap, self.total, self.head, self.tail = cap, 0, bytearray(), bytearray()

    def add(self, piece: bytes) -> None:
        self.total += len(piece)
        room = self.cap - len(self.head)
        if room > 0:
            self.head += piece[:room]
            piece = piece[room:]
        if piece:
            self.tail += piece
            if len(self.tail) > 2 * self.cap + 65536:
                del self.tail[: len(self.tail) - self.cap]

    def parts(self) -> tuple[bytes, bytes, int]:
        """Head, tail, and how many bytes between them were dropped."""
        tail = bytes(self.tail[-self.cap :]) if self.cap else b""
        return bytes(self.head), tail, self.total - len(self.head) - len(tail)


def drop_privileges(uid: int, gid: int) -> None:
    """Leave root for good: only used where the sandbox was set up without a user namespace."""
    if os.getuid() == 0 and uid:
        for folder in (ROOT, "/tmp"):  # noqa: S108 - a private tmpfs, not the host's
            os.chown(folder, uid, gid)
        for capability in range(64):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        libc.capset((ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)())  # the inheritable ones
    if os.getuid() == 0 or os.geteuid() == 0:
        os._exit(3)  # never run anything as root
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Commands share our uid: without this they could open /proc/1/fd and answer in our place.
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def oom_kills() -> int:
    """How often the kernel ended a process of this container for memory, where its control group can be seen."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path) as lines:
                return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
        except (OSError, ValueError, IndexError):
            continue
    return 0


def resident_bytes() -> int:
    """Memory held by all processes but this one (shared pages are counted once per process)."""
    total, page = 0, resource.getpagesize()
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            try:
                with open(f"/proc/{name}/statm") as text:
                    total += int(text.read().split()[1]) * page
            except (OSError, ValueError, IndexError):
                continue
    return total


def kill_everything(status: dict[int, int], seconds: float = 5.0) -> bool:
    """End every other process here and collect them; False when some would not go."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            pass
        try:
            while True:
                pid, code = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                status[pid] = code
        except ChildProcessError:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)


class Commands:
    """Runs one command at a time and leaves nothing of it behind."""

    def __init__(self, wire: Wire, hello: Head) -> None:
        self.wire, self.env, self.limits = wire, dict(hello["env"]), hello["limits"]
        self.address_space = int(hello.get("address_space_mb", 0)) * 1024 * 1024
        self.site: list[str] = list(hello.get("site", ()))
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
            resource.RLIMIT_NPROC: int(self.limits["processes"]),
        }

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

    def _child(self, head: Head, fds: tuple[int, int, int], trouble: int) -> None:
        """After fork: become the command. Never returns."""
        try:
            libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
            os.setsid()
            for number in range(3):
                os.dup2(fds[number], number)
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
            # V8 reserves far more address space than it uses; its memory stays bounded by `resident_bytes`.
            if self.address_space and os.path.basename(argv[0]) not in ("node", "npm", "npx"):
                limits[resource.RLIMIT_AS] = self.address_space
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
        os.closerange(3, 1024)  # without exec nothing closes itself, the write end of our own stdin included
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
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(4)]
        (in_read, in_write), (out_read, out_write), (err_read, err_write), (sorrow_read, sorrow_write) = pipes
        try:
            pid = os.fork()
        except OSError as error:
            for pair in pipes:
                for fd in pair:
                    os.close(fd)
            return {"broken": f"cannot start a process: {error.strerror}"}, b""
        if pid == 0:
            self._child(head, (in_read, out_write, err_write), sorrow_write)
        for fd in (in_read, out_write, err_write, sorrow_write):
            os.close(fd)
        for fd in (in_write, out_read, err_read):
            os.set_blocking(fd, False)
        streams = {out_read: Kept(int(self.limits["output_bytes"])), err_read: Kept(int(self.limits["output_bytes"]))}
        status: dict[int, int] = {}
        why = self._watch(pid, head, body, in_write, streams, status, started)
        gone = kill_everything(status)
        for fd, kept in streams.items():  # every writer is dead: what is left in the pipes is all there is
            self._drain(fd, kept)
            os.close(fd)
        failure = os.read(sorrow_read, 16)
        os.close(sorrow_read)
        out_head, out_tail, out_lost = streams[out_read].parts()
        err_head, err_tail, err_lost = streams[err_read].parts()
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
            "sizes": [len(out_head), len(out_tail), len(err_head), len(err_tail)],
            "lost": [out_lost, err_lost],
        }
        return answer, out_head + out_tail + err_head + err_tail

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
        started: float,
    ) -> str:
        """Feed, read and guard the command until it ends; the reason it was stopped, or nothing."""
        deadline = started + float(head["seconds"])
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
                left = deadline - time.monotonic()
                if left <= 0:
                    return "timeout"
                for fd, event in poll.poll(min(left, 0.1) * 1000 + 1):
                    if fd == self.wire.inp:
                        os._exit(0)
                    elif fd == self.woken:
                        os.read(self.woken, 512)
                    elif fd == in_write:
                        try:
                            waiting = (
                                waiting[os.write(in_write, waiting[:65536]) :]
                                if event & select.POLLOUT
                                else waiting[:0]
                            )
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
                try:
                    while True:
                        done, code = os.waitpid(-1, os.WNOHANG)
                        if done == 0:
                            break
                        status[done] = code
                except ChildProcessError:
                    pass
                if pid in status:
                    return ""
                trouble = self._overuse()
                if trouble:
                    return trouble
        finally:
            if feeding:
                os.close(in_write)

    def _overuse(self) -> str:
        """What no kernel limit of this sandbox covers: inodes, and total memory where there is no control group."""
        usage = os.statvfs(ROOT)
        if usage.f_files and usage.f_files - usage.f_ffree > MAX_INODES:
            return "inodes"
        if self.address_space and resident_bytes() > self.address_space:
            return "memory"
        return ""


def folder_fd(parts: list[str], *, make: bool) -> int:
    """Open the folder that holds a path, one component at a time, following no link."""
    fd = os.open(ROOT, os.O_DIRECTORY | os.O_RDONLY | os.O_CLOEXEC)
    for part in parts:
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=fd)
            below = os.open(part, os.O_DIRECTORY | os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise Refused(f"{'/'.join(parts)}: '{part}' is not a folder of the workspace") from None
            raise
        finally:
            os.close(fd)
        fd = below
    return fd


def split(path: str) -> list[str]:
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise Refused(f"{path!r} is not a path inside the workspace")
    return parts


def check_writable(path: str) -> None:
    """Refuse a path that a planted link would lead elsewhere."""
    parts = split(path)
    try:
        fd = folder_fd(parts[:-1], make=False)
    except FileNotFoundError:
        return
    try:
        mode = os.lstat(parts[-1], dir_fd=fd).st_mode
        if not stat.S_ISREG(mode):
            raise Refused(f"{path!r} is there already and is no regular file")
    except FileNotFoundError:
        pass
    finally:
        os.close(fd)


def write_file(path: str, data: bytes, mode: int) -> None:
    parts = split(path)
    fd = folder_fd(parts[:-1], make=True)
    try:
        # A new inode: another name of the old one must not change with it.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(parts[-1], dir_fd=fd)
        out = os.open(parts[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=fd)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(out, view) :]
        finally:
            os.close(out)
    finally:
        os.close(fd)


def read_file(path: str, room: int) -> bytes | None:
    parts = split(path)
    try:
        fd = folder_fd(parts[:-1], make=False)
    except FileNotFoundError:
        return None
    try:
        source = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Refused(f"{path!r} is a link") from None
        if error.errno in (errno.ENOENT, errno.ENXIO, errno.EACCES, errno.ENAMETOOLONG):
            return None
        raise
    finally:
        os.close(fd)
    with open(source, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            return None
        if about.st_size > room:
            raise ValueError(f"{path!r} is {about.st_size} bytes: more than may be read back at once")
        return file.read(room)


def clear(wanted: dict[str, str]) -> list[str]:
    """Delete all that is not wanted (path to sha256) and tell what is missing or different."""
    import hashlib

    folders = {os.path.dirname(path) for path in wanted}
    for folder in list(folders):
        while folder:
            folders.add(folder)
            folder = os.path.dirname(folder)
    present = set()

    def walk(fd: int, prefix: str) -> None:
        for name in os.listdir(fd):
            path = f"{prefix}{name}"
            mode = os.lstat(name, dir_fd=fd).st_mode
            if stat.S_ISDIR(mode):
                os.chmod(name, 0o755, dir_fd=fd)  # noqa: S103 - the command may have closed it to us
                below = os.open(name, os.O_DIRECTORY | os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                try:
                    walk(below, f"{path}/")
                finally:
                    os.close(below)
                if path not in folders:
                    os.rmdir(name, dir_fd=fd)
                continue
            if stat.S_ISREG(mode) and path in wanted:
                source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                with open(source, "rb") as file:
                    same = hashlib.file_digest(file, "sha256").hexdigest() == wanted[path]
                if same:
                    present.add(path)
                    continue
            os.unlink(name, dir_fd=fd)

    fd = os.open(ROOT, os.O_DIRECTORY | os.O_RDONLY | os.O_CLOEXEC)
    try:
        walk(fd, "")
    finally:
        os.close(fd)
    return [path for path in wanted if path not in present]


def files_in(head: Head, body: bytes) -> tuple[Head, bytes]:
    if head.get("strict", True):
        for entry in head["files"]:
            check_writable(entry[0])
    at = 0
    for path, size, mode in head["files"]:
        write_file(path, body[at : at + size], mode)
        at += size
    return {}, b""


def files_out(head: Head) -> tuple[Head, bytes]:
    found, parts, room = [], [], int(head["room"])
    for path in head["paths"]:
        data = read_file(path, room)
        if data is not None:
            found.append([path, len(data)])
            parts.append(data)
            room -= len(data)
    return {"files": found}, b"".join(parts)


def serve(wire: Wire, commands: Commands) -> None:
    """Answer requests until the worker goes away."""
    while True:
        head, body = wire.receive()
        try:
            kind = head["do"]
            if kind == "run":
                answer = commands.run(head, body)
            elif kind == "put":
                answer = files_in(head, body)
            elif kind == "get":
                answer = files_out(head)
            elif kind == "clear":
                answer = {"missing": clear(head["wanted"])}, b""
            elif kind == "warm":
                commands.warm_up()
                continue  # nobody waits for it
            else:
                answer = {"error": f"unknown request {kind!r}"}, b""
        except Refused as refusal:
            answer = {"refused": str(refusal)}, b""
        except (OSError, ValueError, RecursionError) as error:
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            answer = {"error": reason}, b""
        wire.send(*answer)


def main() -> None:
    if os.getpid() != 1:
        sys.exit("the sandbox agent must be process 1 of its own namespace: it kills all it can see")
    wire = Wire()
    hello, _ = wire.receive()
    drop_privileges(int(hello["uid"]), int(hello["gid"]))
    os.umask(0o022)
    os.chdir(ROOT)
    commands = Commands(wire, hello)
    wire.send({"ready": True, "python": sys.version.split()[0], "uid": os.getuid()})
    serve(wire, commands)


if __name__ == "__main__":
    main()
