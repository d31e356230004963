"""How often a token may ask. Counted in this process: with several web processes each has its own count."""

from __future__ import annotations

import threading
import time

from django.conf import settings

_lock = threading.Lock()
_minute = 0
_counts: dict[int, int] = {}


def too_often(token_id: int) -> int:
    """0, or in how many seconds the token may ask again."""
    global _minute
    now = time.time()
    with _lock:
        if int(now // 60) != _minute:
            _minute = int(now // 60)
            _counts.clear()
        _counts[token_id] = _counts.get(token_id, 0) + 1
        over = _counts[token_id] > settings.API_PER_MINUTE
    return max(1, 60 - int(now % 60)) if over else 0
