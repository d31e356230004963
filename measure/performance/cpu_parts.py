"""Where processor time goes: by part of the engine, and by what is asked of git."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

ROOT = f"{Path(__file__).resolve().parents[2]}/"
# The longest beginning of a file's path that fits says its part; a library's time belongs to who called it.
PLACES = {
    "agents/workspace/": "own side of git and files",
    "agents/context/": "prompts and tokens",
    "agents/prompts/render.py": "prompts and tokens",
    "agents/prompts/provenance.py": "prompts and tokens",
    "agents/llm/tokens.py": "prompts and tokens",
    "agents/replies/": "reading replies",
    "agents/llm/reply_format.py": "reading replies",
    "agents/firewall/": "firewall and screening",
    "agents/engine/nodes/firewall_check.py": "firewall and screening",
    "agents/firewall/trifecta.py": "firewall and screening",
    "agents/secrets/redaction.py": "firewall and screening",
    "agents/mutation/": "mutants",
    "agents/llm/": "model client",
    "agents/": "nodes, repair, search",
    "sandbox/": "own side of the sandbox",
    "projects/engine/saver.py": "graph and checkpoints",
    "projects/": "event_log and database",
    "measure/trials/in_memory.py": "event_log and database",
    "/langgraph/": "graph and checkpoints",
    "/langchain_core/": "graph and checkpoints",
    "/django/": "event_log and database",
}
OTHER = "graph and checkpoints"  # what runs before any of these: the graph's own threads


class Parts:
    """Processor seconds of this process by part, each without what it called; only for threads that start meanwhile."""

    def __init__(self) -> None:
        self.own: defaultdict[str, float] = defaultdict(float)
        self._part: dict[CodeType, str] = {}
        self._lock = threading.Lock()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch this thread and all that are started inside. It makes the work two to five times as slow."""
        watch = self._watch()
        threading.setprofile(lambda *event: self._begin(*event))
        sys.setprofile(watch)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _begin(self, frame: FrameType, event: str, arg: Any) -> None:
        watch = self._watch()
        sys.setprofile(watch)
        watch(frame, event, arg)

    def _watch(self) -> Callable[[FrameType, str, Any], None]:
        stack, own, parts, clock = [OTHER], self.own, self._part, time.thread_time
        last = clock()

        def watch(frame: FrameType, event: str, arg: Any) -> None:
            nonlocal last
            if event == "call":
                own[stack[-1]] += clock() - last
                code = frame.f_code
                stack.append(parts.get(code) or self._of(code) or stack[-1])
            elif event == "return":
                own[stack[-1]] += clock() - last
                if len(stack) > 1:
                    stack.pop()
            else:
                return
            last = clock()

        return watch

    def _of(self, code: CodeType) -> str:
        name = code.co_filename.removeprefix(ROOT)
        fits = [place for place in PLACES if (place in name if place.startswith("/") else name.startswith(place))]
        found = PLACES[max(fits, key=len)] if fits else ""
        if found:
            with self._lock:
                self._part[code] = found
        return found


class Gits:
    """Processes of git that are started: how many, and their processor seconds, by verb."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count while this lasts."""
        real = subprocess.run

        def run(argv: Any, *rest: Any, **options: Any) -> Any:
            if argv[0] != "git":
                return real(argv, *rest, **options)
            words = [word for at, word in enumerate(argv[1:], 1) if word != "-c" and argv[at - 1] != "-c"]
            before = _children()
            try:
                return real(argv, *rest, **options)
            finally:
                self.count[words[0]] += 1
                self.seconds[words[0]] += _children() - before

        with patch.object(subprocess, "run", run):
            yield


def _children() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime
