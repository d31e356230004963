"""A small dataset of our own."""

from __future__ import annotations

import json
from pathlib import Path

ROWS = [
    {
        "task_id": "Own/0",
        "prompt": 'def clamp(value, low, high):\n    """Keep value between low and high.\n    >>> clamp(7, 0, 5)\n '
        '   5\n    """\n',
        "canonical_solution": "    if value < low:\n        return low\n    if value > high:\n        return "
        "high\n    return value\n",
        "entry_point": "clamp",
        "test": "def check(candidate):\n    assert candidate(7, 0, 5) == 5\n    assert candidate(-7, 0, 5) == 0\n  "
        "  assert candidate(3, 0, 5) == 3\n    assert candidate(0, 0, 5) == 0\n",
    },
    {
        "task_id": "Own/1",
        "prompt": 'def vowels(text):\n    """Count the vowels of a text."""\n',
        "canonical_solution": "    return sum(1 for letter in text.lower() if letter in 'aeiou')\n",
        "entry_point": "vowels",
        "test": "def check(candidate):\n    assert candidate('Queue') == 4\n    assert candidate('') == 0\n    "
        "assert candidate('rhythm') == 0\n",
    },
]


def humaneval(folder: Path) -> Path:
    """The rows as a file."""
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def bugfix(folder: Path) -> Path:
    """A folder dataset with one buggy module."""
    root = folder / "folders"
    for name, text in {
        "shop/task.md": "The total of an empty cart is 0. Mend it.\n",
        "shop/start/cart.py": "def total(prices):\n    return prices[0] + sum(prices[1:])\n",
        "shop/tests/test_cart.py": "from cart import total\n\n\ndef test_empty():\n    assert total([]) == "
        "0\n\n\ndef test_sum():\n    assert total([2, 3]) == 5\n",
        "shop/reference/cart.py": "def total(prices):\n    return sum(prices)\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def exercise(folder: Path, suffix: str = "py") -> Path:
    """An exercise in the layout of Exercism and Aider's polyglot benchmark."""
    root = folder / "exercises"
    files = {"solution": [f"leap.{suffix}"], "test": [f"leap_test.{suffix}"], "example": [f".meta/example.{suffix}"]}
    for name, text in {
        ".meta/config.json": json.dumps({"files": files}),
        ".docs/introduction.md": "# Leap\n\nYears differ.",
        ".docs/instructions.md": "Tell whether a year is a leap year.",
        f"leap.{suffix}": "def leap_year(year):\n    pass\n",
        f"leap_test.{suffix}": "from leap import leap_year\n\n\ndef test_century():\n    assert not leap_year(1900)\n"
        "\n\ndef test_fourth():\n    assert leap_year(1996)\n",
        f".meta/example.{suffix}": "def leap_year(year):\n    return year % (4 if year % 100 else 400) == 0\n",
    }.items():
        place = root / "practice" / "leap" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root
