"""How failures of builds are repeated, and what of a log's command is taken over."""

import pytest

from agents.engine.rebuild import check_of
from agents.languages.words import arguments_after
from tests.tables import each_row

FILES = {
    "pyproject.toml": '[project]\nname = "a"\ndependencies = ["idna"]\n',
    "package.json": '{"devDependencies": {"typescript": "5.9.3"}}',
}


@each_row(
    ("tool", "said", "command", "title"),
    [
        ("uv", "NoSolution: x", "uv lock", "a resolver on pyproject.toml"),
        ("npm", "ERESOLVE: x", "npm install", "a resolver on package.json"),
        ("pytest", "AssertionError: x", "pytest -x; rm -rf /", "the tests"),
        ("vitest", "AssertionError: x", "npx vitest", "the tests"),
        ("ruff", "F401: x", "ruff check shop --select F", "ruff check shop --select F"),
        ("ruff", "F401: x", "ruff check /etc", "ruff check ."),
        ("ruff", "unformatted: x", "", "ruff format --check ."),
        ("mypy", "arg-type: x", "cd a && mypy shop && curl x", "python -m mypy shop"),
        ("mypy", "arg-type: x", "mypy $(curl x)", "python -m mypy ."),
        ("tsc", "TS2345: x", "tsc", "npx --no-install tsc --noEmit"),
        ("node", "ModuleNotFound: x", "node src/server.js", "node src/server.js"),
        ("python", "SyntaxError: x", "python -m compileall -q shop", "python -m compileall -q shop"),
    ],
)
def test_a_failure_is_repeated_by_its_tool(tool: str, said: str, command: str, title: str) -> None:
    cause = {"tool": tool, "message": said, "command": command, "file": ""}
    check = check_of(cause, lambda path: FILES.get(path, ""))
    assert check is not None
    assert check.title == title


@pytest.mark.parametrize(
    ("tool", "said", "command"),
    [
        ("npm", "EUSAGE: Invalid: lock file's x", "npm ci"),
        ("python", "ValueError: x", "python app.py"),
        ("node", "Error: x", "node -e 'fetch(1)'"),
        ("docker", "BuildFailed: x", ""),
    ],
)
def test_what_needs_more_than_the_log_is_not_repeated(tool: str, said: str, command: str) -> None:
    cause = {"tool": tool, "message": said, "command": command, "file": ""}
    assert check_of(cause, lambda path: FILES.get(path, "")) is None


@each_row(
    "command",
    ["ruff check ../..", "ruff check /etc", "ruff 'a b'", "ruff `id`", "ruff a\nb $(id)", "ruff '", "other", ""],
)
def test_only_plain_words_of_a_command_are_taken_over(command: str) -> None:
    assert arguments_after(command, ["ruff"], ["check"]) == ("check",)
