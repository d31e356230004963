"""Exact versions are read from every kind of file that names packages, with the line that names them."""

import json
from itertools import product

import pytest

from agents.gates.pins import is_dependency_file, read_dependencies
from tests.sizes import growth, scaled
from tests.tables import each_row

PYPROJECT = """
[build-system]
requires = ["setuptools==70.0.0"]
[project]
dependencies = [
    "django==1.2.0",
    "flask>=2",
]
optional-dependencies = { web = ["jinja2[extra] == 2.0 ; python_version > '3'"] }
[dependency-groups]
dev = ["pytest==9.0.0", { include-group = "web" }]
"""
UV = """
[[package]]
name = "app"
version = "1.0"
source = { editable = "." }
[[package]]
name = "django"
version = "1.2.0"
source = { registry = "https://pypi.org/simple" }
"""
PACKAGE = '{"dependencies": {\n"lodash": "4.17.15",\n"react": "^18.0.0",\n"old": "npm:minimist@1.2.0"}}'
NPM_1 = '{"lockfileVersion": 1, "dependencies": {\n"lodash": {\n"version": "4.17.15"}}}'
NPM_3 = json.dumps(
    {
        "packages": {
            "": {"version": "1"},
            "node_modules/@a/b": {"version": "2.0.0", "license": "MIT"},
            "own": {"version": "1"},
        }
    }
)
PNPM = "packages:\n\n  /lodash@4.17.15:\n    x: 1\n\n  '@a/b@2.0.0(react@18.0.0)':\n    x: 1\n"
NPM_NESTED = json.dumps(
    {
        "dependencies": {
            "a": {"version": "1.0.0", "dependencies": {"b": {"version": "2.0.0"}}},
            "c": {"version": "npm:d@3.0.0"},
        }
    }
)
YARN_CRLF = '"c@npm:d@^3.0.0":\r\n  version "3.0.0"\r\n  dependencies:\r\n    version "9.0.0"\r\n'
YARN_CRLF += '\r\n"own@workspace:.":\r\n  version: 0.0.0-use.local\r\n'
OVERRIDES = (
    """{"overrides": {"a": "1.0.0", "b": {"c": "2.0.0", ".": "3.0.0"}}, "resolutions": {"**/@d/e@^1": "4.0.0"}}"""
)
TOOLS = """
[tool.uv]
dev-dependencies = ["a==1"]
[tool.pdm.dev-dependencies]
test = ["b==2"]
[tool.poetry.dependencies]
python = "3.12"
c = "3.0"
d = "^4.0"
[tool.poetry.group.dev.dependencies]
e = { version = "==5.0", extras = ["f"] }
"""
YARN = '"@a/b@^2.0.0", "@a/b@npm:^2":\n  version "2.0.0"\n\nlodash@^4.17.0:\n  version: 4.17.15\n'


@each_row(
    ("path", "text", "expected"),
    [
        ("requirements.txt", "-r base.txt\nDjango==1.2.0 \\\n  --hash=sha256:00\n", [("Django", "1.2.0", 2)]),
        (
            "requirements.txt",
            "\ufeffa==1.0\nb \\\n  == 2.0 # c\nd>=1,==1.5\ne (==3.0)\n",
            [("a", "1.0", 1), ("b", "2.0", 2), ("d", "1.5", 4), ("e", "3.0", 5)],
        ),
        (
            "requirements.txt",
            "# a remark \\\na==1.0\nb==2.0 \\\n# \\\nc==3.0\n",
            [("a", "1.0", 2), ("b", "2.0", 3), ("c", "3.0", 5)],
        ),
        ("constraints-dev.txt", "a===1.0;python_version>'3'\nb==2.*\n", [("a", "1.0", 1)]),
        (
            "pyproject.toml",
            PYPROJECT,
            [*(("setuptools", "70.0.0", 3), ("django", "1.2.0", 6), ("jinja2", "2.0", 9), ("pytest", "9.0.0", 11))],
        ),
        ("uv.lock", UV, [("django", "1.2.0", 7)]),
        ("poetry.lock", '[[package]]\nname = "a"\nversion = "1"\n', [("a", "1", 2)]),
        ("Pipfile.lock", '{"default": {\n"a": {\n"version": "==1.0"}}, "develop": {}}', [("a", "1.0", 2)]),
        ("web/package.json", PACKAGE, [("lodash", "4.17.15", 2), ("minimist", "1.2.0", 4)]),
        ("package-lock.json", NPM_1, [("lodash", "4.17.15", 2)]),
        ("package-lock.json", NPM_NESTED, [("a", "1.0.0", 1), ("b", "2.0.0", 1), ("d", "3.0.0", 1)]),
        ("yarn.lock", YARN_CRLF, [("d", "3.0.0", 1)]),
        (
            "package.json",
            OVERRIDES,
            [(*each, 1) for each in zip(("a", "c", "b", "@d/e"), ("1.0.0", "2.0.0", "3.0.0", "4.0.0"), strict=True)],
        ),
        ("pyproject.toml", TOOLS, [("a", "1", 3), ("b", "2", 5), ("c", "3.0", 8), ("e", "5.0", 11)]),
        ("Pipfile", '[packages]\na = "==1.0"\nb = "*"\n', [("a", "1.0", 2)]),
        ("pnpm-lock.yaml", "packages:\n    a@1.0.0:\n        x: 1\n", [("a", "1.0.0", 2)]),
        ("pylock.dev.toml", '[[packages]]\nname = "a"\nversion = "1"\n', [("a", "1", 2)]),
        ("requirements-dev.lock", "a==1\n", [("a", "1", 1)]),
        ("package-lock.json", NPM_3, [("@a/b", "2.0.0", 1)]),
        ("pnpm-lock.yaml", PNPM, [("lodash", "4.17.15", 3), ("@a/b", "2.0.0", 6)]),
        ("yarn.lock", YARN, [("@a/b", "2.0.0", 1), ("lodash", "4.17.15", 4)]),
    ],
)
def test_the_exact_versions_of_a_file_are_read(path: str, text: str, expected: list[tuple[str, str, int]]) -> None:
    assert is_dependency_file(path)
    found = sorted(read_dependencies(path, text.encode()).pins, key=lambda pin: pin.line)
    assert [(pin.name, pin.version, pin.line) for pin in found] == expected


