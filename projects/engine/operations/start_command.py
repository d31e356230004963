"""How an application of a commit is started, where nobody said it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from agents.languages.registry import languages
from sandbox.hosting.base import PORT

_PROCFILE = re.compile(r"^web:\s*(.+)$", re.MULTILINE)


def start_command(paths: Sequence[str], read: Callable[[str], str]) -> tuple[str, ...]:
    """The words that start it, with the port in them: a Procfile's web process, else what a language finds in the
    files; () when no file tells.
    """
    if "Procfile" in paths and (found := _PROCFILE.search(read("Procfile"))):
        return words_of(found[1])
    return next(filter(None, (one.serve_command(read, paths, PORT) for one in languages())), ())


def words_of(command: str) -> tuple[str, ...]:
    """A command as people write it, as words; no shell reads it. Raises ValueError for an open quotation mark."""
    return tuple(re.sub(r"\$\{?PORT(?::-\d+)?\}?", str(PORT), word) for word in shlex.split(command))
