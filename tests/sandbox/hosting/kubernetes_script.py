"""What the stand-in for a Kubernetes API plays: an image's fate, and the Pods and containers that meet it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Script:
    """What becomes of an image, in looks at its Pod."""

    ready_after: int = 1  # looks
    waiting: str = ""  # it never gets further than this reason
    message: str = ""
    exit_code: int | None = None  # it crashes at every second look
    reason: str = "Error"  # of the crash
    never_ready: bool = False
    no_pod: str = ""  # why no Pod can be made
    unschedulable: str = ""
    late: bool = False  # the rollout has passed its deadline


@dataclass
class Container:
    """One start of a container, and its log: times in nanoseconds, and lines."""

    id: str
    log: list[tuple[int, bytes]] = field(default_factory=list)


@dataclass
class Pod:
    """A Pod and its containers, the newest last."""

    name: str
    labels: dict[str, str]
    image: str
    script: Script
    made: int
    annotations: dict[str, str]
    looks: int = 0
    crashed: bool = False
    deleted: bool = False
    grace: int = 2  # looks at it once it is deleted
    restarts: int = 0
    containers: list[Container] = field(default_factory=list)
