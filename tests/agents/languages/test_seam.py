"""What differs from language to language is said in agents/languages alone."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.engine.nodes.common import system_turn
from agents.languages.python import syntax
from agents.languages.registry import LANGUAGES, UnknownLanguage, language, language_of, language_of_task, languages
from agents.personas import CODER, TESTER

ROOT = Path(__file__).parents[3]
ROOMS = ("agents", "projects", "dashboard", "aiswe_site", "measure/commands", "measure/trials")
ALLOWED = (
    "agents/languages/",
    "agents/gates/",
    "agents/firewall/code/",
    "agents/fragments/",  # the team that writes Streamlit apps, which are Python
    "agents/mutation/",
    "agents/recipes/library/",  # first files of projects
    "measure/trials/datasets.py",  # reads data sets of Python programs
    "measure/trials/mistakes.py",  # makes small mistakes in them
)
# A reply may hold its files as a dict in Python's notation, whatever they are written in.
NOTATION = "agents/replies/filejson.py"
WORDS = (".py", "pytest")


def modules() -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(ALLOWED) and "/migrations/" not in name:
                yield path


def literals(tree: ast.Module) -> Iterator[ast.Constant]:
    """String literals that are no docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


def trespasses(name: str, source: str) -> list[str]:
    tree = syntax.parse(source)
    found = [
        f"{name}:{node.lineno}: {node.value[:60]!r}"
        for node in literals(tree)
        if any(word in node.value for word in WORDS)
    ]
    for line, module in imports(tree):
        direct = module.startswith(tuple(f"agents.languages.{known}" for known in LANGUAGES)) and name != NOTATION
        if module == "ast" or direct:
            found.append(f"{name}:{line}: imports {module}")
    return found


def test_nothing_outside_of_the_languages_names_one() -> None:
    found = [line for path in modules() for line in trespasses(path.relative_to(ROOT).as_posix(), path.read_text())]
    assert found == []


def test_the_scan_finds_what_it_looks_for() -> None:
    source = (
        '"""About a.py."""\nimport ast\nfrom agents.languages.python import text\nx = "a.py"\ny = f"run {x} pytest"\n'
    )
    assert [line.partition(" ")[0] for line in trespasses("m", source)] == ["m:4:", "m:5:", "m:2:", "m:3:"]


def test_an_unknown_language_fails_with_the_known_ones() -> None:
    with pytest.raises(UnknownLanguage, match="Known: node, python"):
        language("cobol")
    with pytest.raises(UnknownLanguage, match="cobol"):
        language_of_task({"language": "cobol"})


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_a_language_claims_suffixes_and_labels_of_its_own(name: str) -> None:
    mine = language(name)
    others = [one for one in languages() if one is not mine]
    assert mine.name == name
    assert language_of(f"a{mine.suffixes[0]}") is mine
    assert not {*mine.suffixes, *mine.labels} & {word for one in others for word in (*one.suffixes, *one.labels)}


def test_a_task_is_written_in_the_language_of_its_files_and_in_doubt_in_the_default(monkeypatch) -> None:
    monkeypatch.setitem(LANGUAGES, "toy", "tests.agents.languages.toy.language.Toy")
    for files, name in (
        (["a.py", "page.js"], "python"),
        (["page.js"], "node"),
        (["static/page.js"], "python"),  # a browser runs it, and no test of Node
        (["a.toy", "README.md"], "toy"),
        (["a.toy", "a.py"], "python"),
        (["README.md"], "python"),
        ([], "python"),
    ):
        assert language_of_task({"files": files}).name == name, files
    assert language_of_task({"files": ["a.py"], "language": "toy"}).name == "toy"


def test_the_rules_of_a_persona_speak_of_the_language_of_the_task(monkeypatch) -> None:
    monkeypatch.setitem(LANGUAGES, "toy", "tests.agents.languages.toy.language.Toy")

    class Context:
        house_rules, test_packages, recipe_lines = "", (), {}

    def said(persona, path: str) -> str:
        return system_turn(persona, Context(), {"files": [path]})["content"]  # type: ignore[arg-type]

    assert "```toy path=sums.toy" in said(CODER, "a.toy")
    assert "Write toy expectations before" in said(TESTER, "a.toy")
    assert "hypothesis" not in said(TESTER, "a.toy")
    assert "Write pytest files before" in said(TESTER, "a.py")
    assert "add a hypothesis test with" in said(TESTER, "a.py")
