"""How an application of a commit is started, where nobody said it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

PORT = "8000"
_PROCFILE = re.compile(r"^web:\s*(.+)$", re.MULTILINE)
_APPS = (
    (re.compile(r"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:fastapi\.)?FastAPI\(", re.MULTILINE), "uvicorn"),
    (re.compile(r"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:starlette\.)?Starlette\(", re.MULTILINE), "uvicorn"),
    (re.compile(r"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:flask\.)?Flask\(", re.MULTILINE), "flask"),
)
_SERVES = re.compile(r"\b(?:serve_forever|run_server|make_server|run_app)\b|\bapp\.run\(")
_LIKELY = ("main", "app", "server", "wsgi", "asgi", "__main__")
MOST_FILES = 400


def start_command(paths: Sequence[str], read: Callable[[str], str]) -> tuple[str, ...]:
    """The words that start it, with the port in them; () when no file tells.

    A Procfile's web process, Django's manage.py, a module with a FastAPI, Starlette or Flask application, or a program
    that serves by itself and reads the variable PORT.
    """
    if "Procfile" in paths and (found := _PROCFILE.search(read("Procfile"))):
        return words_of(found[1])
    if "manage.py" in paths:
        return ("python", "manage.py", "runserver", "--noreload", f"127.0.0.1:{PORT}")
    sources = [path for path in paths if path.endswith(".py") and not re.search(r"(?:^|/)(?:tests?|docs)/|test_", path)]
    likely = sorted(sources, key=lambda path: (_rank(path), path.count("/"), path))[:MOST_FILES]
    texts = {path: read(path) for path in likely}
    for pattern, kind in _APPS:
        for path, text in texts.items():
            if found := pattern.search(text):
                return _by_kind(kind, _module(path), found[1], path)
    served = next((path for path, text in texts.items() if "__main__" in text and _SERVES.search(text)), None)
    return ("python", served) if served else ()


def words_of(command: str) -> tuple[str, ...]:
    """A command as people write it, as words; no shell reads it. Raises ValueError for an open quotation mark."""
    words = shlex.split(command)
    return tuple(re.sub(r"\$\{?PORT(?::-\d+)?\}?", PORT, word) for word in words)


def _rank(path: str) -> int:
    name = path.rpartition("/")[2].removesuffix(".py")
    return _LIKELY.index(name) if name in _LIKELY else len(_LIKELY)


def _module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _by_kind(kind: str, module: str, name: str, path: str) -> tuple[str, ...]:
    if kind == "flask":
        return ("python", "-m", "flask", "--app", f"{module}:{name}", "run", "--host", "127.0.0.1", "--port", PORT)
    place = ("--app-dir", "src") if path.startswith("src/") else ()
    return ("python", "-m", "uvicorn", f"{module}:{name}", *place, "--host", "127.0.0.1", "--port", PORT)
