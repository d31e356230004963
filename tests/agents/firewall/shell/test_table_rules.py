"""The table of rules is complete and every rule in it can be reached."""

import re

import pytest

from agents.firewall.base import table
from agents.firewall.judge import inspect
from agents.firewall.shell.script import SimpleCommand, Word
from agents.firewall.shell.table_rules import line_of, table_verdicts
from tests.tables import each_row

RULES = table("shell/command_rules.toml")["rules"]


def test_every_rule_compiles_and_gives_a_reason() -> None:
    for entry in RULES:
        assert entry["reason"].endswith(".")
        assert re.fullmatch(r"[a-z-]+", entry["rule"])
    for program in ("rm", "git", "git config", "<git>", "<script>", "<function>", "", "unheard-of"):
        assert list(table_verdicts(program, "\t")) is not None


def test_a_line_shows_words_files_input_and_the_pipe() -> None:
    before = SimpleCommand(words=[Word("cat"), Word("x")])
    command = SimpleCommand(writes=[Word("out")], reads=[Word("in")], text_in="text", piped_from=before)
    assert line_of([Word("a b"), Word("c")], command) == "\ta b\tc\t>out\t<in\t<<<text\t|cat x\t"


@pytest.mark.parametrize("command", ["unheard-of --fast", "unheard-of src/app", "unheard-of http://localhost:8000/"])
def test_an_unknown_program_is_allowed_inside_the_workspace(command: str) -> None:
    assert inspect("command", command).decision == "allow"


@each_row(
    "command",
    [
        "unheard-of https://203.0.113.9/x",
        "unheard-of --server=https://203.0.113.9/x",
        "unheard-of 203.0.113.9:4444",
        "unheard-of user@host.example:/x",
        "unheard-of /bin/sh",
    ],
)
def test_an_unknown_program_asks_where_its_effects_could_leave(command: str) -> None:
    assert inspect("command", command).decision == "approve"


@pytest.mark.parametrize("command", ["parallel ::: 'rm -rf /'", "parallel rm -rf ::: /"])
def test_every_value_of_parallel_is_judged(command: str) -> None:
    verdict = inspect("command", command)
    assert verdict.decision == "deny"
    assert verdict.rule != "input.error"
