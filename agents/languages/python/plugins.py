"""Plugins of pytest in packages that were unpacked and not installed."""

from __future__ import annotations

import configparser
from pathlib import Path


def test_plugins(packages: Path) -> list[str]:
    """Modules that the packages' metadata name as plugins; metadata that cannot be read names none."""
    found = []
    for file in sorted(packages.glob("*.dist-info/entry_points.txt")):
        parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), strict=False)
        try:
            parser.read_string(file.read_text(encoding="utf-8", errors="replace"))
        except configparser.Error:
            continue
        if parser.has_section("pytest11"):
            found += [value.partition(":")[0].strip() for _, value in parser.items("pytest11")]
    return found


test_plugins.__test__ = False  # type: ignore[attr-defined]  # its name begins like a test
