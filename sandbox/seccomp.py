"""The system-call filter of bubblewrap sandboxes (Docker brings its own)."""

from __future__ import annotations

import platform
import struct
import tomllib
from pathlib import Path

ARCH = {"x86_64": (0xC000003E, 56, 41), "aarch64": (0xC00000B7, 220, 198)}  # audit id, clone, socket
_TABLE = tomllib.loads(Path(__file__).with_name("seccomp.toml").read_text())


def _numbers(table: str) -> dict[str, tuple[int, ...]]:
    """The calls of one table by machine; raises KeyError for a call that lacks one."""
    return {machine: tuple(numbers[machine] for numbers in _TABLE[table].values()) for machine in ARCH}


DENIED, UNCOUNTED = _numbers("denied"), _numbers("uncounted")
CLONE3, NEW_NAMESPACES = 435, 0x7E020000
FAMILIES = (1, 2, 10, 16)  # unix, IPv4, IPv6, netlink; vsock among others is not bound to a network namespace
ALLOW, ERRNO, EPERM, ENOSYS = 0x7FFF0000, 0x00050000, 1, 38
LOAD, EQUAL, AT_LEAST, ANY_BIT, ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06


def filter_program(machine: str | None = None, *, counted: bool = True) -> bytes:
    """The BPF program for `bwrap --seccomp`; empty on a processor for which no table is kept here.

    `counted` is False where no control group counts the sandbox's memory: then nobody may have memory without a
    process.
    """
    machine = machine or platform.machine()
    if machine not in ARCH:
        return b""
    audit, clone, socket = ARCH[machine]

    def op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    deny = op(ANSWER, ERRNO | EPERM)
    program = [op(LOAD, 4), op(EQUAL, audit, 1, 0), deny, op(LOAD, 0)]
    program += [op(AT_LEAST, 0x40000000, 0, 1), deny]  # the x32 numbers
    for number in DENIED[machine] if counted else (*DENIED[machine], *UNCOUNTED[machine]):
        program += [op(EQUAL, number, 0, 1), deny]
    # glibc falls back to clone, whose flags can be looked at.
    program += [op(EQUAL, CLONE3, 0, 1), op(ANSWER, ERRNO | ENOSYS)]
    program += [op(EQUAL, clone, 0, 3), op(LOAD, 16), op(ANY_BIT, NEW_NAMESPACES, 0, 1), deny, op(LOAD, 0)]
    program += [op(EQUAL, socket, 0, len(FAMILIES) + 2), op(LOAD, 16)]
    program += [op(EQUAL, family, len(FAMILIES) - at, 0) for at, family in enumerate(FAMILIES)]
    program += [deny, op(ANSWER, ALLOW)]
    return b"".join(program)
