"""How much of a change stands in the prompts."""

from __future__ import annotations

from agents.rehearsal.sight import Sight, sight
from agents.rehearsal.upstream import PastCommit
from tests.agents.rehearsal.history import ABSOLUTE, COINS, TEST, TILL
from tests.tables import each_row

CHANGE = PastCommit("a" * 40, "b" * 40, "Count", "", ("coins.py",), ("test_coins.py",), (), 2)
BEFORE = {"coins.py": COINS, "till.py": TILL, "test_coins.py": TEST}


@each_row(
    ("planner", "coder", "found"),
    [
        ("coins.py, till.py", f"{COINS}\n{TILL}", Sight((1, 1), (1, 1), (1, 1))),
        ("coins.py", COINS, Sight((1, 1), (1, 1), (0, 1))),
        ("till.py", TILL, Sight((0, 1), (0, 1), (1, 1))),
        ("coins.py", "def total(coins):\n    …", Sight((1, 1), (0, 1), (0, 1))),
        ("", "", Sight((0, 1), (0, 1), (0, 1))),
    ],
)
def test_files_definitions_and_callers_are_looked_for_in_the_prompts(planner: str, coder: str, found: Sight) -> None:
    assert sight(CHANGE, BEFORE, {"coins.py": ABSOLUTE}, planner, coder) == found


def test_what_is_put_in_needs_the_line_before_it() -> None:
    after = COINS.replace(
        "    return max(coins)\n", "    return max(coins)\n\n\ndef fewest(coins):\n    return min(coins)\n"
    )
    shown = sight(CHANGE, BEFORE, {"coins.py": after}, "coins.py", "return max(coins)")
    assert shown.definitions == (1, 1)
    assert sight(CHANGE, BEFORE, {"coins.py": after}, "coins.py", "def largest(coins):").definitions == (0, 1)


def test_a_file_that_upstream_added_is_not_looked_for() -> None:
    added = PastCommit("a" * 40, "b" * 40, "Add", "", ("notes.py",), ("test_notes.py",), (), 2)
    assert sight(added, BEFORE, {"notes.py": COINS}, "", "") == Sight((0, 0), (0, 0), (0, 0))


def test_a_name_that_many_share_does_not_say_who_is_called() -> None:
    others = {f"m{number}.py": "def total(things):\n    return 0\n" for number in range(4)}
    assert sight(CHANGE, BEFORE | others, {"coins.py": ABSOLUTE}, "", "").callers == (0, 0)
