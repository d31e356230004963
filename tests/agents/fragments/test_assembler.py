"""The assembler's files: the same from the same fragments, whole, and without what would clash."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.fragments import assembler
from agents.fragments.blueprint import ProjectBlueprint
from agents.fragments.snippets import read_code
from agents.languages.python import syntax
from tests.agents.fragments import crm


def all_files(blueprint: ProjectBlueprint, logic: Any = crm.LOGIC, ui: Any = crm.UI, lock: str = "") -> dict[str, str]:
    return assembler.assemble(blueprint, logic, ui, lock) | assembler.tests_of(blueprint)


def test_the_app_is_app_logic_state_requirements_and_tests() -> None:
    files = all_files(crm.whole())
    assert list(files) == assembler.files_of(crm.whole())
    assert files == all_files(crm.whole())
    assert (
        "from logic import add_customer, calculate_tax, find_customers\nfrom state import init_state\n"
        in files["app.py"]
    )
    assert '    "New customer": render_new_customer,\n' in files["app.py"]
    assert '        "customers": [],\n        "rate": 0.19,\n' in files["state.py"]
    assert files["requirements.txt"] == "streamlit\n"


def test_every_file_passes_the_linter(tmp_path: Path) -> None:
    logic = {name: read_code(text, name) for name, text in crm.LOGIC.items()}
    for path, text in all_files(crm.whole(), logic).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    argv = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,I,B,UP", "--line-length", "120", "."]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_versions_are_those_that_were_fetched() -> None:
    lock = "altair==6.3.0 \\\n    --hash=sha256:aa\nPyYAML==6.1 \\\n    --hash=sha256:bb\nstreamlit==1.67.0 \\\n"
    files = all_files(crm.whole(packages=["pyyaml"]), lock=lock)
    assert files["requirements.txt"] == "pyyaml==6.1\nstreamlit==1.67.0\n"


def test_imports_are_merged_and_those_that_nothing_uses_are_left_out() -> None:
    tax = crm.LOGIC["calculate_tax"].replace("float(amount)", "m.fabs(float(amount))")
    logic = crm.LOGIC | {
        "add_customer": f"import json\nfrom typing import Any, Union\n\n\n{crm.LOGIC['add_customer']}",
        "calculate_tax": f"import math as m\nfrom typing import Any\n\n\n{tax}",
    }
    text = all_files(crm.whole(), logic)["logic.py"]
    imports = [line for line in text.splitlines() if line.startswith(("import", "from"))]
    assert imports == ["from __future__ import annotations", "import math as m", "from typing import Any"]


def test_the_same_helper_stands_once_and_another_one_of_its_name_is_renamed() -> None:
    helper = "LIMIT = 3\n\n\ndef _clean(text):\n    return text.strip()\n\n\n"
    other = "LIMIT = 4\n\n\ndef _clean(text):\n    return text.strip()[:LIMIT]\n\n\n"
    tax = crm.LOGIC["calculate_tax"].replace("float(amount)", "float(_clean(amount))")
    logic = crm.LOGIC | {
        "add_customer": helper + crm.LOGIC["add_customer"],
        "find_customers": helper + crm.LOGIC["find_customers"],
        "calculate_tax": other + tax,
    }
    text = all_files(crm.whole(), logic)["logic.py"]
    space: dict[str, Any] = {}
    exec(compile(text, "logic", "exec"), space)
    assert text.count("def _clean(") == 1
    assert text.count("LIMIT = 3") == 1
    assert "calculate_tax_LIMIT = 4" in text
    assert space["calculate_tax"]("12345", 1.0) == 1234.0
    assert space["_clean"](" 12345 ") == "12345"


def test_helpers_of_two_pages_do_not_clash_either() -> None:
    ui = {
        "customers": f"def rows():\n    return []\n\n\n{crm.UI['customers']}".replace(
            "= find_customers", "= rows() or find_customers"
        ),
        "new_customer": f"import streamlit as st\n\n\ndef rows():\n    return [1]\n\n\n{crm.UI['new_customer']}",
    }
    text = all_files(crm.whole(), ui=ui)["app.py"]
    names = [node.name for node in syntax.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert len(names) == len({*names})
    assert text.count("import streamlit as st") == 1


def test_text_of_the_blueprint_stays_text() -> None:
    title = 'C"R\\M """ {x}'
    blueprint = crm.whole(title=title, summary="a\\nb ' \" # {y}")
    for path, text in all_files(blueprint).items():
        if path.endswith(".py"):
            module = syntax.parse(text)
            assert ast.get_docstring(module), path
    shown = [
        node.value for node in ast.walk(syntax.parse(all_files(blueprint)["app.py"])) if isinstance(node, ast.Constant)
    ]
    assert title in shown


