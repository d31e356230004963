"""Folders of Spec Kit, OpenSpec and Kiro: one document for each specification, its plans as background."""

from pathlib import Path

import pytest

from agents.requirements.documents import DocumentRefused
from agents.requirements.extract import extract
from agents.requirements.readers.folders import read_folder, specifications

FILES = {
    "README.md": "# Shop",
    "specs/001-cart/spec.md": "# Cart\n\n## Requirements\n\n- **FR-001**: System MUST keep the cart.\n",
    "specs/001-cart/plan.md": "# Plan\n\nIt must use SQLite.\n",
    "specs/001-cart/tasks.md": "- [ ] T001 Create the table\n",
    "specs/001-cart/checklists/requirements.md": "- [ ] CHK001 It must be clear\n",
    "specs/notes.md": "FR-9 It shall be ignored.",
    "openspec/specs/auth/spec.md": "### Requirement: Login\nThe system SHALL let a member log in.\n",
    "openspec/changes/add-2fa/proposal.md": "## Why\n\nAccounts are stolen.\n",
    "openspec/changes/add-2fa/tasks.md": "- [ ] 1.1 Add a column\n",
    "openspec/changes/add-2fa/specs/auth/spec.md": (
        "## ADDED Requirements\n\n### Requirement: Second factor\nThe system SHALL ask for a code.\n"
    ),
    "openspec/changes/archive/2026-01-01-old/specs/auth/spec.md": "The system SHALL be old.",
    ".kiro/specs/search/requirements.md": (
        "# Search\n\n### Requirement 1\n\n#### Acceptance Criteria\n\n"
        "1. WHEN a member searches THEN the system SHALL list books.\n"
    ),
    ".kiro/specs/search/design.md": "# Design\n\nIt shall use an index.\n",
}
PLACES = [
    ".kiro/specs/search/requirements.md",
    "openspec/changes/add-2fa/specs/auth/spec.md",
    "openspec/specs/auth/spec.md",
    "specs/001-cart/spec.md",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_each_specification_is_a_document_with_lines_of_its_own(folder: Path) -> None:
    found = {one.place: one for one in read_folder(folder)}
    assert list(found) == PLACES
    for one in found.values():
        requirements = extract(one.document).requirements
        assert requirements, one.place
        for requirement in requirements:
            assert 1 <= requirement.lines[0] <= len(one.document.lines)
            assert "SQLite" not in requirement.text
    (cart,) = extract(found["specs/001-cart/spec.md"].document).requirements
    assert (cart.author_key, cart.lines) == ("FR-001", (5, 5))


def test_plans_designs_and_tasks_are_background(folder: Path) -> None:
    found = {one.place: one.background for one in read_folder(folder)}
    assert found["specs/001-cart/spec.md"] == (
        "# specs/001-cart/plan.md\n\n# Plan\n\nIt must use SQLite.\n\n"
        "# specs/001-cart/tasks.md\n\n- [ ] T001 Create the table"
    )
    assert "Accounts are stolen" in found["openspec/changes/add-2fa/specs/auth/spec.md"]
    assert "index" in found[".kiro/specs/search/requirements.md"]
    assert found["openspec/specs/auth/spec.md"] == ""


@pytest.mark.parametrize("place", ["specs/001-cart", ".kiro/specs/search", "openspec", "openspec/changes/add-2fa"])
def test_the_folder_of_one_specification_is_enough(folder: Path, place: str) -> None:
    found = read_folder(folder / place)
    assert [f"{place}/{one.place}" for one in found] == [name for name in PLACES if name.startswith(f"{place}/")]
    assert any(one.background for one in found)


def test_a_folder_without_any_is_refused_and_says_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match=r"Spec Kit.*OpenSpec.*Kiro"):
        read_folder(tmp_path)


def test_an_unreadable_specification_is_named(folder: Path) -> None:
    (folder / "specs/001-cart/spec.md").write_bytes(bytes(range(256)) * 9)
    with pytest.raises(DocumentRefused, match=r"specs/001-cart/spec\.md"):
        read_folder(folder)
    found, problems = specifications(FILES, lambda path: b"" if "kiro" in path else b"FR-1 It shall.")
    assert len(found) == 3
    assert ".kiro/specs/search/requirements.md" in problems[0]


def test_no_folder_outside_is_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "specs" / "002-link").symlink_to("/etc", target_is_directory=True)
    assert len(read_folder(folder)) == len(PLACES)
