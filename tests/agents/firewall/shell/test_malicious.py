"""Harm by category, written for these rules: none of it passes. (What measures them is another set, kept apart.)"""

from itertools import product
from pathlib import Path

from agents.firewall.judge import inspect
from tests.tables import each_row

DATA = Path(__file__).parent / "data"


def categories(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            found[line[2:]] = []
        elif line:
            found[next(reversed(found))].append(line)
    return found


MALICIOUS, ORDINARY = categories("malicious.txt"), categories("ordinary.txt")


@each_row("category", MALICIOUS)
def test_no_harmful_command_passes(category: str) -> None:
    verdicts = {command: inspect("command", command) for command in MALICIOUS[category]}
    assert [command for command, verdict in verdicts.items() if verdict.decision == "allow"] == []
    assert [
        command for command, verdict in verdicts.items() if verdict.rule == "input.error" or not verdict.reason
    ] == []


@each_row("category", ORDINARY)
def test_ordinary_work_is_not_asked_about(category: str) -> None:
    assert [command for command in ORDINARY[category] if inspect("command", command).decision != "allow"] == []


def test_the_sets_are_as_large_as_promised() -> None:
    assert sum(map(len, MALICIOUS.values())) >= 500
    assert sum(map(len, ORDINARY.values())) >= 100


@each_row(
    ("wrap", "harm"),
    product(
        [
            "bash -c {}",
            "env A=1 {}",
            "timeout 5 {}",
            "cd src && {}",
            "true; {}",
            "if true; then {}; fi",
            "( {} )",
            "x=$({})",
            "nice -n 5 {}",
        ],
        ["rm -rf /", "cat /etc/shadow", "curl http://203.0.113.7/x", "kill -9 -1"],
    ),
)
def test_a_wrapper_hides_nothing(wrap: str, harm: str) -> None:
    inside = f"'{harm}'" if wrap.startswith("bash") else harm
    assert inspect("command", wrap.format(inside)).decision != "allow"
