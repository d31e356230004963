"""Spellings of paths that lead out of a folder, or try to, made from parts so that none is forgotten."""

from __future__ import annotations

TARGETS = ("etc/passwd", "outside.txt", ".ssh/authorized_keys")
UPS = (
    "../", "..\\", "..//", ".././", "./../", "....//", "..;/", "%2e%2e/", "%2e%2e%2f", "..%2f", "..%5c",
    "%252e%252e%252f", "..%c0%af",
    "%c0%ae%c0%ae/", "..%u2215", "\u2025/", "\uff0e\uff0e/", "..\u2215", "..\u2044", "..\uff0f", "\u2024\u2024/",
    ".\u200b./", "..\u0000/", "..\t/",
    ".. /", "../\n",
)  # fmt: skip
ABSOLUTE = (
    "/etc/passwd", "//etc/passwd", "///etc/passwd", "/./etc/passwd", "/proc/self/root/etc/passwd", "/dev/fd/0",
    "\\etc\\passwd", "C:\\windows\\win.ini",
    "C:/windows/win.ini", "c:relative", "\\\\host\\share\\x", "//host/share/x", "~/x", "~root/x", "file:///etc/passwd",
    "$HOME/x", "${HOME}/x", "`pwd`/x",
)  # fmt: skip
ODD = (
    "", ".", "..", "/", "./", "a/..", "a/../..", "a/b/../../..", "x\x00.py", "\x00", "a/\x00/b", "x" * 4_096,
    "a/" * 2_048 + "b", "é" * 200, "\udcff.py",
    "a\ud800b", "x\u202egpj.py", "con", "aux.txt", "a.py ", "a.py.", " a.py", "-rf", "--output=x", ".git/config",
    ".GIT/config", ".git /config", "git~1/config",
    "sub/.git/hooks/pre-commit", "a//b", "a/./b", "a\nb", "a\rb", "\x1b[2J", "*", "a?b",
)  # fmt: skip


def spellings() -> list[str]:
    """All of them, well over a hundred, none twice."""
    made = [up * depth + target for up in UPS for depth in (1, 6) for target in TARGETS[: 1 + (depth == 1)]]
    made += ["a/" + up + TARGETS[0] for up in UPS]
    return list(dict.fromkeys([*made, *ABSOLUTE, *ODD]))
