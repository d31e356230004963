import pytest

from projects.errors import BadInput, IllegalMove, NotAllowed
from projects.models import Requirement
from projects.services.planning import documents, runs
from tests.factories import PRD, make_document, make_project, make_requirement, make_user, owner_of
from tests.rows import undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def upload(project, data: bytes, name: str = "prd.md"):
    return documents.upload_document(project, data, name, by=owner_of(project))


@each_row(
    ("data", "name"),
    [
        (b"", "empty.md"),
        (b"  \n\t\n", "blank.md"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "prd.pdf"),
        (b"PK\x03\x04" + b"\x00" * 200, "prd.docx"),
        (bytes(range(256)) * 40, "prd.bin"),
        (b"FR-01 The user shall log in.\n" * 200_000, "huge.md"),
        (b"\xff\xfe" + "half".encode("utf-16-le") + b"\x00", "cut.md"),
    ],
)
@undone()
def test_what_is_no_text_is_refused_with_a_way_out(data, name):
    project = make_project()
    with pytest.raises(BadInput) as refusal:
        upload(project, data, name)
    assert name in str(refusal.value)
    assert len(str(refusal.value)) > len(name) + 20
    assert project.documents.count() == 0


@each_row("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_other_unicode_encodings_are_read(encoding):
    text = "FR-01 The user shall see prices in €.\n"
    bom = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    document = upload(make_project(), bom + text.encode(encoding))
    assert "€" in document.text


def test_each_upload_is_a_version_and_the_same_bytes_are_none():
    project = make_project()
    first = upload(project, PRD.encode())
    assert upload(project, PRD.encode()).pk == first.pk
    second = upload(project, PRD.encode() + b"\nFR-03 More.\n")
    assert (first.version, second.version) == (1, 2)
    assert upload(project, PRD.encode()).version == 3


def test_only_an_architect_uploads():
    project = make_project()
    with pytest.raises(NotAllowed, match="architect"):
        documents.upload_document(project, b"x", "x.md", by=make_user(role="manager", project=project))


def test_extracting_again_replaces_what_nobody_touched():
    document = make_document(confirmed=False)
    person = owner_of(document.project)
    rejected = document.requirements.get(key="FR-02")
    documents.set_requirement(rejected, by=person, status="rejected")
    added = documents.add_requirement(document, by=person, text="It is fast.", kind="non_functional")
    documents.record_extraction(
        document,
        [
            {"key": "FR-01", "text": "The user shall add.", "kind": "functional", "lines": [3, 3]},
            {"key": "FR-02", "text": "The user shall mark.", "kind": "functional", "lines": [5, 5]},
            {"key": "FR-03", "text": "Found now.", "kind": "functional", "origin": "inferred", "reason": "login"},
        ],
        [{"lines": [1, 1], "text": "# To-do list"}],
    )
    rows = {row.key: row for row in document.requirements.all()}
    assert set(rows) == {"FR-01", "FR-02", "FR-03", "MAN-01"}
    assert rows["FR-01"].text == "The user shall add."
    assert rows["FR-02"].status == "rejected"
    assert rows["MAN-01"].pk == added.pk
    assert rows["FR-03"].reason == "login"


def test_questions_and_passages_are_kept_with_the_document():
    text = b"## Needs\n- FR-1: Notes are saved.\n\n```\nsave\n```\n\n## Open questions\n- Who reads them?\n"
    project = make_project()
    document = documents.upload_document(project, text, "prd.md", by=owner_of(project))
    documents.extract_written(document)
    assert document.questions == [{"text": "Who reads them?", "lines": [9, 9]}]
    assert document.requirements.get(author_key="FR-1").passages == [[4, 6]]


ROW = {"key": "FR-09", "text": "t", "kind": "functional"}


@each_row(
    ("rows", "word"),
    [
        ([ROW | {"key": ""}], "no key"),
        ([ROW | {"text": " "}], "needs a text"),
        ([ROW | {"kind": "wish"}], "'wish'"),
        ([ROW | {"origin": "dreamt"}], "'dreamt'"),
        ([ROW, ROW], "FR-09"),
    ],
)
def test_a_requirement_that_makes_no_sense_is_refused_and_nothing_changes(rows, word):
    document = make_document(confirmed=False)
    with pytest.raises(BadInput, match=word):
        documents.record_extraction(document, rows, [])
    assert document.requirements.count() == 2


def test_confirming_accepts_what_is_proposed_and_nothing_changes_by_another_or_a_late_extraction():
    document = make_document(confirmed=False)
    person = owner_of(document.project)
    documents.set_requirement(document.requirements.get(key="FR-02"), by=person, status="rejected")
    for _ in range(2):
        documents.confirm_requirements(document, by=person)
    with pytest.raises(IllegalMove, match="confirmed"):
        documents.record_extraction(document, [], [])
    assert document.status == "confirmed"
    assert dict(document.requirements.values_list("key", "status")) == {"FR-01": "accepted", "FR-02": "rejected"}


def test_confirming_wakes_the_planning_that_waits_for_it(enqueued, django_capture_on_commit_callbacks):
    document = make_document(confirmed=False)
    run = runs.start_planning(document, by=owner_of(document.project))
    with django_capture_on_commit_callbacks(execute=True):
        documents.confirm_requirements(document, by=owner_of(document.project))
    assert ("projects.jobs.plan_run", (run.pk,)) in enqueued


def test_what_nobody_has_read_or_accepts_cannot_be_confirmed():
    read, unread = make_document(confirmed=False), upload(make_project(), PRD.encode())
    read.requirements.update(status="rejected")
    for document, error, words in ((read, BadInput, "No requirement"), (unread, IllegalMove, "not extracted")):
        with pytest.raises(error, match=words):
            documents.confirm_requirements(document, by=owner_of(document.project))


def test_rewriting_a_requirement_keeps_what_is_not_given_and_accepts_it():
    document = make_document(confirmed=False)
    row = documents.set_requirement(
        document.requirements.get(key="FR-01"), by=owner_of(document.project), text="Add.", acceptance=["a", "", "b"]
    )
    assert (row.text, row.kind, row.acceptance, row.status) == ("Add.", "functional", ["a", "b"], "accepted")


def test_hand_made_keys_fill_the_first_gap():
    document = make_document()
    make_requirement(document, key="MAN-02")
    person = owner_of(document.project)
    keys = [documents.add_requirement(document, by=person, text="t", kind="goal").key for _ in range(2)]
    assert keys == ["MAN-01", "MAN-03"]
    assert Requirement.objects.filter(document=document, origin="manual").count() == 2


def test_a_failed_reading_says_why_but_a_confirmed_document_stays():
    document, confirmed = make_document(confirmed=False), make_document()
    documents.fail_document(document, "the model gave no JSON")
    documents.fail_document(confirmed, "late")
    assert (document.status, document.problem) == ("failed", "the model gave no JSON")
    assert confirmed.status == "confirmed"


def test_coverage_counts_paragraphs_and_no_headings():
    document = make_document()
    assert documents.coverage(document) == {"mapped": 2, "total": 2}
    document.unmapped = [{"lines": [5, 5], "text": "FR-02"}]
    assert documents.coverage(document) == {"mapped": 1, "total": 2}


def test_a_requirement_brings_what_those_say_that_it_mentions():
    project = make_document().project
    Requirement.objects.filter(key="FR-01").update(author_key="FR-01")
    rows = [{"key": "FR-03", "text": "Change of FR-01: titles are unique.", "acceptance": ["two are refused"]}]
    (row,) = documents.with_mentioned(rows, project)
    assert row["acceptance"] == ["two are refused", "FR-01 says: The user shall add a to-do with a title."]
    assert documents.with_mentioned([rows[0] | {"key": "FR-01"}], project)[0]["acceptance"] == ["two are refused"]


def test_a_task_and_the_planner_are_told_what_the_document_says_besides():
    text = (
        b"# Notes\n\n## Usage\n\n>>> save('Milk')\n'saved'\n\n## Requirements\n- FR-1: `save` keeps a note.\n"
        b"- FR-2: Lines are short.\n\n## Parts\n\nThe code is in `notes/core.py`.\n"
    )
    project = make_project()
    document = documents.upload_document(project, text, "prd.md", by=owner_of(project))
    documents.extract_written(document)
    rows = list(document.requirements.filter(author_key="FR-1"))
    assert documents.passages_of(rows) == ">>> save('Milk')\n'saved'"
    told = documents.passages_of(rows, ["notes/core.py"])
    assert told == ">>> save('Milk')\n'saved'\n…\nThe code is in `notes/core.py`."
    assert "core" not in documents.passages_of(rows, ["score.py"])
