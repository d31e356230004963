"""Runs inside a sandbox: looks around and tries the ways out. Arguments: the decoy's port, the worker's secret."""

import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable

PORT, SECRET = int(sys.argv[1]), sys.argv[2]
OWN = {
    "HOME",
    "PATH",
    "LANG",
    "USER",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONNOUSERSITE",
    "PIP_NO_INDEX",
    "CI",
    "PYTHONPATH",
    "LC_CTYPE",
    "PWD",
}
SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/dbus/system_bus_socket",
)


def status(key: str) -> str:
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(key + ":"):
                return line.split()[1]
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


def reached() -> tuple[list[str], int]:
    targets = [
        ("127.0.0.1", PORT),
        (gateway(), PORT),
        ("169.254.169.254", 80),
        ("1.1.1.1", 53),
        ("8.8.8.8", 53),
        ("10.0.2.2", PORT),
    ]
    targets += [("127.0.0.1", port) for port in (8000, 11434, 6379, 5432, 2375)] + [("172.17.0.1", PORT)]
    found = []
    for target in targets:
        try:
            socket.create_connection(target, timeout=0.5).close()
            found.append(f"{target[0]}:{target[1]}")
        except OSError:
            pass
    for family in (socket.AF_INET6, getattr(socket, "AF_VSOCK", socket.AF_INET6)):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as end:
                end.settimeout(0.5)
                end.connect(("2606:4700:4700::1111", 53) if family == socket.AF_INET6 else (2, PORT))
                found.append(str(family))
        except (OSError, TypeError):
            pass
    return found, len(targets) + 2


def resolved() -> str:
    try:
        return socket.gethostbyname("example.com")
    except OSError:
        return ""


def written() -> list[str]:
    found = []
    for folder in ("/", "/usr", "/etc", "/dev", "/root", "/var", "/opt", "/packages", os.path.dirname(sys.executable)):
        path = os.path.join(folder, ".aiswe-selftest")
        try:
            with open(path, "w"):
                found.append(path)
            os.unlink(path)
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
    }
    return [name for name, attempt in tries.items() if attempt() == 0]


def agent() -> list[str]:
    found = []
    for name in ("environ", "mem", "fd"):
        try:
            if name == "fd":
                os.listdir("/proc/1/fd")
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


found, tried = reached()
sys.stdout.write(
    json.dumps(
        {
            "reached": found,
            "tried": tried,
            "resolved": resolved(),
            "sockets": [path for path in SOCKETS if os.path.exists(path)],
            "environment": sorted(set(os.environ) - OWN),
            "secret": secret_seen(),
            "uid": os.getuid(),
            "gid": os.getgid(),
            "capabilities": int(status("CapEff"), 16) | int(status("CapPrm"), 16) | int(status("CapBnd"), 16),
            "no_new_privileges": int(status("NoNewPrivs")),
            "seccomp": int(status("Seccomp")),
            "written": written(),
            "pid_namespace": os.readlink("/proc/self/ns/pid"),
            "escapes": escapes(),
            "agent": agent(),
        }
    )
)
