"""How a sandbox should look, from inside and as its engine tells it; and what is different about one that was made."""

from __future__ import annotations

import functools
import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

EXPECTED_STATE = Path(__file__).with_name("expected_state.toml")
# What a container may hold of its image's environment; the commands inside get one of our own anyway.
IMAGE_ENVIRONMENT = set(
    "PATH LANG PYTHONDONTWRITEBYTECODE PYTHON_VERSION PYTHON_SHA256 GPG_KEY NODE_VERSION YARN_VERSION".split()
)
PACKAGES_AT = "/packages"


@dataclass(frozen=True)
class ExpectedState:
    """The expectation for one backend."""

    environment: frozenset[str]
    devices: frozenset[str]
    interfaces: frozenset[str]
    kernel_kinds: frozenset[str]
    kernel_places: tuple[PurePosixPath, ...]
    own_memory: frozenset[str]
    namespaces: tuple[str, ...]
    root: str
    shown: frozenset[str]


@functools.cache
def load_expected_state(backend: str) -> ExpectedState:
    """The list for that backend."""
    table = tomllib.loads(EXPECTED_STATE.read_text())
    own = table[backend]
    sets = ("environment", "devices", "interfaces", "kernel_kinds", "own_memory")
    return ExpectedState(
        **{name: frozenset(table[name]) for name in sets},
        kernel_places=tuple(map(PurePosixPath, table["kernel_places"])),
        namespaces=tuple(table["namespaces"]),
        root=own["root"],
        shown=frozenset(own["shown"]),
    )


def strange_mounts(backend: str, mounts: Sequence[Mapping[str, Any]], shown: Collection[str] = ()) -> list[str]:
    """Mounts that should not be there, or not be writable; `shown` are host paths this very sandbox shows read-only."""
    expected = load_expected_state(backend)
    allowed = expected.shown | set(shown)
    found = []
    for mount in mounts:
        place, kind, writable = str(mount["place"]), str(mount["kind"]), bool(mount["writable"])
        words = f"{place} ({kind}{', writable' if writable else ''})"
        if place == "/":
            good = kind == expected.root and not writable
        elif place in expected.own_memory and kind == "tmpfs":
            good = True
        elif kind in expected.kernel_kinds and any(
            PurePosixPath(place).is_relative_to(at) for at in expected.kernel_places
        ):
            good = True  # who may write in there is tried by the probe, not read from the mount
        else:
            good = place in allowed and not writable
        if not good:
            found.append(words)
    return found


def shared_namespaces(backend: str, seen: Mapping[str, str]) -> list[str]:
    """Namespaces that the sandbox shares with this process, or that it does not tell."""
    names = load_expected_state(backend).namespaces
    return [name for name in names if seen.get(name, "") in ("", os.readlink(f"/proc/self/ns/{name}"))]


def container_problems(about: Mapping[str, Any], packages_volume: str = "") -> list[str]:
    """What is wrong with a container as `docker inspect` describes it, before it is started; empty when nothing is."""
    host: Mapping[str, Any] = about["HostConfig"]
    config: Mapping[str, Any] = about["Config"]
    problems = []

    def refuse(wrong: object, words: str) -> None:
        if wrong:
            problems.append(words)

    refuse(host.get("Privileged"), "it is privileged")
    for name, key in (("process ids", "PidMode"), ("host names", "UTSMode"), ("user ids", "UsernsMode")):
        refuse(host.get(key), f"it shares {name} ({key} {host.get(key)!r})")
    refuse(host.get("CgroupnsMode") == "host" and host.get("CgroupParent"), "it sits in a control group of the host")
    refuse(host.get("IpcMode") != "private", f"it shares memory with others (IpcMode {host.get('IpcMode')!r})")
    refuse(host.get("NetworkMode") != "none", f"it has a network ({host.get('NetworkMode')!r})")
    refuse(host.get("PortBindings") or host.get("PublishAllPorts"), "it publishes ports")
    refuse(host.get("CapAdd"), f"it has extra capabilities ({', '.join(host.get('CapAdd') or ())})")
    refuse("ALL" not in (host.get("CapDrop") or ()), "it keeps capabilities")
    refuse(not host.get("ReadonlyRootfs"), "its root can be written")
    refuse(host.get("Devices") or host.get("DeviceRequests") or host.get("DeviceCgroupRules"), "it has devices")
    refuse(host.get("GroupAdd"), "it has extra groups")
    refuse(host.get("Sysctls"), "it changes kernel settings")
    refuse(host.get("VolumesFrom") or host.get("Links"), "it is tied to other containers")
    options = [str(option) for option in host.get("SecurityOpt") or ()]
    refuse(
        not any(option.startswith("no-new-privileges") and "false" not in option for option in options),
        "it may gain privileges",
    )
    for option in options:
        refuse("unconfined" in option or option.endswith("disable"), f"it has a protection switched off ({option})")
    for limit, name in (("Memory", "memory"), ("PidsLimit", "processes"), ("NanoCpus", "CPU")):
        refuse((host.get(limit) or 0) <= 0, f"it has no limit of {name}")
    refuse(config.get("User") in (None, "", "0", "root", "0:0", "root:root"), "it runs as root")
    left = sorted({str(word).partition("=")[0] for word in config.get("Env") or ()} - IMAGE_ENVIRONMENT)
    refuse(left, f"its environment holds {', '.join(left)}")
    return problems + _mount_problems(about, host, packages_volume)


def _mount_problems(about: Mapping[str, Any], host: Mapping[str, Any], packages_volume: str) -> list[str]:
    problems = []
    for bind in host.get("Binds") or ():
        source, place, *mode = str(bind).split(":")
        if "docker.sock" in source or "containerd" in source:
            problems.append(f"the engine's socket is inside ({source})")
        elif source.startswith("/"):
            problems.append(f"a folder of the host is inside ({source} at {place})")
        elif source != packages_volume or place != PACKAGES_AT or "ro" not in (mode[0].split(",") if mode else ()):
            problems.append(f"a volume is inside that should not be ({bind})")
    for mount in host.get("Mounts") or ():
        problems.append(f"something is mounted at {mount.get('Target')} ({mount.get('Source') or mount.get('Type')})")
    for mount in about.get("Mounts") or ():
        if mount.get("RW"):
            problems.append(f"{mount.get('Destination')} can be written and outlives the sandbox")
    return problems


# What must stand in bubblewrap's line, and what may never.
UNSHARED = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts")
NEVER = tuple(
    "--bind --bind-try --dev-bind --dev-bind-try --bind-fd --share-net --setenv --userns --pidns --overlay".split()
)
KEPT_AS_ROOT = {"CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_CHOWN"}  # the agent uses them once and drops them


def line_problems(words: Sequence[str], *, as_root: bool, filtered: bool) -> list[str]:
    """What is wrong with the line that is to start bubblewrap; empty when nothing is."""
    line = list(words[: words.index("--")] if "--" in words else words)
    problems = [f"{word} is not allowed" for word in NEVER if word in line]
    for word in UNSHARED:
        if word not in line and "--unshare-all" not in line:
            problems.append(f"{word} is missing")
    needed = ("--clearenv", "--new-session", "--die-with-parent", "--cap-drop", *(("--seccomp",) if filtered else ()))
    problems += [f"{word} is missing" for word in needed if word not in line]
    kept = {line[at + 1] for at, word in enumerate(line[:-1]) if word == "--cap-add"}
    if kept - (KEPT_AS_ROOT if as_root else set()):
        problems.append(f"capabilities are kept: {', '.join(sorted(kept - KEPT_AS_ROOT) or sorted(kept))}")
    return problems
