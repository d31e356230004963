"""Pages, configuration and containers are checked: what does not lead anywhere, parse or fit is found with its line."""

import pytest

from agents.checks.check import CheckFinding, check_files, check_of, checked_words, replaces_tests
from tests.tables import each_row

THERE = {"docs/setup.md": "# Set up\n\n## Set up\n", "run.py": "", "schema.json": "", "docs/logo.png": ""}


def found(path, text, before=None, **others):
    there = {**THERE, **others, path: text}
    known = {} if before is None else {path: before}
    return [(one.line, one.text) for one in check_files({path: text}, known, there, there.get)]


@each_row(
    ("path", "text", "line", "why"),
    [
        ("README.md", "# A\n\nSee [this](docs/gone.md).\n", 3, "docs/gone.md, which is not in the repository"),
        ("README.md", "# A\n\n[b](docs/setup.md#tear-down)\n", 3, "a heading that docs/setup.md does not have"),
        ("README.md", "# A\n\n[b](#c)\n", 3, "a heading that README.md does not have"),
        ("docs/a.md", "![logo](logo.svg)\n", 1, "docs/logo.svg"),
        ("README.md", "```python\ndef broken(:\n```\n", 2, "Python block does not parse"),
        ("README.md", "```js\n// said\nconst a = ;\n```\n", 2, "JavaScript block does not parse"),
        ("README.md", 'A\n\n```json\n{"a": 1,\n "b"}\n```\n', 5, "not valid JSON"),
        ("README.md", "```sh\n$ python run.py\n$ python start.py\n```\n", 3, "names start.py"),
        ("index.rst", "A\n=\n\n.. image:: gone.png\n", 4, "gone.png"),
        ("index.rst", "A\n=\n\n.. code-block:: python\n\n   def broken(:\n", 6, "Python block does not parse"),
        ("a.toml", "[a]\nb = 1\nb = 2\n", 3, "not valid TOML"),
        ("a.json", '{"a": 1,\n}', 2, "not valid JSON"),
        ("a.yaml", "a: 1\nb: [1\n", 3, "not valid YAML"),
        ("a.ini", "[a]\nb = 1\n[a]\n", 3, "not valid INI"),
        ("a.json", '{"$schema": "gone.json"}', 1, "the schema gone.json is not in the repository"),
        ("compose.yaml", "services:\n  web:\n    image: a\n    depends_on: [db]\n", 2, "depends on db"),
        ("compose.yaml", "services:\n  web:\n    ports: []\n", 2, "neither image nor build"),
        ("Dockerfile", "FROM a:1\nRUNN b\nUSER c\nHEALTHCHECK NONE\n", 2, "RUNN is not an instruction"),
        ("Dockerfile", "ARG A\nRUN b\nFROM a:1\n", 2, "the first instruction is not FROM"),
        ("package.json", '{\n "name": "My App"\n}', 2, "is not the name of a package"),
        ("web/package.json", '{\n "type": "esm"\n}', 2, "type is module or commonjs"),
        ("package.json", '{\n "scripts": {"test": 1}\n}', 2, "scripts is an object of texts"),
        ("package.json", '{"dependencies": {\n "zod": "latest"\n}}', 2, "zod has no version"),
        ("package.json", '{"dependencies": {"a": "^1"},\n"devDependencies": {"a": "^1"}}', 1, "keep one"),
        ("package.json", "[]", 1, "is an object"),
        ("calc.py", "A = 1\n", 1, "this task writes no code"),
    ],
)
def test_what_is_wrong_is_found_at_its_line(path, text, line, why):
    ((at, said),) = found(path, text)
    assert (at, why in said) == (line, True), said


