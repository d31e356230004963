"""What all connections to one recording share: the calls it saw, the prompt cache and the free slots."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from agents.llm.scripted_server.pace import Pace, PrefixCache
from agents.llm.scripted_server.scenario import Scenario

_KEEP_REQUESTS = 1000


@dataclass
class SeenRequest:
    """One call as the server saw it; `outcome` is done, refused, fault or disconnected."""

    method: str
    path: str
    body: dict[str, Any]
    at: float
    file: str = ""
    outcome: str = "open"
    prompt_tokens: int = 0
    reused_tokens: int = 0
    reply_tokens: int = 0
    port: int = 0  # of the client's end: the same one means the same connection


@dataclass
class Desk:
    """What the connections of one server share."""

    scenario: Scenario
    writing: Pace
    reading: Pace
    cache: PrefixCache
    slots: threading.Semaphore
    window: int
    requests: deque[SeenRequest] = field(default_factory=lambda: deque(maxlen=_KEEP_REQUESTS))
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopping: threading.Event = field(default_factory=threading.Event)
    loaded_window: int | None = None
    at_once: int = 0
    most_at_once: int = 0

    def saw(self, method: str, path: str, port: int = 0) -> SeenRequest:
        """Record a call."""
        request = SeenRequest(method, path, {}, time.time(), port=port)
        with self.lock:
            self.requests.append(request)
        return request

    def take_slot(self) -> bool:
        """Take one of the slots for calls being answered; False when none became free for a moment."""
        if not self.slots.acquire(timeout=0.05):
            return False
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        return True

    def free_slot(self) -> None:
        """Give the slot back."""
        with self.lock:
            self.at_once -= 1
        self.slots.release()
