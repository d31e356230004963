"""From a blueprint and the code of its fragments to the files of a Streamlit app. Deterministic: no model has a say."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents.fragments.blueprint import LogicExample, LogicFragment, ProjectBlueprint
from agents.fragments.snippets import names_in, parts_of, renamed
from agents.fragments.values import read_value
from agents.languages.python import syntax

APP, LOGIC, STATE, REQUIREMENTS = "app.py", "logic.py", "state.py", "requirements.txt"
LOGIC_TESTS, APP_TESTS = "tests/test_logic.py", "tests/test_app.py"
FRAMEWORK, FRAMEWORK_NAME = "streamlit", "st"  # and what the app calls it
FUTURE = "from __future__ import annotations"
RENDER_SECONDS = 120  # of a test: the first page loads Streamlit's libraries, on a busy machine slowly
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\;]+)", re.MULTILINE)


def assemble(
    blueprint: ProjectBlueprint, logic: Mapping[str, str], ui: Mapping[str, str], lock: str = ""
) -> dict[str, str]:
    """The app's files without its tests; `logic` and `ui` are the code of each fragment by its name.

    `lock` is the text that pins packages, for the versions in requirements.txt.
    """
    return {
        APP: _app(blueprint, [ui[page.name] for page in blueprint.ui]),
        LOGIC: _logic(blueprint, [(one.name, logic[one.name]) for one in blueprint.logic]),
        STATE: _state(blueprint),
        REQUIREMENTS: _requirements(blueprint, lock),
    }


def tests_of(blueprint: ProjectBlueprint) -> dict[str, str]:
    """The app's tests: every example of its logic, and every page drawn. They follow from the blueprint alone."""
    return {LOGIC_TESTS: _logic_tests(blueprint), APP_TESTS: _app_tests(blueprint)}


def files_of(blueprint: ProjectBlueprint) -> list[str]:
    """Every path that is written, tests included."""
    return [APP, LOGIC, STATE, REQUIREMENTS, *tests_of(blueprint)]


def packages_of(blueprint: ProjectBlueprint) -> list[str]:
    """The packages that the app needs, Streamlit first."""
    return list(dict.fromkeys([FRAMEWORK, *(name for name in blueprint.packages if name.lower() != FRAMEWORK)]))


