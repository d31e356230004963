"""The files that an architecture becomes: complete, accepted by the checks, and free of a diagram's text."""

import json
import posixpath
import re
import tomllib
from collections import Counter

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.checks.check import check_of
from agents.checks.checked_file import CheckedFile
from agents.languages.registry import language, language_of
from agents.requirements.readers.diagrams import read_diagrams
from agents.scaffold.components import Architecture, NoArchitecture, read_architecture, tables
from agents.scaffold.files import TEMPLATES, files_of
from agents.scaffold.source import DiagramSource
from agents.scaffold.start import recipe_of
from sandbox.packages import PackageSupply
from tests.agents.scaffold.test_components import DIAGRAMS, architecture, drawn
from tests.sizes import scaled
from tests.tables import each_row

NAMES = sorted(path.name for path in DIAGRAMS.iterdir())


def findings(files: dict[str, str]) -> list[tuple[str, int, str]]:
    found = []
    for path, text in files.items():
        if check := check_of(path):
            found += [(path, *one) for one in check(text, CheckedFile(path, list(files), files.get))]
        if one := language_of(path):
            found += [(path, 0, problem)] if (problem := one.syntax_error(path, text)) else []
    return found


@each_row("name", NAMES)
def test_every_file_passes_the_checks(name: str) -> None:
    found = architecture(name)
    files = files_of(found, "shop", name)
    assert findings(files) == []
    for one in found.programs:
        assert {f"{one.folder}/Dockerfile", f"{one.folder}/.dockerignore"} <= files.keys()
    assert {"compose.yaml", ".github/workflows/ci.yml", ".gitlab-ci.yml", "README.md", ".env.example"} <= files.keys()
    assert files == files_of(found, "shop", name)


@each_row("name", NAMES)
def test_programs_are_told_the_addresses_of_what_they_need(name: str) -> None:
    found = architecture(name)
    compose = yaml.safe_load(files_of(found, "shop", name)["compose.yaml"])
    assert set(compose["services"]) == {one.slug for one in (*found.programs, *found.stores)}
    for one in found.programs:
        service = compose["services"][one.slug]
        others = [found[slug] for slug in one.needs if found[slug].kind not in ("person", "worker", "cli")]
        assert set(service.get("environment", {})) == {f"{o.slug.replace('-', '_').upper()}_URL" for o in others}
        assert all(other in compose["services"] for other in service.get("depends_on", {}))
        assert service["cap_drop"] == ["ALL"]
    for one in found.stores:
        assert "healthcheck" in compose["services"][one.slug]


def test_services_that_need_each_other_do_not_wait_for_each_other() -> None:
    found = drawn("a[A API]-->b[B API]", "b-->c[C API]", "c-->a")
    services = yaml.safe_load(files_of(found, "x", "x.md")["compose.yaml"])["services"]
    assert {name: list(one.get("depends_on", {})) for name, one in services.items()} == {
        "a-api": ["b-api"],
        "b-api": ["c-api"],
        "c-api": [],
    }
    assert services["c-api"]["environment"] == {"A_API_URL": "http://a-api:8000"}


def test_test_files_have_names_of_their_own() -> None:
    files = files_of(architecture("flowchart.md"), "shop", "x.md")
    counts = Counter(
        posixpath.basename(path) for path in files if language("python").is_test(path) and "/test_" in path
    )
    assert max(counts.values()) == 1


def test_passwords_stand_in_no_file() -> None:
    files = files_of(architecture("flowchart.md"), "shop", "x.md")
    assert "ORDERS_POSTGRESQL_PASSWORD=\n" in files[".env.example"]
    assert "${ORDERS_POSTGRESQL_PASSWORD:?set it in .env}" in files["compose.yaml"]
    assert ".env\n" in files[".gitignore"]


HOSTILE = "</title><script>alert(1)</script> $(id) `id` [[ 7*7 ]] {{ 7*7 }} ${{ github.token }} \u202e\"' : #&* |x|"


@pytest.mark.parametrize("label", [f"{HOSTILE} API", f"API {HOSTILE}", "../../../etc/passwd API", "API\x00\x1b[31m"])
def test_what_a_diagram_says_is_a_name_in_files_and_text_in_the_readme(label: str) -> None:
    part = {"name": label, "label": label, "shape": "", "detail": "FastAPI", "group": ""}
    diagram = {"kind": "flowchart", "line": 1, "parts": [part], "links": []}
    files = files_of(read_architecture([diagram]), "shop", f"{HOSTILE}.md")
    readme = files.pop("README.md")
    assert "49" not in readme + "".join(files)
    assert "<" not in readme.replace("\\<", "")
    for path, text in files.items():
        assert ".." not in path.split("/")
        for word in ("<script", "github.token", "$(id)", "etc/passwd", "\x00", "\x1b", "\u202e"):
            assert word not in path
            assert word not in text
    assert findings(files) == []


@settings(max_examples=scaled(25, 5))
@given(st.lists(st.text(max_size=40), min_size=1, max_size=3), st.sampled_from(["", "database", "queue", "person"]))
def test_whatever_parts_are_called_the_files_parse(labels: list[str], shape: str) -> None:
    parts = [
        {"name": str(number), "label": f"{label} API", "shape": shape if number else "", "detail": "", "group": ""}
        for number, label in enumerate(labels)
    ]
    links = [{"from": "0", "to": str(number), "label": ""} for number in range(1, len(labels))]
    try:
        found = read_architecture([{"kind": "C4", "line": 1, "parts": parts, "links": links}])
    except NoArchitecture:
        return
    files = files_of(found, "shop", "x.md")
    services = yaml.safe_load(files["compose.yaml"])["services"]
    assert set(services) == {one.slug for one in (*found.programs, *found.stores)}
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for name in services)
    yaml.safe_load(files[".github/workflows/ci.yml"])


def everything() -> Architecture:
    """One program of every template, with all that programs can need."""
    return drawn(
        "w[Web app]-->a[A API (FastAPI)]",
        "w-->e[E API (Express)]",
        "p[P worker (Python)]-->q[(Q queue)]",
        "n[N worker (Node)]-->q",
        "c[C cli (Python)]-->d[(D)]",
        "a-->d",
        "e-->d",
    )


def test_there_is_a_program_of_every_template_and_its_manifests_parse() -> None:
    found = everything()
    assert {one.template for one in found.programs} == set(tables()["languages"])
    assert {path.name for path in TEMPLATES.iterdir()} == {"project", *tables()["languages"]}
    files = files_of(found, "all", "x.md")
    assert findings(files) == []
    for path, text in files.items():
        if path.endswith(".json"):
            json.loads(text)
        if path.endswith(".toml"):
            tomllib.loads(text)
        assert "[[" not in text
        assert text.endswith("\n")


def test_a_project_starts_from_it_as_from_a_recipe(tmp_path) -> None:
    source = DiagramSource("sh\nop.md", "ab" * 32, read_diagrams([]))
    recipe = recipe_of(everything(), "shop", source)
    assert recipe.trailers() == {"Recipe": "diagram", "Recipe-Source": "sh op.md", "Recipe-Hash": "ab" * 32}
    assert recipe.languages == ("node", "python")
    assert "services/a-api: service (FastAPI)" in recipe.plan
    assert recipe.named("Shop").skeleton == recipe.skeleton
    supply = PackageSupply(tmp_path)
    assert [line for line in recipe.packages if not supply.check(line).allowed] == []
