"""What is installed is whole: files beside the modules are named as package data."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("agents", "sandbox", "projects", "dashboard", "aiswe_site")


def test_every_file_that_is_no_module_is_package_data():
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    for room in ROOMS:
        named = {path for pattern in told.get(room, ()) for path in (ROOT / room).glob(pattern)}
        there = {
            path
            for path in (ROOT / room).rglob("*")
            if path.is_file() and path.suffix not in (".py", ".pyc") and "__pycache__" not in path.parts
        }
        assert there <= named, sorted(str(path.relative_to(ROOT)) for path in there - named)
