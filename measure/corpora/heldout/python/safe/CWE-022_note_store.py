import re
from pathlib import Path

TITLE = re.compile(r"[a-z0-9_-]{1,64}")


class NoteStore:
    def __init__(self, base: Path):
        self.base = base

    def load(self, title: str) -> str:
        if not TITLE.fullmatch(title):
            raise ValueError("a title has only lower-case letters, digits, - and _")
        return (self.base / f"{title}.txt").read_text(encoding="utf-8")
