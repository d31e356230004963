"""What is shown of a long file."""

from pathlib import Path

from agents.context.files import outline
from tests.agents.context.support import SHOP, existing_files, repository_of

FILLER = "".join(f"def f{n}(x):\n    return '{'y' * 1_000}'\n\n\n" for n in range(40))
DOC = "A text that says what this does, and a second line of it.\n"
DEFAULT = "The default is ['-', '=']"


def long_file(tmp_path: Path, code: str, **more: str) -> str:
    """What a coder, or whoever else, is shown of shop/long.py with this code at its top."""
    repository, sha = repository_of(tmp_path, SHOP | {"shop/long.py": code + "\n\n" + FILLER})
    about = more.pop("about")
    return existing_files(repository, sha, ["shop/long.py"], about, calls=more.get("by", "coder") == "coder").text


def test_the_verb_that_a_task_begins_with_speaks_of_no_function(tmp_path: Path) -> None:
    code = (
        f'def add_rows(rows):\n    """{DOC}    """\n    return [row * 2 for row in rows if {"row and " * 40}row]\n\n\n'
        "def total(rows):\n    return sum(add_rows(rows))\n"
    )
    shown = long_file(tmp_path, code, about="Add a method: `total` counts the rows")
    assert "def add_rows(rows):" in shown
    assert "row * 2" not in shown


def test_the_name_of_a_module_tells_nothing_of_its_values(tmp_path: Path) -> None:
    code = "LONG_RATE = 3\nTAX_RATE = 4\n\n\ndef total(rows):\n    return rows\n"
    shown = long_file(tmp_path, code, about="`total` of a long list, with the tax")
    assert "TAX_RATE = 4" in shown
    assert "LONG_RATE = 3" not in shown


def test_a_function_that_hides_one_of_pythons_own_is_not_shown_where_it_is_called(tmp_path: Path) -> None:
    code = "def len(x):\n    return 7\n\n\ndef half(x):\n    return x\n\n\n"
    code += "def total(rows):\n    return half(len(rows))\n"
    shown = long_file(tmp_path, code, about="`total` is wrong")
    assert "def half(x)" in shown
    assert "def len(x)" not in shown
    assert "def len(x)" in long_file(tmp_path / "named", code, about="`len` is wrong")


def test_who_writes_tests_is_shown_the_docstring_that_tells_of_a_sign_which_the_task_quotes(tmp_path: Path) -> None:
    code = (
        f'def set_marks(marks):\n    """{DOC}\n    {DEFAULT}\n    """\n    marks.sort()\n'
        "    return marks\n\n\n"
        "def total(rows):\n    return rows\n"
    )
    about = "`total` ends with a line of `=`"
    shown = long_file(tmp_path, code, about=about, by="tester")
    assert "The default is ['-', '=']" in shown
    assert "marks.sort()" not in shown
    assert "The default" not in long_file(tmp_path / "coder", code, about=about)


def test_who_writes_a_new_test_file_is_shown_how_one_of_a_module_that_is_used_begins(tmp_path: Path) -> None:
    code = "def used(x):\n    return x\n\n\n"
    tests = {
        f"tests/test_{name}.py": f"import {name}\n\n\ndef test_{name}():\n    assert {name}\n"
        for name in ("alone", "long", "other")
    }
    repository, sha = repository_of(tmp_path, SHOP | tests | {"shop/long.py": code + FILLER})
    own = ["shop/new.py", "tests/test_new.py"]
    shown = existing_files(repository, sha, own, "New, it takes `used`", calls=False).text
    part = shown.partition("How a test file here begins:\n\n")[2]
    assert part.startswith("```path=tests/test_long.py from=repository\nimport long\n\n\ndef test_long():\n…\n```")
    assert "How a test file" not in existing_files(repository, sha, own, "New, it takes `used`").text
    there = existing_files(repository, sha, ["shop/new.py", "tests/test_other.py"], "`used`", calls=False).text
    assert "How a test file" not in there


def test_a_plans_map_names_helpers_of_helpers_that_say_what_the_requirements_speak_of(tmp_path: Path) -> None:
    helpers = "".join(
        f'def _{name}(x):\n    """{text}."""\n    return x\n\n\n'
        for name, text in {"cell": "Handles the formatting of a cell", "other": "Opens a door"}.items()
    )
    code = f"def total(rows):\n    return row(rows)\n\n\ndef row(x):\n    return _cell(x) + _other(x)\n\n\n{helpers}"
    repository, sha = repository_of(tmp_path, SHOP | {"shop/long.py": code + FILLER})
    shown = outline(repository, sha, "`total` is formatted like the cells")
    assert "def _cell(x)" in shown
    assert "def _other(x)" not in shown
