"""The tables of the reference pages mirror the code, and are written between marks."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from aiswe_site.cli.app import cli
from projects.services.accounts.rights import ALL_VERBS
from scripts import reference_pages
from scripts.reference_pages import DOCS, PAGES, RIGHTS, commands, gates, purpose, written


def test_a_page_shows_what_the_code_says(subtests: pytest.Subtests) -> None:
    for name in PAGES:
        with subtests.test(name):
            assert (DOCS / name).read_text("utf-8") == written(name), "run python scripts/reference_pages.py"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of pages of which one is not current."""
    for name in PAGES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((DOCS / name).read_text("utf-8"), "utf-8")
    (tmp_path / "reference/events.md").write_text(
        "# Events\n\n<!-- events -->\nold\n<!-- end of events -->\nThe end.\n"
    )
    monkeypatch.setattr(reference_pages, "DOCS", tmp_path)
    return tmp_path


def test_a_page_that_is_not_current_is_named_and_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reference_pages.main(["--check"]) == 1
    assert "events.md" in capsys.readouterr().err
    assert "old" in (folder / "reference/events.md").read_text()
    assert reference_pages.main([]) == 0
    assert reference_pages.main(["--check"]) == 0
    text = (folder / "reference/events.md").read_text()
    assert text.startswith("# Events\n")
    assert "`run.finished`" in text
    assert text.endswith("\nThe end.\n")


def test_a_page_without_its_marks_is_refused(folder: Path) -> None:
    (folder / "reference/events.md").write_text("# Events\n")
    with pytest.raises(ValueError, match=r"events\.md"):
        reference_pages.main([])


def test_a_package_without_a_docstring_is_named(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('"""Wheels\nand axles.\n\nMore about them."""\n')
    assert purpose(tmp_path) == "Wheels and axles"
    (tmp_path / "__init__.py").write_text("WHEELS = 4\n")
    with pytest.raises(ValueError, match=tmp_path.name):
        purpose(tmp_path)


def test_every_command_has_a_section() -> None:
    def leaves(path: str, command: click.Command) -> list[str]:
        if not isinstance(command, click.Group):
            return [path]
        context = click.Context(command)
        below = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        return [leaf for name, each in below if each for leaf in leaves(f"{path} {name}", each)]

    sections = [line[4:] for line in commands().splitlines() if line.startswith("### ")]
    assert sections == leaves("aiswe", cli)
    assert "aiswe audit verify [RUN] [--head HASH] [--heads FILE] [--key FILE] [--json]" in commands()


def test_every_right_is_described() -> None:
    assert set(RIGHTS) == ALL_VERBS


def test_only_the_gate_on_style_never_blocks() -> None:
    free = [line.split("`")[1] for line in gates().splitlines() if "none: they are reported" in line]
    assert free == ["style"]
