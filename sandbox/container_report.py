"""What came of building and starting a Dockerfile, apart from the engine's client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "failed", "not built", "no verdict"]


@dataclass(frozen=True)
class ContainerReport:
    """What came of a try. `output` are the last lines of what failed; it and `texts` are untrusted."""

    state: State
    problem: str = ""
    output: str = ""
    health: str = ""  # what the started container did, in words
    user: str = ""
    ports: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    size_mb: int = 0
    seconds: float = 0.0
    texts: tuple[tuple[str, str], ...] = ()  # what may hold secrets: place and text
