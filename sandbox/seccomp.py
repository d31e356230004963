"""The system-call filter of bubblewrap sandboxes (Docker brings its own)."""

from __future__ import annotations

import platform
import struct

# What code under test never needs and what kernel escapes are made of: mounts, namespaces, tracing, keys, BPF, modules.
# Names in the order of the numbers below, so that a reader can check them against the kernel's tables.
NAMES = [
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "unshare",
    "setns",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "keyctl",
    "add_key",
    "request_key",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "delete_module",
    "finit_module",
    "open_by_handle_at",
    "syslog",
    "quotactl",
    "acct",
    "swapon",
    "swapoff",
    "reboot",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "pidfd_getfd",
]
# fmt: off
NUMBERS: dict[str, tuple[int, ...]] = {
    "x86_64": (
        165, 166, 155, 161, 272, 308, 101, 310, 311, 250, 248, 249,
        321, 298, 323, 425, 426, 427, 246, 320,
        175, 176, 313, 304, 103, 179, 163, 167, 168, 169, 428,
        429, 430, 431, 432, 433, 442, 438,
    ),
    "aarch64": (
        40, 39, 41, 51, 97, 268, 117, 270, 271, 219, 217, 218,
        280, 241, 282, 425, 426, 427, 104, 294,
        105, 106, 273, 265, 116, 60, 89, 224, 225, 142, 428,
        429, 430, 431, 432, 433, 442, 438,
    ),
}
# fmt: on
ARCH = {"x86_64": (0xC000003E, 56, 41), "aarch64": (0xC00000B7, 220, 198)}  # audit id, clone, socket
# Memory that belongs to no process: memfd_create, memfd_secret, shmget. Only a control group counts it.
UNCOUNTED = {"x86_64": (319, 447, 29), "aarch64": (279, 447, 194)}
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
    if machine not in NUMBERS:
        return b""
    audit, clone, socket = ARCH[machine]

    def op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    deny = op(ANSWER, ERRNO | EPERM)
    program = [op(LOAD, 4), op(EQUAL, audit, 1, 0), deny, op(LOAD, 0)]
    program += [op(AT_LEAST, 0x40000000, 0, 1), deny]  # the x32 numbers
    for number in NUMBERS[machine] if counted else (*NUMBERS[machine], *UNCOUNTED[machine]):
        program += [op(EQUAL, number, 0, 1), deny]
    # glibc falls back to clone, whose flags can be looked at.
    program += [op(EQUAL, CLONE3, 0, 1), op(ANSWER, ERRNO | ENOSYS)]
    program += [op(EQUAL, clone, 0, 3), op(LOAD, 16), op(ANY_BIT, NEW_NAMESPACES, 0, 1), deny, op(LOAD, 0)]
    program += [op(EQUAL, socket, 0, len(FAMILIES) + 2), op(LOAD, 16)]
    program += [op(EQUAL, family, len(FAMILIES) - at, 0) for at, family in enumerate(FAMILIES)]
    program += [deny, op(ANSWER, ALLOW)]
    return b"".join(program)
