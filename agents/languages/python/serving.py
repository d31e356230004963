"""How a Python program that answers requests is started."""

from __future__ import annotations

import re
from collections.abc import Collection

from agents.languages.layouts import Reader

_APPS = (
    (re.compile(r"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:fastapi\.)?FastAPI\(", re.MULTILINE), "uvicorn"),
    (re.compile(r"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:starlette\.)?Starlette\(", re.MULTILINE), "uvicorn"),
    (re.compile(r"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:flask\.)?Flask\(", re.MULTILINE), "flask"),
)
_SERVES = re.compile(r"\b(?:serve_forever|run_server|make_server|run_app)\b|\bapp\.run\(")
_ASIDE = re.compile(r"(?:^|/)(?:tests?|docs)/|test_")
_LIKELY = ("main", "app", "server", "wsgi", "asgi", "__main__")
MOST_FILES = 400


def serve_command(read: Reader, paths: Collection[str], port: int) -> tuple[str, ...]:
    """Django's manage.py, a module with a FastAPI, Starlette or Flask application, or a program that serves by itself
    and reads the variable PORT; () when there is none.
    """
    if "manage.py" in paths:
        return ("python", "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}")
    sources = [path for path in paths if path.endswith(".py") and not _ASIDE.search(path)]
    texts = {path: read(path) for path in sorted(sources, key=_rank)[:MOST_FILES]}
    for pattern, kind in _APPS:
        for path, text in texts.items():
            if found := pattern.search(text):
                return _by_kind(kind, path, found[1], port)
    served = next((path for path, text in texts.items() if "__main__" in text and _SERVES.search(text)), None)
    return ("python", served) if served else ()


def _rank(path: str) -> tuple[int, int, str]:
    name = path.rpartition("/")[2].removesuffix(".py")
    return (_LIKELY.index(name) if name in _LIKELY else len(_LIKELY), path.count("/"), path)


def _by_kind(kind: str, path: str, name: str, port: int) -> tuple[str, ...]:
    module = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    where = ("--host", "127.0.0.1", "--port", str(port))
    if kind == "flask":
        return ("python", "-m", "flask", "--app", f"{module}:{name}", "run", *where)
    place = ("--app-dir", "src") if path.startswith("src/") else ()
    return ("python", "-m", "uvicorn", f"{module}:{name}", *place, *where)
