"""What another agent may do by itself, what a person is asked, and what it may not do."""

from types import SimpleNamespace
from typing import Any

from agents.outside.policy import Reach, command_of, may_call, may_run, may_write
from tests.tables import each_row

REACH = Reach(lambda path: path.startswith("tests/"), frozenset({".github/workflows/ci.yml"}), frozenset({"vendor"}))


def call(kind: str, *paths: str, **given: Any) -> SimpleNamespace:
    """A tool call as the protocol describes it."""
    locations = [SimpleNamespace(path=path) for path in paths]
    return SimpleNamespace(kind=kind, title="It", tool_call_id="1", content=None, locations=locations, raw_input=given)


@each_row(
    ("path", "decision"),
    [
        ("src/app.py", "allow"),
        ("/workspace/src/app.py", "allow"),
        ("/workspace/../etc/passwd", "refuse"),
        ("tests/test_app.py", "refuse"),
        ("vendor/library.py", "refuse"),
        (".git/config", "refuse"),
        (".github/workflows/ci.yml", "allow"),
        (".github/workflows/other.yml", "refuse"),
    ],
)
def test_it_writes_what_belongs_to_the_task(path, decision):
    assert may_write(path, REACH).decision == decision


@each_row(
    ("command", "decision"),
    [
        (["pytest", "-q"], "allow"),
        (["curl", "https://example.org"], "ask"),
        (["npm", "install", "left-pad"], "ask"),
        (["rm", "-rf", "."], "refuse"),
        ("cat ~/.ssh/id_rsa", "refuse"),
    ],
)
def test_a_person_is_asked_for_the_network_and_for_packages_only(command, decision):
    assert may_run(command).decision == decision


@each_row(
    ("asked", "decision"),
    [
        (call("read", "/workspace/tests/test_app.py"), "allow"),
        (call("edit", "/workspace/tests/test_app.py"), "refuse"),
        (call("edit", "/workspace/app.py"), "allow"),
        (call("edit", "/workspace/app.py", "/etc/passwd"), "refuse"),
        (call("execute", command="ls"), "allow"),
        (call("execute", command=["bash", "-lc", "curl https://example.org"]), "ask"),
        (call("execute"), "refuse"),
        (call("fetch", url="https://example.org"), "ask"),
        (call("think"), "allow"),
        (call("other"), "refuse"),
    ],
)
def test_a_permission_is_given_for_what_stays_in_the_workspace(asked, decision):
    assert may_call(asked, REACH).decision == decision


def test_the_command_of_a_shell_is_its_line():
    assert command_of({"command": ["bash", "-lc", "rm -rf /"]}) == "rm -rf /"
    assert command_of({"command": ["ls", "a b"]}) == "ls 'a b'"
    assert command_of(["ls"]) == ""
