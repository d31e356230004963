"""Requirement documents that cannot be read or hold nothing: a refusal with the way out, or a way on by hand."""

import json
import os
import zipfile
from itertools import product

import pytest

from aiswe_site.cli.app import run as aiswe
from projects.errors import BadInput
from projects.models import Plan, Run, Task
from projects.services.planning import documents, plans, runs
from tests.factories import owner_of
from tests.projects.jobs_driver import small_replies
from tests.tables import each_row

UTF16 = "\ufeffFR-01 The user shall add a to-do.\n".encode("utf-16-le")


def _sparse(path, size):
    with path.open("wb") as file:
        file.truncate(size)


def _zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("prd.md", "FR-01 The user shall add.")


UNREADABLE = {
    "empty": lambda path: path.write_bytes(b""),
    "blank": lambda path: path.write_bytes(b" \n\t\r\n \xef\xbb\xbf"),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 40),
    "a program": lambda path: path.write_bytes(b"\x7fELF\x02\x01\x01" + b"\x00" * 200),
    "an archive": _zip,
    "a PDF": lambda path: path.write_bytes(b"%PDF-1.7\n1 0 obj\nendobj\n%%EOF"),
    "half UTF-16": lambda path: path.write_bytes(UTF16[:-1] + b"\xd8"),
    "200 MB": lambda path: _sparse(path, 200_000_000),
    "a million lines": lambda path: path.write_bytes(b"The user shall add.\n" * 1_000_000),
    "a million short lines": lambda path: path.write_bytes(b"a\n" * 1_000_000),
    "one endless line": lambda path: path.write_bytes(b"shall " * 300_000),
    "a pipe": os.mkfifo,
}


@each_row("command, make", list(product([["requirements"], ["project", "new", "Notes", "--prd"]], UNREADABLE.values())))
def test_a_document_that_cannot_be_read_is_refused_by_name_with_a_way_out(tmp_path, capsys, make, command):
    path = tmp_path / "prd-of-mine.md"
    make(path)
    assert aiswe([*command, str(path), "--json"]) == 2
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert "prd-of-mine.md" in answer["error"]
    assert "Traceback" not in said.err
    assert answer["hint"] or len(answer["error"].split(". ")) > 1
    assert not {"Error", "Exception"} & set(answer["error"].split())


def test_utf_16_is_read_like_any_text(tmp_path, capsys):
    path = tmp_path / "prd.md"
    path.write_bytes(UTF16)
    assert aiswe(["requirements", str(path), "--json"]) == 0
    assert [row["author_key"] for row in json.loads(capsys.readouterr().out)["requirements"]] == ["FR-01"]


@pytest.mark.django_db(transaction=True)
def test_a_document_without_requirements_is_brought_to_merged_code_by_hand(still):
    said = {
        name: text.replace("FR-01", "MAN-01").replace(', "FR-02"', "") for name, text in small_replies("T-01").items()
    }
    document, run = still.upload(said, text="# Notes\n\nWe met on Tuesday and had tea.\n")
    by = owner_of(still.project)
    assert run.status == Run.Status.NEEDS_YOU
    assert "no requirement was found" in run.why
    assert "add them by hand" in run.why
    with pytest.raises(BadInput, match="add one by hand"):
        documents.confirm_requirements(document, by=by)
    documents.add_requirement(document, by=by, text="The program shall add two numbers.", kind="functional")
    documents.confirm_requirements(document, by=by)
    still.work()
    assert still.run.status == Run.Status.FINISHED
    plan = still.plan()
    assert plan.status == Plan.Status.PROPOSED
    plans.approve_plan(plan, content_hash=plan.content_hash, by=by)
    still.run = runs.start_build(plan, by=by)
    still.work()
    assert still.task().status == Task.Status.MERGED
    assert still.is_sound()


@pytest.mark.django_db(transaction=True)
def test_without_approvals_a_document_without_requirements_still_waits_for_somebody(still):
    project = still.open(small_replies("T-01"), autonomy="none")
    document = documents.upload_document(
        project, b"# Notes\n\nWe met on Tuesday and had tea.\n", "prd.md", by=owner_of(project)
    )
    still.run = runs.start_planning(document, by=owner_of(project))
    still.work()
    assert still.run.status == Run.Status.NEEDS_YOU
    assert "no requirement was found" in still.run.why


@pytest.mark.django_db(transaction=True)
def test_requirements_named_as_ours_would_be_do_not_collide(still):
    inferred = json.dumps(
        {
            "requirements": [
                {"text": "Sums are exact.", "kind": "constraint", "reason": "said so", "because_of": "INF-01"}
            ]
        }
    )
    said = small_replies("T-01") | {"plan/planner-infer": inferred}
    document, run = still.upload(
        said,
        text="# Sums\n\nINF-01: The user shall add two numbers.\n\nINF-02: The user shall see the sum.\n\n"
        "## Background\n\nWe once lost a cent.\n",
    )
    assert run.status == Run.Status.NEEDS_YOU
    rows = set(document.requirements.values_list("key", "author_key", "origin"))
    assert rows >= {("R1", "INF-01", "explicit"), ("INF-01", "", "inferred")}


@pytest.mark.django_db(transaction=True)
def test_more_requirements_than_one_document_may_hold_fail_in_words_and_keep_the_document(still):
    text = "# All\n\n" + "".join(f"FR-{number}: The user shall do thing {number}.\n\n" for number in range(2_001))
    document, run = still.upload(small_replies("T-01"), text=text)
    assert run.status == Run.Status.FAILED
    assert "split it" in run.why
    document.refresh_from_db()
    assert document.status == "failed"
    assert "split it" in document.problem
    assert document.text.startswith("# All")


def test_the_command_line_shows_and_raises_a_projects_limits(db, capsys, still):
    project = still.open({}, limits={})
    me = ("--as", owner_of(project).username)
    assert aiswe(["project", "limits", project.slug, "task_tokens=800000", "max_retries=8", "--json", *me]) == 0
    assert json.loads(capsys.readouterr().out)["limits"]["task_tokens"] == 800_000
    project.refresh_from_db()
    assert project.limits["max_retries"] == 8
    for wrong in (["max_retries=lots"], ["max_retries"], ["tokens=5"], ["max_retries=9999"]):
        assert aiswe(["project", "limits", project.slug, *wrong, *me]) == 2
    assert aiswe(["project", "limits", "nosuch"]) == 2
    project.refresh_from_db()
    assert project.limits["max_retries"] == 8
