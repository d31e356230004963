"""The program that runs as process 1 inside every sandbox, joined to one source text from `sandbox/inside`.

It speaks length-prefixed frames (4-byte length, JSON head, raw body of `head["body"]` bytes) on its standard input and
output. Being process 1 of its own PID namespace, it cannot be killed from inside, inherits every orphan, and
`kill(-1)` reaches each process of a command, daemons included. It is sent as source, so an image never holds an old
one.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

PARTS = ("pipe", "files", "processes", "commands", "serve")  # of every process 1
FROM_EACH_OTHER = re.compile(r"^from sandbox\.inside\.\w+ import (?:\([^)]*\)|[^\n]*)\n", re.MULTILINE)
FUTURE = "from __future__ import annotations\n"


@functools.cache
def joined(*parts: str) -> str:
    """Modules of `sandbox/inside` as one Python program."""
    folder = Path(__file__).with_name("inside")
    texts = [(folder / f"{part}.py").read_text().replace(FUTURE, "") for part in parts]
    return FUTURE + FROM_EACH_OTHER.sub("", "\n".join(texts))


def agent_source() -> str:
    """The agent as one Python program."""
    return joined(*PARTS, "start")


def keeper_source() -> str:
    """The agent that can also keep an application up."""
    return joined(*PARTS, "keeper")


def companion_source() -> str:
    """The agent that can also keep a program which talks with the worker."""
    return joined(*PARTS, "companion")


def forwarder_source() -> str:
    """What the keeper starts to hand requests on."""
    return joined("forward")
