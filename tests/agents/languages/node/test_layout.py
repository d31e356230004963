"""How packages for Node are laid out, read from their files alone."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agents.languages.layouts import RepositoryLayout
from agents.languages.node.layout import layout_of
from agents.languages.node.serving import serve_command, start_commands
from tests.tables import each_row


def laid_out(manifest: Mapping[str, Any], *paths: str, **texts: str) -> RepositoryLayout:
    files = dict.fromkeys(paths, "") | {path.replace("__", "/"): text for path, text in texts.items()}
    files["package.json"] = json.dumps(manifest)
    found = layout_of(sorted(files), lambda path: files.get(path, ""))
    assert found is not None
    return found


def test_where_no_package_is_nothing_is_told() -> None:
    assert layout_of(["a.js", "static/b.js"], lambda _: "") is None
    assert layout_of(["package.json", "app.py"], lambda _: "{}") is None


@each_row(
    ("script", "runner", "arguments"),
    [
        ("node --test", "node", ()),
        ("c8 --100 node --test test/*.test.js", "node", ("test/*.test.js",)),
        ("eslint . && borp --coverage", "node", ()),
        ("npm run lint && npm run unit", "mocha", ("--require", "./test/setup.js", "test/**/*.spec.js")),
        ("cross-env NODE_ENV=test jest --coverage --maxWorkers 2 lib", "jest", ("lib",)),
        ("vitest run --reporter=verbose", "vitest", ()),
        ("nyc tape 'test/**/*.js'", "tape", ("test/**/*.js",)),
        ("mocha -r ts-node/register --reporter dot", "mocha", ()),
        ("node test/all.js", "tape", ("test/all.js",)),
        ("uvu test", "tape", ("test/a.test.js", "test/all.js")),
        ("xo && ava", "ava", ()),
    ],
)
def test_the_script_called_test_names_the_runner_and_its_arguments(
    script: str, runner: str, arguments: tuple[str, ...]
) -> None:
    scripts = {"test": script, "unit": "mocha --require ./test/setup.js 'test/**/*.spec.js'", "lint": "eslint ."}
    found = laid_out({"scripts": scripts}, "index.js", "test/a.test.js", "test/all.js")
    assert (found.setup.runner, found.setup.arguments) == (runner, arguments)
    assert found.problem == ""


def test_without_a_script_the_dependencies_name_the_runner() -> None:
    assert laid_out({"devDependencies": {"vitest": "^3"}}, "src/a.ts", "src/a.test.ts").setup.runner == "vitest"
    assert laid_out({}, "a.js", "a.test.js").setup.runner == "node"
    assert laid_out({}, "a.jsx", "a.test.jsx").setup.runner == "vitest"


@pytest.mark.parametrize(
    ("manifest", "paths", "problem"),
    [
        ({"scripts": {"test": "karma start"}}, ["a.js", "test/a.js"], "run by karma, which is not supported"),
        ({"workspaces": ["packages/*"]}, ["a.js", "packages/a/test/a.js"], "several packages (workspaces)"),
        ({}, ["a.js"], "No test files were found"),
    ],
)
def test_what_cannot_be_run_is_said_in_words(manifest: dict[str, Any], paths: list[str], problem: str) -> None:
    assert problem in laid_out(manifest, *paths).problem


def test_packages_are_what_the_code_and_its_tests_need_and_no_tools_of_its_people() -> None:
    manifest = {
        "name": "own",
        "scripts": {"test": "c8 mocha"},
        "dependencies": {"ms": "^2", "local": "file:../local"},
        "peerDependencies": {"react": ">=18", "vue": "3"},
        "peerDependenciesMeta": {"vue": {"optional": True}},
        "devDependencies": {"mocha": "^11", "c8": "^10", "eslint": "9", "chai": "^5", "np": "1", "@types/ms": "^2"},
    }
    found = laid_out(manifest, "index.js", test__a="", test__ms_test="").needed
    assert found == ("npm:mocha@^11", "npm:ms@^2", "npm:react@>=18")
    texts = {
        "test/a.test.js": "import { expect } from 'chai'; import own from 'own'",
        "eslint.config.js": "import 'eslint'",
    }
    files = {"package.json": json.dumps(manifest), "index.js": "", **texts}
    layout = layout_of(sorted(files), lambda path: files.get(path, ""))
    assert layout is not None
    assert layout.needed == ("npm:chai@^5", "npm:mocha@^11", "npm:ms@^2", "npm:react@>=18")
    assert layout.useful == ("npm:@types/ms@^2",)


def test_a_package_below_the_top_is_run_in_its_folder() -> None:
    files = {
        "web/package.json": '{"scripts": {"test": "vitest run src"}}',
        "web/src/a.test.tsx": "",
        "web/vitest.config.ts": "",
    }
    layout = layout_of([*files, "api/main.py"], lambda path: files.get(path, ""))
    assert layout is not None
    assert layout.setup.python_path == ("web",)
    assert (layout.setup.arguments, layout.setup.configuration) == (("web/src",), "web/vitest.config.ts")
    assert layout.test_paths == ("web/src/a.test.tsx",)


def test_a_server_is_started_by_its_script_or_found_by_what_it_listens_to() -> None:
    listens = "app.listen(process.env.PORT ?? 3000)"
    files = {"package.json": '{"scripts": {"start": "node src/server.js"}}', "src/server.js": listens}
    assert serve_command(lambda path: files.get(path, ""), files, 8000) == ("node", "src/server.js")
    assert start_commands(lambda path: files.get(path, ""), files) == (["npm install", "npm start"], "package.json")
    typed = {
        "package.json": "{}",
        "src/app.ts": "export const a = 1",
        "src/main.ts": listens,
        "tests/x.test.ts": listens,
    }
    assert serve_command(lambda path: typed.get(path, ""), typed, 8000)[-1] == "src/main.ts"
    assert serve_command(lambda path: "", {"a.js": ""}, 8000) == ()
    tool = {"package.json": '{"bin": {"count": "cli.js"}}', "cli.js": ""}
    assert start_commands(lambda path: tool.get(path, ""), tool)[0] == ["npm install", "npx count"]
    assert start_commands(lambda _: "", ["main.py"]) == ([], "")
