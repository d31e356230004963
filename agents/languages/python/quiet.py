"""Parsing untrusted code warns about its style; nobody reads that, and where warnings are errors it would block."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# The warning filters belong to the whole process: two threads changing them at once would restore the wrong ones.
_LOCK = threading.RLock()


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings inside, one thread at a time."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
