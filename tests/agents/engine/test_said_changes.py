"""What a change takes back of pins, tests and checks is said."""

from agents.engine.said_changes import said_changes
from agents.languages.registry import language
from tests.tables import each_row

TESTS = "def test_a():\n    assert add(1, 2) == 3\n\n\ndef test_b():\n    assert add(0, 0) == 0\n"
PROJECT = '[project]\nname = "a"\nrequires-python = ">=3.8"\ndependencies = ["anyio>=4.10", "idna==3.7"]\n'
PACKAGE = '{"scripts": {"test": "vitest run"}, "dependencies": {"react": "18.3.1"}}'


@each_row(
    ("path", "old", "new", "said"),
    [
        ("requirements.txt", "flask==2.3.3\n", "flask>=2\n", ["requirements.txt: flask==2.3.3 becomes flask>=2"]),
        ("requirements.txt", "flask==2.3.3\nidna\n", "idna\n", ["requirements.txt: flask==2.3.3 is removed"]),
        ("requirements.txt", "idna\n", "idna\nflask\n", []),
        ("requirements.txt", "idna==3.7\n", "# the same\nidna==3.7  # still\n", []),
        ("requirements.txt", "idna==3.7\n", "", ["requirements.txt: idna==3.7 is removed"]),
        (
            "pyproject.toml",
            PROJECT,
            PROJECT.replace(">=3.8", ">=3.9"),
            ["pyproject.toml: the versions that run it, >=3.8, becomes >=3.9"],
        ),
        (
            "pyproject.toml",
            PROJECT,
            PROJECT + '[tool.ruff]\nignore = ["F401"]\n',
            ["pyproject.toml: the configuration of checks is changed"],
        ),
        ("package.json", PACKAGE, PACKAGE.replace("18.3.1", "^18"), ["package.json: react@18.3.1 becomes react@^18"]),
        (
            "package.json",
            PACKAGE,
            PACKAGE.replace("vitest run", "true"),
            ["package.json: the configuration of checks is changed"],
        ),
        ("a.py", "import os\n", "import os  # noqa: F401\n", ["a.py: adds noqa"]),
        ("a.py", "x\n", "# ruff: noqa\n# flake8: noqa\nx\n", ["a.py: adds ruff: noqa", "a.py: adds flake8: noqa"]),
        ("a.py", "x\n", "# mypy: ignore-errors\nx\n", ["a.py: adds mypy: ignore-errors"]),
        ("a.py", "x\n", '# mypy: disable-error-code="x"\nx\n', ["a.py: adds mypy: disable-error-code"]),
        ("a.py", "x\n", "x  # pylint:disable=W\n", ["a.py: adds pylint: disable"]),
        ("a.py", "x\n", "x  # fmt:  skip\n", ["a.py: adds fmt: skip"]),
        ("a.py", "x\n", "# isort: skip_file\nx\n", ["a.py: adds isort: skip_file"]),
        ("a.py", "x\n", "x  #type:ignore[attr] # NOQA\n", ["a.py: adds type: ignore", "a.py: adds noqa"]),
        ("a.py", "x\n", "# mypy: see below\nx\n", []),
        ("a.ts", "x\n", "/* eslint-disable */\nx\n", ["a.ts: adds eslint-disable"]),
        ("a.ts", "x\n", "/* eslint no-alert: 0 */\nx\n", ["a.ts: adds eslint"]),
        ("a.ts", "x\n", "// biome-ignore lint: x\nx\n", ["a.ts: adds biome-ignore"]),
        ("a.test.ts", "", 'test.only("a", () => {});\n', ["a.test.ts: adds test.only"]),
        (".pylintrc", "", "[MASTER]\n", [".pylintrc: the configuration of checks is changed"]),
        ("noxfile.py", "a\n", "b\n", ["noxfile.py: the configuration of checks is changed"]),
        ("Makefile", "a\n", "b\n", ["Makefile: what runs the checks is changed"]),
        (".github/workflows/a.yml", "a\n", "", [".github/workflows/a.yml: what runs the checks is changed"]),
        (".pre-commit-config.yaml", "a\n", "b\n", [".pre-commit-config.yaml: what runs the checks is changed"]),
        (
            "requirements.txt",
            "idna==3.7 \\\n    --hash=sha256:0123456789abcdef\n",
            "idna==3.7\n",
            ["requirements.txt: idna==3.7 --hash=sha256:01234567… becomes idna==3.7"],
        ),
        (
            "requirements.txt",
            "idna==3.7\n",
            "--extra-index-url https://a.example/simple\nidna==3.7\n",
            ["requirements.txt: --extra-index-url https://a.example/simple is added"],
        ),
        ("requirements.txt", "--require-hashes\n", "", ["requirements.txt: --require-hashes is removed"]),
        (
            "requirements.txt",
            'idna==3.7; python_version<"3.9"\nidna==3.9; python_version>="3.9"\n',
            'idna; python_version<"3.9"\nidna==3.9; python_version>="3.9"\n',
            ['requirements.txt: idna==3.7; python_version<"3.9" becomes idna; python_version<"3.9"'],
        ),
        (
            "Dockerfile",
            "FROM --platform=x python:3.12@sha256:01 AS a\nFROM alpine:3\n",
            "FROM python:3.12\nFROM alpine:3\nFROM busybox\n",
            ["Dockerfile: python:3.12@sha256:01 becomes python:3.12"],
        ),
        (
            "package.json",
            '{"engines": {"node": ">=20"}}',
            '{"overrides": {"a": "1"}}',
            ['package.json: engines {"node": ">=20"} is removed', 'package.json: overrides {"a": "1"} is added'],
        ),
        (".npmrc", "", "registry=https://a.example\n", [".npmrc: registry=https://a.example is added"]),
        ("a.ts", "f(x)\n", "// @ts-ignore\nf(x)\n", ["a.ts: adds @ts-ignore"]),
        ("tests/test_a.py", TESTS, "", ["tests/test_a.py: the file of tests is deleted"]),
        ("tests/test_a.py", TESTS, TESTS.partition("\n\n\n")[0] + "\n", ["tests/test_a.py: test_b is removed"]),
        ("tests/test_a.py", TESTS, TESTS.replace("== 3", "is not None"), ["tests/test_a.py: test_a is changed"]),
        (
            "tests/test_a.py",
            TESTS,
            f"import pytest\n\n\n@pytest.mark.skip\n{TESTS}",
            ["tests/test_a.py: adds mark.skip", "tests/test_a.py: test_a is changed"],
        ),
        ("tests/test_a.py", TESTS, f"{TESTS}\n\ndef test_c():\n    assert add(1, 1) == 2\n", []),
        ("a.test.ts", 'test("a", () => {});\n', 'test.skip("a", () => {});\n', ["a.test.ts: adds test.skip"]),
    ],
)
def test_it_is_said(path: str, old: str, new: str, said: list[str]) -> None:
    found = said_changes({path: old} if old else {}, {path: new} if new else {})
    assert found[: len(said)] == said
    assert bool(found) == bool(said)