@each_row(
    ("path", "text"),
    [
        (
            "README.md",
            "# Set up\n\n[a](docs/setup.md#set-up-1) [b](docs) [c](https://x.org/y) [d](#set-up) [e](/run.py)\n",
        ),
        ("README.md", '```sh\npython run.py\ncd docs\npython other.py\n```\n```json\n{"a": ...}\n```\n'),
        ("README.md", "```python\n>>> 1 +\n```\n```text\n)(\n```\n`[a](b.md)`\n"),
        ("README.md", "```jsonc\n{ // said\n}\n```\n```json5\n{a: 1}\n```\n```console\n$ npm test\n> 1 passed\n```\n"),
        (
            "README.md",
            "```jsx\n<App a={{b: 1}} />\n```\n```tsx\nconst a = <T,>(b: T) => <p>{b}</p>;\n```\n```diff\n- a\n```\n",
        ),
        ("README.md", "```js\n// said\nawait go();\n```\n```ts\ntype A = { b: string };\n```\n```mermaid\npie\n```\n"),
        ("docs/a.md", "[b](../run.py) <a id='c'></a> [d](#c)\n"),
        ("index.rst", "`a <https://x.org>`_ and `b <docs/setup.md>`_ and `c <run_>`_\n"),
        ("a.yml", "a: !Ref b\n---\nc: *d\n".replace("*d", "d")),
        ("chart/a.yaml", "a: {{ .Values.b }}\n"),
        ("tsconfig.json", "{\n // comments\n}"),
        (
            "compose.yaml",
            "services:\n  web: {build: ., depends_on: {db: {condition: service_started}}}\n  db: {image: b}\n",
        ),
        ("Dockerfile", "# a\nFROM a:1 AS b\nRUN <<EOF\nanything\nEOF\nCOPY docs \\\n  d\nuser e\nHEALTHCHECK NONE\n"),
        (
            "package.json",
            '{"name": "@a/b-c", "dependencies": {"a": "^1", "b": "file:../b"}, "peerDependencies": {"c": "*"}}',
        ),
        ("data/package.jsonl", "{}"),
        ("logo.svg", "<svg"),
    ],
)
def test_what_is_right_or_cannot_be_told_is_not_reported(path, text):
    assert found(path, text) == []


def test_what_was_wrong_before_is_not_the_changes():
    before = "[a](gone.md)\n"
    assert found("README.md", f"New.\n\n{before}", before) == []
    assert len(found("README.md", f"{before}\n[b](gone.md)\n[c](other.md)\n", before)) == 2


def test_data_that_does_not_fit_the_schema_that_it_names_is_found():
    schema = '{"properties": {"port": {"type": "integer"}}}'
    ((line, said),) = found("a.yaml", "# yaml-language-server: $schema=./s.json\nport: x\n", **{"s.json": schema})
    assert line == 2
    assert "$.port does not fit ./s.json: 'x' is not of type 'integer'" in said


@pytest.mark.parametrize(
    "schema",
    ['{"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}', '{"properties": {"a": {"$ref": "other.json"}}}'],
)
def test_no_schema_is_fetched(schema, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("something was fetched"))
    ((_, said),) = found("a.json", '{"$schema": "s.json", "a": 1}', **{"s.json": schema})
    assert "cannot be used" in said


def test_patterns_of_a_schema_are_not_tried():
    schema = '{"properties": {"a": {"pattern": "(a+)+$"}}}'
    assert found("a.json", '{"$schema": "s.json", "a": "' + "a" * 40 + 'b"}', **{"s.json": schema}) == []


def test_nested_aliases_are_not_expanded():
    rows = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12))]
    assert found("a.yaml", "\n".join(rows)) == []


def test_text_that_is_nested_too_deep_is_a_finding():
    ((_, said),) = found("a.json", "[" * 100_000)
    assert "cannot be read" in said


@each_row(
    ("task", "replaced"),
    [
        ({"kind": "docs", "files": ["README.md"]}, True),
        ({"kind": "code", "files": ["README.md", "docs/a.rst"]}, True),
        ({"kind": "infra", "files": ["Dockerfile", "deploy/start.sh"]}, True),
        ({"kind": "config", "files": ["settings.toml"]}, True),
        ({"kind": "code", "files": ["settings.toml"]}, False),
        ({"kind": "docs", "files": ["README.md", "calc.py"]}, False),
        ({"kind": "docs", "files": ["README.md", "tests/data.json"]}, False),
        ({"kind": "docs", "files": []}, False),
        ({"kind": "docs", "files": ["README.md"], "tests_given": {"tests/test_a.py": ""}}, False),
    ],
)
def test_files_and_kind_decide_whether_a_task_is_checked_instead_of_tested(task, replaced):
    assert replaces_tests(task) is replaced


def test_what_no_check_knows_is_left_to_the_reviewer_and_named():
    assert check_of("logo.svg") is None
    checked, left = checked_words(["logo.svg", "README.md"])
    assert checked == "Checked instead of tested: README.md"
    assert left == "No check is available, so the reviewer judges alone: logo.svg"


def test_a_finding_names_its_file():
    assert check_files({"a.json": "{"}, {}, ["a.json"], lambda path: None)[0] == CheckFinding(
        "a.json", 1, "not valid JSON: Expecting property name enclosed in double quotes"
    )