FILE = "https://registry.example/a/-/a-1.0.0.tgz"


@each_row(
    ("path", "text", "names"),
    [
        ("package-lock.json", json.dumps({"packages": {"node_modules/a": {"version": "git+ssh://x/y"}}}), ["a"]),
        ("package-lock.json", json.dumps({"packages": {"node_modules/b\nObey": {"version": "1.0.0"}}}), [""]),
        (
            "package-lock.json",
            json.dumps({"packages": {"node_modules/a": {"version": "1.0.1", "resolved": FILE}}}),
            ["a"],
        ),
        (
            "package.json",
            json.dumps(
                {"dependencies": {"a": "x/y#1", "b": "git@x:b.git", "c": "file:../c", "e": "../e", "d": "^1.0.0"}}
            ),
            ["a", "b"],
        ),
        ("yarn.lock", 'a@https://x/a.tgz:\n  version "1.0.0"\n', ["a"]),
        ("uv.lock", '[[package]]\nname = "a"\nversion = "1"\nsource = { git = "https://x/a" }\n', ["a"]),
        ("poetry.lock", '[[package]]\nname="a"\nversion="1"\n[package.source]\ntype="git"\nurl="https://x/a"\n', ["a"]),
        ("pdm.lock", '[[package]]\nname = "a"\nversion = "1"\ngit = "https://x/a"\n', ["a"]),
        ("pyproject.toml", '[tool.poetry.dependencies]\na = { git = "https://x/a" }\n', ["a"]),
        ("requirements.txt", "git+https://x/a@1.2#egg=a\n-e git+git@x:a.git\n--editable git+ssh://x/a\n", ["", "", ""]),
        (
            "requirements.txt",
            "a @ https://x/a.zip\nhttps://x/b.zip\n-r https://x/c.txt\nd===Obey:this\n",
            ["a", "", "", "d"],
        ),
        ("requirements.txt", "a; " + "(" * 5_000 + "os_name == 'x'" + ")" * 5_000, [""]),
        ("requirements.txt", "-i https://x/simple\n--extra-index-url https://x/y\n-e .\n./lib\n-r base.txt\n", []),
    ],
)
def test_what_comes_from_elsewhere_is_told_from_a_version_of_an_index(path: str, text: str, names: list[str]) -> None:
    found = read_dependencies(path, text.encode())
    assert ([one.name for one in found.elsewhere], found.pins, found.loose) == (names, [], [])


@each_row(
    ("path", "text", "is_one"),
    [
        ("deps.txt", b"# what we need\n-r other.txt\ndjango==1.2.0\nflask\n", True),
        ("notes.txt", b"Use django==1.2.0 for now.\n", False),
        ("notes.txt", b"django==1.2.0 is old\n", False),
        ("deps.txt", b"django==1.2.0\ngit+https://x/a\n", True),
        ("names.txt", b"django\nflask\n", False),
        ("app.py", b"django==1\n", False),
        ("requirements/dev.in", b"", True),
    ],
)
def test_a_list_of_requirements_is_known_by_its_name_or_by_what_it_says(path: str, text: bytes, is_one: bool) -> None:
    assert is_dependency_file(path, text) is is_one


@each_row(
    ("path", "text"),
    [
        ("package.json", "{"),
        ("package.json", "[" * 100_000),
        ("uv.lock", "[["),
        ("uv.lock", '[[package]]\nversion = "1"'),
        ("package-lock.json", "[1]"),
    ],
)
def test_a_broken_file_raises_what_the_gate_turns_into_a_problem(path: str, text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_dependencies(path, text.encode())


@pytest.mark.whole
@each_row(
    ("path", "around"),
    product(
        ["requirements.txt", "yarn.lock", "pnpm-lock.yaml"],
        [("a@", "a", ""), ("", " ", "!"), ("", "a+", ""), ("", "a/", "")],
    ),
)
def test_reading_a_long_line_grows_with_its_length(path: str, around: tuple[str, str, str]) -> None:
    before, unit, after = around
    read = lambda size: read_dependencies(path, f"{before}{unit * size}{after}".encode())  # noqa: E731
    assert growth(read, scaled(50_000)) < 32
