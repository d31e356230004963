"""The first commit of each recipe runs: its tests pass in the sandbox.

Recipes whose packages stand ready in the sandbox are run here. Those that fetch some ask an outside index, which tests
do only when told: RECIPES_ONLINE=1 runs them too.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agents.languages.registry import language
from agents.recipes.recipe import Recipe, load, recipes
from sandbox.base import Sandbox
from sandbox.node_env import find_node_modules
from sandbox.package_index.names import base_packages, plain_name
from sandbox.packages import PackageSupply
from sandbox.registry import open_backend
from sandbox.test_setup import TestSetup
from tests.needs import missing

READY = ["cli-python", "data-script", "library", "service-fastapi", "site-django"]
ONLINE = ["cli-node", "react-fastapi", "streamlit"]
INDEXES = {"index": "https://pypi.org/simple/", "registry": "https://registry.npmjs.org/"}
pytestmark = pytest.mark.bubblewrap


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One sandbox for all recipes that need no packages beside those that stand ready."""
    with open_backend("bubblewrap").open(label="recipes") as opened:
        yield opened


def write(recipe: Recipe, folder: Path) -> Path:
    for path, text in recipe.files("My Shop").items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder


def failures(recipe: Recipe, sandbox: Sandbox, folder: Path) -> list[str]:
    """What is wrong with the skeleton's tests, a line each."""
    sandbox.mirror(write(recipe, folder))
    found = []
    for name in recipe.languages:
        report = language(name).run_tests(sandbox, (), TestSetup(language=name, suite_seconds=300))
        if not report.ok or not report.passed:
            found.append(f"{name}: {report.problem or report.output or report.failures}")
    return found


def test_every_recipe_is_tried() -> None:
    assert sorted([*READY, *ONLINE]) == [one.name for one in recipes()]


@pytest.mark.stage
@pytest.mark.parametrize("name", READY)
def test_its_tests_pass_in_the_sandbox_as_it_is(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    recipe = load(name)
    listed = recipe.skeleton["requirements.txt"].splitlines()
    assert {plain_name(line) for line in listed if line[:1] not in ("", "#")} <= set(base_packages())
    assert failures(recipe, sandbox, tmp_path) == []


@pytest.mark.stage
def test_the_command_line_in_typescript_runs_with_the_tools_of_the_sandbox(sandbox: Sandbox, tmp_path: Path) -> None:
    if find_node_modules() is None:
        missing("The tools for Node are not installed: make install")
    assert failures(load("cli-node"), sandbox, tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif("RECIPES_ONLINE" not in os.environ, reason="RECIPES_ONLINE=1 lets it fetch packages")
@pytest.mark.parametrize("name", ONLINE)
def test_its_tests_pass_with_packages_from_the_index(name: str, tmp_path: Path) -> None:
    recipe, lines = load(name), list[str]()
    files = recipe.files("My Shop")
    for one in map(language, recipe.languages):
        needs = one.needs(files, list(files), files[one.manifest], {}, {})
        lines += [line for plain, line in needs.wanted.items() if plain not in base_packages()]
    with ExitStack() as stack:
        fetched = PackageSupply(tmp_path / "packages", **INDEXES).fetch(sorted(lines))
        opened = stack.enter_context(open_backend("bubblewrap").open(packages=fetched, label="recipes"))
        assert failures(recipe, opened, tmp_path / "files") == []
