"""The traceability matrix: what is proven, where the chain breaks, and what nobody asked for."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from projects.models import Attempt, Finding, Task
from projects.services.delivery.trace import GAP, NOTHING_YET, PLANNED, Trace, TraceRow, as_csv, trace
from projects.services.planning import plans
from projects.services.planning.progress import DONE, IN_WORK
from projects.storage.paths import repository_of
from tests.dashboard.story import CODE, Story, finish
from tests.factories import (
    make_document,
    make_finding,
    make_plan,
    make_project,
    make_requirement,
    make_run,
    owner_of,
    plan_content,
)
from tests.projects.services.planning.test_progress import build, give

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(story_with_code: Story) -> Story:
    return story_with_code


def row(found: Trace, key: str) -> TraceRow:
    return next(one for one in found.rows if one.requirement.key == key)


def whole(story: Story) -> None:
    """Everything is merged in the one commit, and the finding is gone."""
    finish(story, whole=True)
    Finding.objects.update(state="fixed")
    Attempt.objects.update(tests={"passed": 4, "failed": 0, "errors": 0})


def test_a_merged_requirement_leads_to_code_tests_decision_and_commit(story: Story) -> None:
    whole(story)
    found = row(trace(story.project), "FR-01")
    assert (found.state, found.gap) == (DONE, None)
    assert {(span.path, span.first, span.last) for span in found.spans} >= {("app/todos.py", 1, 7)}
    assert [(test.path, test.line, test.name) for test in found.tests] == [("tests/test_todos.py", 4, "test_add")]
    assert [event.summary for event in found.decisions] == ["chose a dict over a dataclass because it is JSON already"]
    assert [task.commit for task in found.commits] == [story.done.commit]


def test_work_that_goes_on_is_no_gap(story: Story) -> None:
    found = row(trace(story.project), "FR-02")
    assert (found.state, found.gap) == (IN_WORK, None)


def test_each_missing_link_is_named_where_it_is_missing(story: Story) -> None:
    def gap() -> tuple[str, str]:
        found = row(trace(story.project), "FR-01")
        assert found.state == GAP
        assert found.gap is not None
        return found.gap.cell, found.gap.state

    whole(story)
    make_finding(story.done, severity="HIGH", blocks=False)
    assert gap() == ("findings", "open finding")
    Finding.objects.update(disposition="accepted")
    Attempt.objects.filter(task=story.done).update(tests={"passed": 1, "failed": 2})
    assert gap() == ("tests", "test fails")
    Attempt.objects.update(tests={})
    base = story.done.commit
    tree = repository_of(story.project).candidate("bare", base, {"app/more.py": "x = 1\n"})
    Task.objects.update(commit=tree.commit(base, "No test", "", {}))
    assert gap() == ("tests", "no test")
    Task.objects.filter(pk=story.done.pk).update(commit="")
    assert gap() == ("commits", "no commit")
    Task.objects.filter(pk=story.done.pk).update(status="skipped")
    assert gap() == ("tasks", "left out")


def test_a_requirement_without_a_task_is_a_gap_of_its_plan(tmp_path: Path, settings: Any, enqueued: list[Any]) -> None:
    settings.AISWE_HOME = tmp_path
    document = make_document()
    assert {one.state for one in trace(document.project).rows} == {NOTHING_YET}
    plan = plans.propose_plan(document, content=plan_content())
    assert {one.state for one in trace(document.project).rows} == {PLANNED}
    assert row(trace(document.project), "FR-02").planned == ["T-01", "T-02"]
    make_requirement(document, "GOAL-1", kind="goal")
    found = row(trace(document.project), "GOAL-1")
    assert found.gap is not None
    assert (found.gap.cell, found.gap.words) == ("tasks", "no task")
    assert trace(document.project).rows[0] == found, "gaps come first"
    plans.approve_plan(plan, content_hash=plan.content_hash, by=owner_of(plan.project))


def test_lines_that_no_requirement_asks_for_are_listed_and_what_was_there_before_is_not(story: Story) -> None:
    repository = repository_of(story.project)
    before = trace(story.project)
    assert before.unasked == []
    assert before.before > 0, "the repository began with lines of its own"
    files = {**CODE, "app/extra.py": "a = 1\nb = 2\n", "tests/test_extra.py": "def test_extra() -> None:\n    pass\n"}
    base = repository.head()
    repository.fast_forward(repository.candidate("theirs", base, files).commit(base, "By hand", "", {}))
    found = trace(story.project)
    assert [(one.place.path, one.lines, one.tests, one.task) for one in found.unasked] == [
        ("app/extra.py", 2, 0, None),
        ("tests/test_extra.py", 2, 1, None),
    ]
    assert "by hand" in found.unasked[0].why
    assert (found.unasked_lines, found.tests_unasked, found.lines) == (4, 1, before.lines + 4)
    story.done.requirements.clear()
    assert {one.task for one in trace(story.project).unasked} == {None, story.done}


def test_lines_of_a_build_whose_branch_was_not_taken_over_are_those_of_its_branch(story: Story) -> None:
    from projects.models import Run

    base = repository_of(story.project).head()
    mine = repository_of(story.project).candidate("mine", base, {"app/own.py": "mine = 1\n"})
    commit = mine.commit(base, "Mine", "", {})
    repository_of(story.project).branch(f"aiswe/run-{story.run.pk}", commit)
    Task.objects.filter(pk=story.done.pk).update(commit=commit)
    assert Run.objects.filter(pk=story.run.pk).exists()
    found = trace(story.project)
    assert found.at == commit
    assert "does not have yet" in found.note
    assert [span.path for span in row(found, "FR-01").spans] == ["app/own.py"]


def test_the_number_of_queries_does_not_grow_with_requirements_and_tasks(story: Story) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            trace(story.project)
        return len(seen)

    few = queries()
    for number in range(20):
        requirement = make_requirement(story.document, f"X-{number}")
        task = Task.objects.create(run=story.run, ordinal=100 + number, key=f"X-{number}", title="more")
        task.requirements.add(requirement)
        make_finding(task)
    assert queries() == few


def test_the_csv_file_has_every_row_and_no_formula(story: Story) -> None:
    make_requirement(story.document, "X-1", text="=HYPERLINK(1)")
    rows = list(csv.DictReader(io.StringIO(as_csv(trace(story.project)))))
    assert {one["requirement"] for one in rows} == {"FR-01", "FR-02", "X-1"}
    assert next(one for one in rows if one["requirement"] == "X-1")["text"] == "'=HYPERLINK(1)"
    assert "tests/test_todos.py:4 test_add" in next(one for one in rows if one["requirement"] == "FR-01")["tests"]


def test_without_code_or_document_the_matrix_is_empty(tmp_path: Path, settings: Any, enqueued: list[Any]) -> None:
    settings.AISWE_HOME = tmp_path
    found = trace(make_project())
    assert (list(found.rows), found.at, found.asked) == ([], "", 0)
    assert make_run(make_plan()).project.pk


def test_words_that_changed_since_they_were_built_are_stale_and_what_is_gone_is_no_gap(
    tmp_path: Path, settings: Any, enqueued: list[Any]
) -> None:
    settings.AISWE_HOME = tmp_path
    project = make_project()
    first = give(project, "FR-1: It shall add.\n\nFR-2: It shall sort.\n\nFR-3: It shall print.\n")
    keys = list(first.requirements.filter(origin="explicit").values_list("key", flat=True))
    build(first, {"T-01": keys})
    second = give(project, "FR-1: It shall add.\n\nFR-2: It shall sort by date.\n")
    rows = {one.requirement.key: one for one in trace(project).rows}
    gap = rows[keys[1]].gap
    assert gap is not None
    assert (gap.cell, gap.state, gap.words) == ("tasks", "stale", "its words changed, no task since")
    assert (rows[keys[2]].state, rows[keys[2]].gap) == ("removed", None)
    assert trace(project).asked == 2
    task = {"title": "Sort by date", "expects": "Sorted.", "requirements": [keys[1]]}
    more = {"title": "Stop printing", "expects": "Gone.", "requirements": [keys[2]]}
    plans.propose_plan(second, content={"tasks": [task, more]})
    gap = row(trace(project), keys[1]).gap
    assert gap is not None
    assert gap.words == "its words changed, planned: T-01"
