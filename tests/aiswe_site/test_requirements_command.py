"""`aiswe requirements`: read a file, give a project its next document, confirm; also when used wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from projects.models import Project, Requirement, Run, Task
from projects.services.planning import documents
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_document, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]


def test_requirements_are_listed_without_a_model(prd: str, cli: CommandLine) -> None:
    found = cli.answers("requirements", prd)
    assert set(found) == {"requirements", "unmapped", "questions", "suggestions"}
    assert [(row["key"], row["author_key"]) for row in found["requirements"]] == [("R1", "FR-01"), ("R2", "FR-02")]
    assert set(found["requirements"][0]) == {"key", "author_key", "text", "kind", "lines", "acceptance", "passages"}
    assert found["requirements"][0]["lines"] == [5, 5]
    assert any("Written by a friend" in row["text"] for row in found["unmapped"])


def test_a_document_that_is_none_is_refused_with_a_way_out(tmp_path: Path, cli: CommandLine) -> None:
    path = tmp_path / "prd.pdf"
    path.write_bytes(b"%PDF-1.7\n%\xe2\xe3\n")
    said = cli.refuses("requirements", str(path))
    assert "PDF" in said
    assert "save it again" in said


def test_a_folder_of_specifications_is_listed_one_by_one(tmp_path: Path, cli: CommandLine) -> None:
    for name, text in (("001-cart", "FR-1 It shall keep the cart."), ("002-mail", "FR-2 It shall send mail.")):
        (tmp_path / "specs" / name).mkdir(parents=True)
        (tmp_path / "specs" / name / "spec.md").write_text(text)
    found = cli.answers("requirements", str(tmp_path))["documents"]
    assert {one["document"]: one["requirements"][0]["author_key"] for one in found} == {
        "specs/001-cart/spec.md": "FR-1",
        "specs/002-mail/spec.md": "FR-2",
    }
    assert "FR-1" in cli.prints("requirements", str(tmp_path / "specs" / "001-cart"))
    (tmp_path / "empty").mkdir()
    assert "Kiro" in cli.refuses("requirements", str(tmp_path / "empty"))


def suggested(project: Project) -> Any:
    document = make_document(project, confirmed=False)
    rows = [
        {"key": "FR-01", "text": "It adds.", "kind": "functional", "origin": "explicit"},
        {"key": "INF-01", "text": "It logs in.", "kind": "functional", "origin": "inferred"},
        {"key": "INF-02", "text": "It logs out.", "kind": "functional", "origin": "inferred"},
    ]
    return documents.record_extraction(document, rows, [])


def test_uploading_gives_a_project_its_next_document_and_plans_it(
    project: Project, tmp_path: Path, cli: CommandLine
) -> None:
    make_document(project)
    (file := tmp_path / "second.md").write_text("# More\n\n- FR-03: The list can be printed.\n")
    found = cli.answers("requirements", "upload", "todo", str(file))
    newest = project.documents.first()
    assert newest is not None
    assert (found["document"], newest.version) == (newest.pk, 2)
    assert project.runs.get(pk=found["run"]).kind == "plan"
    assert "no project 'nope'" in cli.refuses("requirements", "upload", "nope", str(file))


def test_a_document_that_replaces_another_is_shown_with_what_it_changes(
    project: Project, tmp_path: Path, cli: CommandLine
) -> None:
    (file := tmp_path / "todo.md").write_text("FR-01: The list shall be sorted.\n\nFR-02: The list shall be short.\n")
    assert "Leave out --replaces" in cli.refuses("requirements", "upload", "todo", str(file), "--replaces")
    assert "not both" in cli.refuses("requirements", "upload", "todo", str(file), "--replaces", "--adds")
    cli.answers("requirements", "upload", "todo", str(file), "--adds")
    cli.answers("requirements", "confirm", "todo")
    file.write_text("FR-01: The list shall be sorted by date.\n")
    made = cli.answers("requirements", "upload", "todo", str(file))["documents"][0]
    assert made["replaces"] == 1
    found = cli.answers("requirements", "show", "todo")
    assert found["replaces"] == 1
    assert found["difference"] == [
        {
            "change": "altered",
            "key": "R1",
            "before": "The list shall be sorted.",
            "after": "The list shall be sorted by date.",
        },
        {"change": "removed", "key": "R2", "before": "The list shall be short.", "after": ""},
    ]
    file.write_text("FR-03: The list shall be printed.\n")
    assert cli.answers("requirements", "upload", "todo", str(file), "--adds")["documents"][0]["replaces"] is None


def test_a_document_is_withdrawn(project: Project, cli: CommandLine) -> None:
    document = make_document(project)
    assert cli.answers("requirements", "withdraw", "todo") == {"project": "todo", "document": document.pk}
    assert "has no document yet" in cli.refuses("requirements", "withdraw", "todo")


def test_each_specification_of_a_folder_becomes_a_document_that_is_named_by_its_path(
    project: Project, tmp_path: Path, cli: CommandLine
) -> None:
    for name, text in (("001-cart", "FR-1 It shall keep the cart."), ("002-mail", "FR-2 It shall send mail.")):
        (tmp_path / "specs" / name).mkdir(parents=True)
        (tmp_path / "specs" / name / "spec.md").write_text(text)
    made = cli.answers("requirements", "upload", "todo", str(tmp_path))["documents"]
    assert [one["name"] for one in made] == ["specs/001-cart/spec.md", "specs/002-mail/spec.md"]
    assert project.runs.filter(kind="plan").count() == 2
    first = "specs/001-cart/spec.md"
    assert cli.answers("requirements", "show", "todo", "--spec", first)["document"] == made[0]["document"]
    assert cli.answers("requirements", "confirm", "todo", "--spec", first)["accepted"] == ["R1"]
    assert [row.status for row in project.documents.order_by("version")] == ["confirmed", "uploaded"]
    assert first in cli.refuses("requirements", "show", "todo", "--spec", "specs/003/spec.md")


def test_what_is_built_is_not_planned_again(project: Project, tmp_path: Path, cli: CommandLine) -> None:
    for name, text in (("001-cart", "FR-1 It shall keep the cart."), ("002-mail", "FR-2 It shall send mail.")):
        (tmp_path / "specs" / name).mkdir(parents=True)
        (tmp_path / "specs" / name / "spec.md").write_text(text)
    first, second = cli.answers("requirements", "upload", "todo", str(tmp_path))["documents"]
    project.runs.update(status="finished")
    assert cli.answers("requirements", "confirm", "todo", "--spec", first["name"])["accepted"] == ["R1"]
    build = Run.objects.create(project=project, kind="build", document_id=first["document"], status="finished")
    Task.objects.create(run=build, ordinal=1, key="T-01", status="merged").requirements.add(
        Requirement.objects.get(key="R1")
    )
    again = cli.answers("requirements", "upload", "todo", str(tmp_path))["documents"]
    assert [row["document"] for row in again] == [second["document"]]
    (tmp_path / "specs" / "002-mail" / "spec.md").unlink()
    words = cli.refuses("requirements", "upload", "todo", str(tmp_path), code=1)
    assert "all that it asks for is built. For a change, upload" in words


def test_confirming_takes_what_is_explicit_and_the_suggestions_that_are_named(
    project: Project, cli: CommandLine
) -> None:
    document = suggested(project)
    found = cli.answers("requirements", "confirm", "todo", "--accept", "INF-02")
    assert (found["accepted"], found["rejected"]) == (["FR-01", "INF-02"], ["INF-01"])
    document.refresh_from_db()
    assert document.status == "confirmed"
    assert cli.answers("requirements", "confirm", "todo") == found, "twice changes nothing"
    assert "confirmed already" in cli.refuses("requirements", "confirm", "todo", "--accept", "INF-01")


def test_what_the_model_reads_in_the_document_can_be_taken_without_naming_each(
    project: Project, cli: CommandLine
) -> None:
    suggested(project).requirements.filter(key="INF-02").update(line_start=3, line_end=3)
    assert "--accept-read" in cli.prints("requirements", "show", "todo")
    found = cli.answers("requirements", "confirm", "todo", "--accept-read")
    assert (found["accepted"], found["rejected"]) == (["FR-01", "INF-02"], ["INF-01"])


def test_what_is_to_be_confirmed_is_shown_first(project: Project, cli: CommandLine) -> None:
    assert "no document" in cli.refuses("requirements", "show", "todo")
    suggested(project)
    found = cli.answers("requirements", "show", "todo")["requirements"]
    assert [(row["key"], row["origin"], row["text"]) for row in found][1:] == [
        ("INF-01", "inferred", "It logs in."),
        ("INF-02", "inferred", "It logs out."),
    ]
    assert "requirements confirm todo, with --accept" in cli.prints("requirements", "show", "todo")


def test_confirming_wrongly_names_the_input_and_the_way_out(project: Project, cli: CommandLine) -> None:
    assert "no document" in cli.refuses("requirements", "confirm", "todo")
    suggested(project)
    words = cli.refuses("requirements", "confirm", "todo", "--accept", "FR-9")
    assert "FR-9 is not a suggestion" in words
    assert "INF-01, INF-02" in words
    assert "no project 'nope'" in cli.refuses("requirements", "confirm", "nope")
    assert Requirement.objects.filter(status="accepted").count() == 0


def test_a_file_may_still_follow_the_command_directly(tmp_path: Path, cli: CommandLine) -> None:
    file = tmp_path / "prd.md"
    file.write_text("FR-01 The system shall store notes.\n")
    for words in (["requirements", str(file), "--json"], ["requirements", "--json", str(file)]):
        assert json.loads(cli.prints(*words))["requirements"][0]["author_key"] == "FR-01"
    assert "does not exist" in cli.refuses("requirements", "nope.md")


def test_a_requirement_is_added_and_others_are_decided_by_key(project: Project, cli: CommandLine) -> None:
    document = suggested(project)
    words = ["requirements", "add", "todo", "It prints.", "--kind", "non-functional", "--criterion", "A page."]
    (added,) = cli.answers(*words)["requirements"]
    assert (added["key"], added["kind"], added["acceptance"]) == ("MAN-01", "non_functional", ["A page."])
    assert "says that already: MAN-01" in cli.refuses(*words)
    assert cli.answers("requirements", "accept", "todo", "INF-01")["requirements"][0]["status"] == "accepted"
    assert (
        cli.prints("requirements", "reject", "todo", "FR-01", "FR-01")
        == "Rejected: FR-01 It adds.\nNext: aiswe requirements confirm todo\n"
    )
    assert cli.answers("requirements", "confirm", "todo")["accepted"] == ["INF-01", "MAN-01"]
    for change in (["add", "todo", "More."], ["accept", "todo", "INF-02"]):
        assert f"{document} is confirmed already" in cli.refuses("requirements", *change)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["add", "nope", "It prints."], "no project 'nope'"),
        (["add", "todo", "It prints.", "--kind", "wish"], "'wish' is not one of"),
        (["add", "todo", "It prints.", "--spec", "other.md"], "no specification or document other.md"),
        (["accept", "todo", "INF-02", "INF-9"], "has no requirement INF-9"),
        (["reject", "todo"], "KEY"),
    ],
)
def test_a_wrong_change_of_requirements_is_named_and_changes_nothing(
    project: Project, cli: CommandLine, words: list[str], named: str
) -> None:
    suggested(project)
    assert named in cli.refuses("requirements", *words)
    assert set(Requirement.objects.values_list("key", "status")) == {
        (key, "proposed") for key in ("FR-01", "INF-01", "INF-02")
    }


def test_who_may_not_change_requirements_is_refused(project: Project, cli: CommandLine) -> None:
    suggested(project)
    make_user("eve", role="viewer", project=project)
    for change in (["add", "todo", "More."], ["reject", "todo", "FR-01"]):
        assert "Who may: architect" in cli.refuses("requirements", *change, "--as", "eve", code=1)


def test_a_document_beside_a_newer_one_is_confirmed_by_its_name(project: Project, cli: CommandLine) -> None:
    older = suggested(project)
    newer = make_document(project, text="# More", confirmed=False)
    shown = cli.prints("requirements", "show", "todo", "--spec", older.filename)
    assert f"aiswe requirements confirm todo --spec {older.filename}, with" in shown
    cli.answers("requirements", "confirm", "todo", "--spec", older.filename)
    shown = cli.prints("requirements", "show", "todo", "--spec", older.filename)
    assert "Confirmed" in shown
    assert "requirements confirm" not in shown
    newer.refresh_from_db()
    assert newer.status == "extracted"
