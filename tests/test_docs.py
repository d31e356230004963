"""The documentation: links resolve, every page is in the index, and what it names exists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agents.gates.rule_set import rules_json
from aiswe_site.configuration import rows
from tests.test_wordings import retired_in

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
ELSEWHERE = ("AISWE_BENCH_", "AISWE_STUDIO_", "AISWE_SERVER", "AISWE_TOKEN")  # no settings of an installation
ROOMS = "agents|aiswe_site|benchmarks|dashboard|projects|requirements|sandbox|scripts|tests|trials"
PATH = re.compile(rf"`((?:{ROOMS})/[\w./-]+)`")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[tuple[Path, str]]:
    """Target file and anchor of each relative link of a page; links inside code blocks are text."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return [((page.parent / path).resolve() if path else page, anchor) for path, anchor in LINK.findall(text)]


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_a_file_and_a_heading_that_exist(page):
    broken = [
        f"{target.name}#{anchor}"
        for target, anchor in links(page)
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target))
    ]
    assert broken == []


def test_every_page_is_listed_in_the_index():
    index = ROOT / "docs" / "README.md"
    listed = {target for target, _ in links(index)} | {index}
    assert [page.name for page in PAGES if page.is_relative_to(index.parent) and page not in listed] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_uses_a_retired_wording(page):
    assert retired_in(FENCE.sub("", page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_settings_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    paths = {path for path in PATH.findall(text) if "/ID" not in path}  # `projects/ID` is an address of the API
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
    known = {variable for row in rows() for variable in row.variables}
    used = set(re.findall(r"\bAISWE_[A-Z0-9_]*[A-Z0-9]\b", text))
    assert [name for name in sorted(used - known) if not name.startswith(ELSEWHERE)] == []


def test_the_number_of_rules_is_current():
    rules = len(json.loads(rules_json())["rules"])
    numbers = [re.findall(r"(\d+) (?:own |Semgrep )?rules\b", page.read_text(encoding="utf-8")) for page in PAGES]
    stated = {int(number) for found in numbers for number in found}
    assert stated == {rules}