def _quoted(value: object) -> str:
    """A value in Python's notation; texts in double quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {_quoted(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_quoted, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _docstring(text: str) -> str:
    """Text as a docstring: nothing in it ends the string or escapes from it."""
    return '"""' + text.replace("\\", "/").replace('"', "'") + '"""'


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def merged_imports(lines: Iterable[str]) -> list[str]:
    """Import statements, each module once: the standard library's first, sorted."""
    plain, named = set[str](), dict[str, set[str]]()
    for node in (node for line in lines for node in syntax.parse(line).body):
        if isinstance(node, ast.Import):
            plain |= {ast.unparse(ast.Import([one])) for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            named.setdefault(node.module or "", set()).update(ast.unparse(ast.Import([one]))[7:] for one in node.names)
    return sorted(plain) + [f"from {module} import {', '.join(sorted(named[module]))}" for module in sorted(named)]


def _used(imports: Sequence[str], body: str) -> list[str]:
    """The imports of which the body uses a name, with those names alone."""
    names, kept = names_in(body), []
    for line in imports:
        for node in syntax.parse(line).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                node.names = [one for one in node.names if (one.asname or one.name.partition(".")[0]) in names]
                kept += [ast.unparse(node)] if node.names else []
    return kept


def _joined(codes: Sequence[tuple[str, str]], reserved: Iterable[str]) -> tuple[list[str], list[str]]:
    """Imports and definitions of several fragments: the same helper once, another one of its name renamed."""
    imports: list[str] = []
    there: dict[str, str] = dict.fromkeys(reserved, "")
    texts: list[str] = []
    for fragment, code in codes:
        parts = parts_of(code)
        imports += [part.text for part in parts if part.is_import]
        own = [part for part in parts if not part.is_import]
        taken = {name for part in own for name in part.names if there.get(name, part.text) != part.text}
        names = {name: _free(f"{fragment}_{name.lstrip('_')}", there) for name in sorted(taken - {fragment})}
        for part in own:
            text = renamed(part.text, names) if names else part.text
            known = tuple(names.get(name, name) for name in part.names)
            if not known or any(there.get(name) != text for name in known):
                texts.append(text)
                there |= dict.fromkeys(known, text)
    return imports, texts


def _free(name: str, there: Mapping[str, str]) -> str:
    while name in there:
        name += "_"
    return name


def _module(docstring: str, imports: Sequence[Sequence[str]], parts: Sequence[str]) -> str:
    head = "\n\n".join(["\n".join(group) for group in [[_docstring(docstring)], [FUTURE], *imports] if group])
    texts = [part.strip() for part in parts]
    opens = bool(texts) and texts[0].startswith(("def ", "class ", "@", "async def "))  # else one line is left free
    return head + ("\n\n\n" if opens else "\n\n") + "\n\n\n".join(texts) + "\n"


def _logic(blueprint: ProjectBlueprint, codes: Sequence[tuple[str, str]]) -> str:
    imports, texts = _joined(codes, ())
    kept = _used(merged_imports(imports), "\n".join(texts))
    return _module(f"What {blueprint.title} computes: functions of plain values, without Streamlit.", [kept], texts)


def _state(blueprint: ProjectBlueprint) -> str:
    fields = "\n".join(f"    {one.name}: {one.type}" for one in blueprint.state) or "    pass"
    rows = "".join(f"        {_quoted(one.name)}: {_quoted(one.value)},\n" for one in blueprint.state)
    values = f"{{\n{rows}    }}" if rows else "{}"
    parts = [
        f'class AppState(TypedDict):\n    """Every value that the app remembers, by name."""\n\n{fields}',
        'def defaults() -> AppState:\n    """The values at the start, fresh ones for every session."""\n'
        f"    return {values}",
        "def init_state(session: MutableMapping[Any, Any]) -> None:\n"
        '    """Put into the session what it does not have yet; what people did in it stays."""\n'
        "    for name, value in defaults().items():\n"
        "        if name not in session:\n"
        "            session[name] = value",
    ]
    imports = ["from collections.abc import MutableMapping", "from typing import Any, TypedDict"]
    return _module("What the app remembers from one run of its script to the next.", [imports], parts)


def _app(blueprint: ProjectBlueprint, codes: Sequence[str]) -> str:
    logic = {one.name for one in blueprint.logic}
    named = [(page.function, code) for page, code in zip(blueprint.ui, codes, strict=True)]
    imports, texts = _joined(named, {*logic, "st", "main", "PAGES", "init_state"})
    body = "\n".join(texts)
    own = [line for line in imports if not re.match(r"(?:import streamlit\b|from (?:streamlit|logic) import)", line)]
    kept = _used(merged_imports(own), body)
    stdlib = [line for line in kept if not _is_installed(line, blueprint)]
    installed = sorted([*(line for line in kept if line not in stdlib), "import streamlit as st"])
    used = sorted(logic & names_in(body))
    local = [f"from logic import {', '.join(used)}"] if used else []
    pages = "".join(f"    {_quoted(page.title)}: {page.function},\n" for page in blueprint.ui)
    parts = [*texts, f"PAGES = {{\n{pages}}}", _main(blueprint), 'if __name__ == "__main__":\n    main()']
    about = f"{_sentence(f'{blueprint.title}: {blueprint.summary}')} Start it with: streamlit run {APP}"
    return _module(about, [stdlib, installed, [*local, "from state import init_state"]], parts)


def _is_installed(line: str, blueprint: ProjectBlueprint) -> bool:
    top = re.split(r"[ .]", line.split(" ", 1)[1])[0]
    return top.lower() in {name.lower().replace("-", "_") for name in blueprint.packages}


def _main(blueprint: ProjectBlueprint) -> str:
    title, summary = _quoted(blueprint.title), _quoted(blueprint.summary)
    several = len(blueprint.ui) > 1
    sidebar = f"    with st.sidebar:\n        st.title({title})\n        st.caption({summary})\n"
    choice = '        page = st.radio("Pages", list(PAGES), label_visibility="collapsed")\n' if several else ""
    first = "" if several else f"    page = {_quoted(blueprint.ui[0].title)}\n"
    return (
        "def main() -> None:\n"
        '    """Draw the page that is chosen in the sidebar."""\n'
        f'    st.set_page_config(page_title={title}, layout="wide")\n'
        "    init_state(st.session_state)\n"
        f"{sidebar}{choice}{first}"
        "    st.header(page, divider=True)\n"
        "    PAGES[page]()"
    )


def _requirements(blueprint: ProjectBlueprint, lock: str) -> str:
    def plain(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    pinned = {plain(name): version for name, version in _PINNED.findall(lock)}
    lines = [f"{name}=={pinned[plain(name)]}" if plain(name) in pinned else name for name in packages_of(blueprint)]
    return "\n".join(sorted(lines, key=str.lower)) + "\n"


def _holds_float(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, float) or any(map(_holds_float, inner))


_CLOSE = '''def close(got: object, expected: object) -> bool:
    """Equality in which floats may differ in their last digits."""
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(close, got, expected))
    if isinstance(got, dict) and isinstance(expected, dict):
        return got.keys() == expected.keys() and all(close(got[key], expected[key]) for key in got)
    return got == (pytest.approx(expected) if isinstance(expected, float) else expected)'''


def _logic_tests(blueprint: ProjectBlueprint) -> str:
    parts: list[str] = []
    for fragment in blueprint.logic:
        for number, example in enumerate(fragment.examples, start=1):
            parts.append(_logic_test(fragment, example, number))
    body = "\n".join(parts)
    nested = "assert close(" in body
    imports = [["import pytest"]] if nested or "pytest." in body else []
    own = [f"from logic import {', '.join(sorted(one.name for one in blueprint.logic))}"]
    return _module("The examples of the blueprint.", [*imports, own], [*([_CLOSE] if nested else []), *parts])


def _logic_test(fragment: LogicFragment, example: LogicExample, number: int) -> str:
    values = fragment.arguments(example).items()
    call = f"{fragment.name}({', '.join(f'{name}={_quoted(value)}' for name, value in values)})"
    name = f"def test_{fragment.name}_example_{number}() -> None:\n"
    if example.raises:
        return f"{name}    with pytest.raises({example.raises}):\n        {call}"
    value = read_value(example.result)
    if value is None or isinstance(value, bool):
        return f"{name}    assert {call} is {value}"
    if isinstance(value, float):
        return f"{name}    assert {call} == pytest.approx({value!r})"
    if _holds_float(value):
        return f"{name}    assert close({call}, {_quoted(value)})"
    return f"{name}    assert {call} == {_quoted(value)}"


def _emptied(blueprint: ProjectBlueprint) -> list[str]:
    """The lists that begin with rows and that a page changes: whoever uses the app may delete the last row."""
    written = {name for page in blueprint.ui for name in page.writes}
    return [one.name for one in blueprint.state if one.name in written and isinstance(one.value, list) and one.value]


def _app_tests(blueprint: ProjectBlueprint) -> str:
    titles = ", ".join(_quoted(page.title) for page in blueprint.ui)
    choose = (
        "    assert app.sidebar.radio, errors(app)\n    app.sidebar.radio[0].set_value(page).run()\n"
        if len(blueprint.ui) > 1
        else ""
    )
    emptied = _emptied(blueprint)
    signature = "page: str, **state: object" if emptied else "page: str"
    instead = "; `state` stands for what it begins with" if emptied else ""
    start = (
        "    for name, value in state.items():\n        app.session_state[name] = value\n    app.run()\n"
        if emptied
        else ""
    )
    of_pages = f'@pytest.mark.parametrize("page", [{titles}])\n'
    parts = [
        f'APP = Path(__file__).parents[1] / "{APP}"\n'
        f"SECONDS = {RENDER_SECONDS}  # the first page loads Streamlit's libraries",
        f"def opened({signature}) -> AppTest:\n"
        f'    """The app with this page, as a browser sees it first{instead}."""\n'
        f"    app = AppTest.from_file(str(APP), default_timeout=SECONDS){'' if start else '.run()'}\n"
        f"{start}"
        f"{choose}"
        "    return app",
        "def errors(app: AppTest) -> str:\n"
        '    """What the page shows instead of what it should."""\n'
        '    return "\\n".join("\\n".join([one.message, *(one.stack_trace or ())]) for one in app.exception)',
        "def check(app: AppTest) -> None:\n"
        '    """Fail when the page shows an error."""\n'
        "    said = errors(app)\n"
        "    assert not said, said",
        f"{of_pages}"
        "def test_each_page_is_drawn_without_an_error(page: str) -> None:\n"
        "    app = opened(page)\n"
        "    check(app)\n"
        f"    assert [one.value for one in app.sidebar.title] == [{_quoted(blueprint.title)}]\n"
        "    assert app.header[0].value == page",
        f"{of_pages}"
        "def test_each_button_may_be_pressed_before_anything_is_filled_in(page: str) -> None:\n"
        "    for place in range(len(opened(page).main.button)):\n"
        "        app = opened(page)\n"
        "        app.main.button[place].click().run()\n"
        "        check(app)",
    ]
    if emptied:
        parts.append(
            f"{of_pages}"
            "def test_each_page_is_drawn_when_all_rows_are_gone(page: str) -> None:\n"
            f"    check(opened(page, {', '.join(f'{name}=[]' for name in emptied)}))"
        )
    outside = ["import pytest", "from streamlit.testing.v1 import AppTest"]
    about = "Each page is drawn, and none of its buttons ends in an error."
    return _module(about, [["from pathlib import Path"], outside], parts)
