"""What turns texts into vectors, by the setting: hashed words, MiniLM on this machine, or a model of the Ollama server.

Which one made a vector is in the name of its collection: vectors of two are never compared, and none takes the place
of another by itself.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from agents.firewall.trifecta import is_outside
from agents.llm.base import Cancelled, LLMError, Timeouts
from agents.llm.registry import DEFAULT_PROVIDER, make_provider
from agents.llm.runner import ModelRunner
from agents.memory import minilm
from agents.memory.embedding import EMBEDDER, embed
from agents.memory.folder import RECORD
from agents.secrets.redaction import redact

HASHING, MINILM = "hashing", "minilm"
FIRST_S = 20.0  # for a server's first answer; a model that was not loaded yet takes a good part of it


@dataclass(frozen=True)
class Embedder:
    """Embeds texts within so many seconds, else raises Cancelled; raises LLMError for a model that cannot be used.

    `weight` is what likeness counts beside words, which count 1; `clock` counts the seconds: CPU where it runs here.
    """

    name: str
    embed: Callable[[Sequence[str], float], list[list[float]]]
    weight: float = 3.0
    close: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.monotonic

    @property
    def label(self) -> str:
        """Its name as part of a collection's."""
        return re.sub(r"[^A-Za-z0-9]+", "-", self.name).strip("-")[:100] or "model"


# It finds less than words do, so it only adds places where they find few.
hashing = Embedder(EMBEDDER, lambda texts, seconds: embed(texts), weight=0.001, clock=time.thread_time)


@cache
def _minilm() -> Embedder:
    model = minilm.MiniLM()

    def run(texts: Sequence[str], seconds: float) -> list[list[float]]:
        end = time.thread_time() + seconds
        try:
            made = model.embed(texts, lambda: time.thread_time() > end)
        except minilm.NotInstalled as missing:
            raise LLMError(str(missing)) from None
        if len(made) < len(texts):
            raise Cancelled
        return made

    return Embedder(minilm.NAME, run, clock=time.thread_time)


def embedding_in(folder: Path, setting: str) -> str:
    """The setting's embedding; without one what this memory began with: for a new one MiniLM, if installed.

    What is installed later changes nothing: vectors of two embeddings cannot be compared.
    """
    if setting:
        return setting
    try:
        return (folder / RECORD).read_text("utf-8").strip() or HASHING
    except OSError:
        return HASHING if folder.exists() or not minilm.is_installed() else MINILM


@lru_cache(maxsize=4)  # so that the tasks of a process share the connection to a server
def embedder_of(setting: str, server: str) -> Embedder:
    """The one that a setting names: hashing, minilm, or a model of the server; off this machine goes no secret."""
    if setting in ("", HASHING):
        return hashing
    if setting == MINILM:
        return _minilm()
    runner = ModelRunner(attempts=1)
    timeouts = Timeouts(connect=2.0, first_token=FIRST_S)
    made: Any = make_provider(DEFAULT_PROVIDER, server=server, model=setting, embed_model=setting, timeouts=timeouts)
    outside = is_outside(server)

    def ask(texts: Sequence[str], seconds: float) -> list[list[float]]:
        end = time.monotonic() + seconds
        sent = [redact(text) if outside else text for text in texts]
        return runner.embed(made, sent, cancelled=lambda: time.monotonic() > end)

    return Embedder(setting, ask, close=runner.close)
