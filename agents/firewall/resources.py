"""Commands that use a machine up: endless or enormous output."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.firewall.base import Verdict
from agents.firewall.file_effects import approve
from agents.firewall.shell import Simple

_ENDLESS_FILES = frozenset({"/dev/zero", "/dev/urandom", "/dev/random"})
_WHOLE_READERS = frozenset(
    {
        "tail",
        "sort",
        "tac",
        "less",
        "more",
        "wc",
        "grep",
        "rev",
        "shuf",
        "sponge",
        "cp",
        "gzip",
        "xz",
        "bzip2",
        "zstd",
        "nl",
        "uniq",
        "md5sum",
        "split",
    }
)
_UNITS = {"": 1, "c": 1, "b": 512, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
MOST_BYTES = 4 << 30  # more than any test needs; the sandbox's own limit is lower still


def judge_use(simple: Simple) -> Iterator[Verdict]:
    """Judge endless sources written to files and enormous sizes."""
    texts = [word.text for word in simple.words[1:]]
    to_file = any(not word.text.startswith("/dev/") for word in simple.writes)
    endless = bool(_ENDLESS_FILES & {*texts, *(word.text for word in simple.reads)})
    if to_file and (simple.name == "yes" or (endless and simple.name in ("cat", "tee", "pv"))):
        yield approve("endless-file", f"{simple.name} fills the disk without end.")
    elif endless and simple.name in _WHOLE_READERS:
        yield approve("endless-read", f"{simple.name} reads without end.")
    elif simple.name == "head":
        for index, text in enumerate(texts):
            value = text.removeprefix("-c").removeprefix("--bytes=") or (
                texts[index + 1] if index + 1 < len(texts) else ""
            )
            if text.startswith(("-c", "--bytes")) and size(value) > MOST_BYTES:
                yield approve("endless-file", "Takes an enormous number of bytes.")
    elif simple.name == "dd":
        given = dict(text.partition("=")[::2] for text in texts)
        if given.get("if") in _ENDLESS_FILES:
            total = size(given.get("bs", "512")) * size(given.get("count", "0"))
            if ("count" not in given and "of" in given) or total > MOST_BYTES:
                yield approve("endless-file", "dd fills the disk.")


def size(text: str) -> int:
    """Bytes of `10G`, `1MiB`, `512`; 0 for what is no size."""
    found = re.fullmatch(r"(\d{1,15})([cbkmgtp]?)(?:i?b)?", text.strip().lower())
    return int(found[1]) * _UNITS[found[2]] if found else 0