def test_a_pin_that_a_person_wants_changed_is_not_said() -> None:
    change = {"requirements.txt": "flask==2\nidna==3\n"}, {"requirements.txt": "flask==3\nidna==4\n"}
    assert said_changes(*change, frozenset({"flask"})) == ["requirements.txt: idna==3 becomes idna==4"]


def test_a_wanted_version_is_no_leave_to_drop_hashes() -> None:
    old = {"requirements.txt": "flask==2 --hash=sha256:0123456789\n"}
    wanted = frozenset({"flask"})
    assert said_changes(old, {"requirements.txt": "flask==3 --hash=sha256:9876543210\n"}, wanted) == []
    assert said_changes(old, {"requirements.txt": "flask==3\n"}, wanted) == [
        "requirements.txt: flask==2 --hash=sha256:01234567… becomes flask==3"
    ]


def test_a_secret_in_an_address_of_an_index_is_not_shown() -> None:
    secret = "ghp_" + "a1B2" * 9
    change = {}, {"requirements.txt": f"--index-url https://u:{secret}@a.example/simple\n"}
    (line,) = said_changes(*change)
    assert secret not in line


@each_row(
    "text",
    [
        'project = "x"',
        "[project]\noptional-dependencies = []",
        "[project]\ndependencies = 5",
        "dependency-groups = 3",
        "[dependency-groups]\na = 1",
    ],
)
def test_an_odd_project_file_has_no_pins(text: str) -> None:
    assert language("python").pins("pyproject.toml", text) == {}
    assert "pyproject.toml: idna==3.7 is removed" in said_changes(
        {"pyproject.toml": '[project]\ndependencies = ["idna==3.7"]\n'}, {"pyproject.toml": text}
    )
