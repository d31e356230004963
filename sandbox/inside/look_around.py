"""Runs inside a sandbox: looks around and tries to get out.

The argument is JSON with the addresses of the canary listeners and a secret.
"""

import contextlib
import ctypes
import json
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable
from typing import Any

ASKED: dict[str, Any] = json.loads(sys.argv[1])
TCP, UDP = [tuple(place) for place in ASKED["tcp"]], [tuple(place) for place in ASKED["udp"]]
SECRET = str(ASKED["secret"])
SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/dbus/system_bus_socket",
    *ASKED["unix"],
)
PATIENCE = 0.4
DNS_QUESTION = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01"


def status(key: str) -> str:
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(key + ":"):
                return line.partition(":")[2].strip()
    return ""


def gateway() -> str:
    try:
        with open("/proc/net/route") as lines:
            for line in list(lines)[1:]:
                words = line.split()
                if words[1] == "00000000":
                    return socket.inet_ntoa(int(words[2], 16).to_bytes(4, "little"))
    except OSError:
        pass
    return "172.17.0.1"


def connected(family: int, place: Any) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as end:
            end.settimeout(PATIENCE)
            end.connect(place)
            return True
    except (OSError, TypeError):
        return False


def answered(place: Any, question: bytes) -> bool:
    """Whether a datagram brings an answer; whether it left is for the listeners to say."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in place[0] else socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.settimeout(PATIENCE)
            end.connect(place)
            end.send(question)
            return bool(end.recv(512))
    except OSError:
        return False


def pinged(host: str) -> bool:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as end:
            end.settimeout(PATIENCE)
            end.connect((host, 0))
            end.send(struct.pack("!BBHHH", 8, 0, 0xF7FF, 0, 0))
            return bool(end.recv(64))
    except OSError:
        return False


def reached() -> tuple[list[str], int]:
    tries: dict[str, Callable[[], bool]] = {}

    def tcp(host: str, port: int, what: str) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        tries[f"{what} {host}:{port}"] = lambda: connected(family, (host, port))

    for host, port in TCP:
        tcp(host, port, "host")
    for host in (gateway(), "172.17.0.1", "10.0.2.2", "192.168.65.2"):
        tcp(host, TCP[0][1], "gateway")
    for host in ("169.254.169.254", "100.100.100.200", "fd00:ec2::254"):
        tcp(host, 80, "cloud metadata")
    for port in (8000, 11434, 6379, 5432, 2375, 8001):
        tcp("127.0.0.1", port, "service of the host")
    tcp("1.1.1.1", 80, "HTTP")
    tcp("1.1.1.1", 443, "HTTPS")
    tcp("2606:4700:4700::1111", 443, "HTTPS")
    tcp("8.8.8.8", 53, "DNS over TCP")
    for host, port in UDP:
        tries[f"UDP {host}:{port}"] = lambda place=(host, port): answered(place, b"hello")  # type: ignore[misc]  # bound now, not when called
    for host in ("1.1.1.1", "8.8.8.8", "127.0.0.53", gateway()):
        tries[f"DNS {host}:53"] = lambda place=(host, 53): answered(place, DNS_QUESTION)  # type: ignore[misc]  # bound now, not when called
    tries["ping 1.1.1.1"] = lambda: pinged("1.1.1.1")
    for path in SOCKETS:
        tries[f"Unix socket {path}"] = lambda place=path: connected(socket.AF_UNIX, place)  # type: ignore[misc]  # bound now, not when called
    for name in (*ASKED["abstract"], "/containerd-shim/", "/tmp/.X11-unix/X0"):  # noqa: S108
        tries[f"abstract socket {name}"] = lambda place="\0" + name: connected(socket.AF_UNIX, place)  # type: ignore[misc]  # bound now, not when called
    if hasattr(socket, "AF_VSOCK"):
        tries["vsock of the host"] = lambda: connected(socket.AF_VSOCK, (2, TCP[0][1]))
    return [name for name, attempt in tries.items() if attempt()], len(tries)


def resolved() -> list[str]:
    found = []
    for name in ("example.com", "host.docker.internal", "metadata.google.internal"):
        with contextlib.suppress(OSError):
            found.append(f"{name} is {socket.gethostbyname(name)}")
    return found


def written() -> list[str]:
    found = []
    folders = ["/", "/usr", "/etc", "/dev", "/root", "/var", "/opt", "/packages", "/run", "/sys/fs/cgroup", "/proc/sys"]
    for folder in (*folders, "/sys/fs/cgroup/memory", os.path.dirname(sys.executable)):
        path = os.path.join(folder, ".aiswe-selftest")
        try:
            with open(path, "w"):
                found.append(path)
            os.unlink(path)
        except OSError:
            pass
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory"):
        try:
            os.close(os.open(path, os.O_WRONLY))
            found.append(path)
        except OSError:
            pass
    return found


def escapes() -> list[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    tries: dict[str, Callable[[], int]] = {
        "user namespace": lambda: libc.unshare(0x10000000),
        "mount namespace": lambda: libc.unshare(0x00020000),
        "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
        "ptrace of the agent": lambda: libc.ptrace(16, 1, 0, 0),
        "become root": lambda: libc.setuid(0),
        "change root": lambda: libc.chroot(b"/tmp"),
    }
    return [name for name, attempt in tries.items() if attempt() == 0]


def agent() -> list[str]:
    found = []
    for name in ("environ", "mem", "fd", "root"):
        try:
            if name in ("fd", "root"):
                os.listdir("/proc/1/" + name)
            else:
                with open("/proc/1/" + name, "rb") as data:
                    data.read(1)
            found.append("/proc/1/" + name)
        except OSError:
            pass
    return found


def secret_seen() -> list[str]:
    places = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            for file in ("environ", "cmdline"):
                try:
                    with open(f"/proc/{name}/{file}", "rb") as data:
                        if SECRET.encode() in data.read() and not (file == "cmdline" and int(name) == os.getpid()):
                            places.append(f"/proc/{name}/{file}")
                except OSError:
                    pass
    return places


def mounts() -> list[dict[str, Any]]:
    found = []
    with open("/proc/self/mountinfo") as lines:
        for line in lines:
            words = line.split()
            rest = words[words.index("-") + 1 :]
            writable = "rw" in words[5].split(",") and "rw" in rest[2].split(",")
            place = words[4].encode().decode("unicode_escape")  # a blank is written as \040
            found.append({"place": place, "kind": rest[0], "writable": writable})
    return found


def devices() -> list[str]:
    found = []
    for name in os.listdir("/dev"):
        with contextlib.suppress(OSError):
            mode = os.stat(f"/dev/{name}").st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                found.append(name)
    return sorted(found)


def namespaces() -> dict[str, str]:
    found = {}
    for name in ("pid", "net", "ipc", "uts", "mnt"):
        with contextlib.suppress(OSError):
            found[name] = os.readlink(f"/proc/self/ns/{name}")
    return found


seen = {"mounts": mounts(), "devices": devices(), "namespaces": namespaces()}
found, tried = reached()
sys.stdout.write(
    json.dumps(
        seen
        | {
            "reached": found,
            "tried": tried,
            "resolved": resolved(),
            "sockets": [path for path in SOCKETS if os.path.exists(path)],
            "environment": sorted(os.environ),
            "secret": secret_seen(),
            "uid": os.getuid(),
            "gid": os.getgid(),
            "groups": os.getgroups(),
            "capabilities": max(
                int(status(name) or "0", 16) for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")
            ),
            "no_new_privileges": int(status("NoNewPrivs") or 0),
            "seccomp": int(status("Seccomp") or 0),
            "written": written(),
            "agent": agent(),
            "interfaces": sorted(name for _, name in socket.if_nameindex()),
            "processes": sum(name.isdigit() for name in os.listdir("/proc")),
            "escapes": escapes(),  # last: one that succeeds changes what the others see
        }
    )
)