@pytest.mark.parametrize("state", [[], [{"name": "customers", "type": "list", "default": "[{'a': None, 'b': True}]"}]])
def test_any_state_is_written_as_code_that_runs(state: list[dict[str, str]]) -> None:
    ui = [page | {"reads": [], "writes": []} for page in crm.blueprint()["ui"]][:1]
    files = all_files(crm.whole(state=state, ui=ui))
    space: dict[str, Any] = {}
    exec(compile(files["state.py"], "state", "exec"), space)
    session: dict[str, Any] = {"customers": "kept"}
    space["init_state"](session)
    assert session == {"customers": "kept"}
    assert space["defaults"]() == {one["name"]: ast.literal_eval(one["default"]) for one in state}
    assert "radio" not in files["app.py"]  # one page needs no choice
    assert "st.header(page" in files["app.py"]


def test_the_examples_become_tests_that_fail_for_wrong_code() -> None:
    examples = [
        {"call": "calculate_tax('1', 0.5)", "result": "[{'a': 0.1}]", "raises": ""},
        {"call": "calculate_tax('2', 0.5)", "result": "None", "raises": ""},
        {"call": "calculate_tax('3', 0.5)", "result": "True", "raises": ""},
        {"call": "calculate_tax('4', 0.5)", "result": "'x'", "raises": ""},
        {"call": "calculate_tax('5', 0.5)", "result": "0.30000000000000004", "raises": ""},
        {"call": "calculate_tax('6', 0.5)", "result": "", "raises": "KeyError"},
    ]
    logic = crm.blueprint()["logic"]
    logic[2] |= {"returns": "Any", "examples": examples}
    text = assembler.tests_of(crm.whole(logic=logic))["tests/test_logic.py"]
    results = {"1": "[{'a': 0.1}]", "2": "None", "3": "True", "4": "'x'", "5": "0.1 + 0.2", "6": "{}['a']"}
    rows = "".join(f"    if amount == {key!r}:\n        return {value}\n" for key, value in results.items())
    right = f"def calculate_tax(amount, rate):\n{rows}"
    for code, passed in ((right, 9), (f"{right.split(':')[0]}:\n    return 1\n", 3)):
        names: dict[str, Any] = {}
        others = "".join(f"{one}\n\n" for name, one in crm.LOGIC.items() if name != "calculate_tax")
        exec(compile(f"from typing import Any\n{others}{code}", "logic", "exec"), names)
        space: dict[str, Any] = dict(names)
        exec(compile(text.replace("from logic import", "# from"), "tests", "exec", dont_inherit=True), space)
        found = [name for name, function in space.items() if name.startswith("test_") and _passes(function)]
        assert len(found) == passed, found


def test_pages_are_drawn_without_rows_where_a_page_changes_a_list_that_begins_with_some() -> None:
    rows = {"name": "customers", "type": "list[dict[str, Any]]", "default": "[{'name': 'Ada', 'worth': 1.0}]"}
    kinds = {"name": "kinds", "type": "list[str]", "default": "['a']"}  # no page changes it: it is never empty
    text = assembler.tests_of(crm.whole(state=[rows, kinds, *crm.blueprint()["state"][1:]]))["tests/test_app.py"]
    assert "check(opened(page, customers=[]))" in text
    assert "def opened(page: str, **state: object)" in text
    assert "opened(page, " not in assembler.tests_of(crm.whole())["tests/test_app.py"]


def _passes(test: Any) -> bool:
    try:
        test()
    except (AssertionError, pytest.fail.Exception):
        return False
    return True
