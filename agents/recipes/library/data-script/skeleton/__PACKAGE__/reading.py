"""Rows from a CSV or JSON file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class UnusableInput(ValueError):
    """The file cannot be read as rows; the text says why."""


def read_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """The rows of a file one by one, each with its last line in a CSV file or its number in a JSON file, from 1.

    A CSV file's values are text, None where a row is short; cells beyond the header are a list under "". It is never in
    memory as a whole. Raises UnusableInput.
    """
    try:
        if path.suffix.lower() == ".json":
            yield from enumerate(_json_rows(path), start=1)
            return
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey="")
            for row in reader:
                yield reader.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnusableInput(f"{path} cannot be read: {error}") from error


def _json_rows(path: Path) -> list[Row]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise UnusableInput(f"{path} is not JSON: {error}") from error
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise UnusableInput(f"{path} is not a list of objects")
    return found
