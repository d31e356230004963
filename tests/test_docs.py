"""The documentation: links resolve, pages are in the index, what they name exists, each requirement has a state.

Pages are looped over with subtests: each failure names its page, without the cost of a test for each.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from agents.gates.rule_set import rules_json
from aiswe_site import VERSION
from aiswe_site.startup.configuration import rows
from tests.test_wordings import retired_in

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
ELSEWHERE = ("AISWE_BENCH_", "AISWE_STUDIO_", "AISWE_SERVER", "AISWE_TOKEN")  # no settings of an installation
ROOMS = "agents|aiswe_site|dashboard|measure|projects|requirements|sandbox|scripts|tests"
REQUIREMENTS = [
    *(f"SWE-US-0{number}" for number in range(1, 6)),
    *("SWE-P-A", "SWE-P-B", "SWE-P-C", "SWE-ARCH"),
    *(f"SWE-AG-{number}" for number in range(1, 6)),
    *(f"SWE-FR-{number:02}" for number in range(1, 13)),
    *(f"SWE-NFR-0{number}" for number in range(1, 9)),
    *("SWE-MEM-1", "SWE-MEM-2", "SWE-MEM-3", "SWE-RISK", "SWE-KPI", "SWE-BENCH"),
    *(f"ACA-{number}" for number in range(1, 13)),
    *(f"AIDE-{number}" for number in range(1, 10)),
    *(f"LEG-{number}" for number in range(1, 7)),
    *(f"ASET-{number}" for number in range(1, 6)),
    *(f"SWE-PLUS-{number}" for number in range(1, 13)),
    *("OWN-1", "OWN-2", "OWN-3"),
]
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


def named(page: Path) -> str:
    """A page's path in the repository."""
    return str(page.relative_to(ROOT))


def test_links_lead_to_a_file_and_a_heading_that_exist(subtests):
    known = {page: anchors(page) for page in PAGES}
    for page in PAGES:
        broken = [
            f"{target.name}#{anchor}"
            for target, anchor in links(page)
            if not target.exists()
            or (anchor and target.suffix == ".md" and anchor not in (known.get(target) or anchors(target)))
        ]
        with subtests.test(named(page)):
            assert broken == []


def test_modules_that_the_docstring_of_a_module_names_exist():
    """A docstring says where the work goes on; `setup.py` and `check.py` stand for files of many folders."""
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for room in ROOMS.split("|")
        for path in sorted((ROOT / room).rglob("*.py"))
        if (text := path.read_text(encoding="utf-8")).startswith('"""')
        for name in re.findall(r"(?<![\w/.-])[\w/]+\.py\b", text[3:].partition('"""')[0])
        if not any((folder / name).exists() for folder in (ROOT, path.parent, path.parent.parent))
    ]
    assert [one for one in missing if one.rpartition(" ")[2] not in ("setup.py", "check.py")] == []


def test_every_page_is_listed_in_the_index():
    index = ROOT / "docs" / "README.md"
    listed = {target for target, _ in links(index)} | {index}
    assert [page.name for page in PAGES if page.is_relative_to(index.parent) and page not in listed] == []


def test_no_page_uses_a_retired_wording(subtests):
    for page in PAGES:
        with subtests.test(named(page)):
            assert retired_in(FENCE.sub("", page.read_text(encoding="utf-8"))) == []


def test_files_and_settings_that_a_page_names_exist(subtests):
    known = {variable for row in rows() for variable in row.variables}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        paths = {path for path in PATH.findall(text) if "/ID" not in path}  # `projects/ID` is an address of the API
        used = set(re.findall(r"\bAISWE_[A-Z0-9_]*[A-Z0-9]\b", text))
        with subtests.test(named(page)):
            assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
            assert [name for name in sorted(used - known) if not name.startswith(ELSEWHERE)] == []


def test_the_version_is_the_newest_of_the_changelog():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[:2] == ["Unreleased", VERSION]
    assert project["version"] == VERSION


def test_each_requirement_has_one_line_with_its_state():
    text = (ROOT / "docs" / "reference" / "status.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| ((?:SWE|ACA|AIDE|LEG|ASET|OWN)-\S+) \|.*$", text, re.MULTILINE)
    assert lines == REQUIREMENTS
    stated = re.findall(r"^\| \S+-\S+ \| [^|]+ \| \*\*(?:works|partly|missing)\*\* \| [^|]*\|$", text, re.MULTILINE)
    assert len(stated) == len(REQUIREMENTS)


def test_the_number_of_rules_is_current():
    rules = len(json.loads(rules_json())["rules"])
    numbers = [re.findall(r"(\d+) (?:own |Semgrep )?rules\b", page.read_text(encoding="utf-8")) for page in PAGES]
    stated = {int(number) for found in numbers for number in found}
    assert stated == {rules}
