"""Documents that replace or add, and what that makes of requirements, built or not."""

from typing import Any

import pytest

from agents.context import said_once
from projects.engine import building
from projects.engine.planning import DatabasePlanStore
from projects.errors import BadInput
from projects.models import Project, Requirement, RequirementDocument, Run, Task
from projects.services.planning import documents, plans, runs
from projects.services.planning.progress import differences, progress_of
from tests.factories import make_plan, make_project, make_run, owner_of

pytestmark = pytest.mark.django_db

FIRST = """# Todo

FR-1: The user shall add a to-do with a title.

FR-2: The user shall mark a to-do as done.

FR-3: The user shall export the list as a file.
"""
SECOND = """# Todo

FR-1: The user shall add a to-do with a title.

FR-2: The user shall mark a to-do as done or as cancelled.

FR-4: The user shall search the list.
"""


def give(
    project: Project, text: str, name: str = "todo.md", *, confirm: bool = True, relation: str = ""
) -> RequirementDocument:
    """A document of the project, read and confirmed."""
    by = owner_of(project)
    document = documents.upload_document(project, text.encode(), name, by=by, relation=relation)
    documents.extract_written(document)
    return documents.confirm_requirements(document, by=by) if confirm else document


def build(document: RequirementDocument, tasks: dict[str, list[str]], status: str = "merged") -> Run:
    """A build that is over, of one task for each of these."""
    made = make_plan(document, approved=False)
    made.content["tasks"] = [
        dict(made.content["tasks"][0], key=key, requirements=wanted, needs=[]) for key, wanted in tasks.items()
    ]
    made.status = "approved"
    made.save()
    run = make_run(made)
    Task.objects.filter(run=run).update(status=status)
    Run.objects.filter(pk=run.pk).update(status="finished")
    return run


def states(document: RequirementDocument) -> dict[str, str]:
    return {one.requirement.key: one.state for one in progress_of(document.project, document)}


@pytest.fixture
def project(enqueued: list[Any], monkeypatch: pytest.MonkeyPatch) -> Project:
    for check in ("outdated", "already_built"):  # plans here cover only what a test is about
        monkeypatch.setattr(runs, check, lambda plan: "")
    return make_project()


def test_a_document_of_the_same_name_replaces_and_another_one_adds(project: Project) -> None:
    first, other = give(project, FIRST), give(project, "# More\n\nIt shall print.\n", "more.md")
    second = give(project, SECOND)
    assert (first.replaces, other.replaces, second.replaces) == (None, None, first)
    assert second.replaced() == [first]


def test_what_a_document_is_may_be_chosen(project: Project) -> None:
    first = give(project, FIRST)
    assert give(project, SECOND, relation=documents.ADDS).replaces is None
    third = give(project, SECOND.replace("search", "print"), "other.md", relation=documents.REPLACES)
    assert third.replaced() == [RequirementDocument.objects.get(version=2)]
    with pytest.raises(BadInput, match="no document that this one could replace"):
        give(make_project(), FIRST, relation=documents.REPLACES)
    assert first.replaced() == []


def test_the_same_bytes_as_a_document_in_force_are_not_stored_again(project: Project) -> None:
    first = give(project, FIRST)
    give(project, "# More\n\nIt shall print.\n", "more.md")
    assert documents.upload_document(project, FIRST.encode(), "todo.md", by=owner_of(project)) == first
    give(project, SECOND)
    assert documents.upload_document(project, FIRST.encode(), "todo.md", by=owner_of(project)).version == 4


def test_a_replacement_keeps_keys_and_tells_what_it_changed(project: Project) -> None:
    give(project, FIRST)
    second = give(project, SECOND)
    explicit = second.requirements.filter(origin="explicit").values_list("author_key", "key")
    assert dict(explicit) == {"FR-1": "R1", "FR-2": "R2", "FR-4": "R4"}
    found = {one.to_json()["key"]: one for one in differences(second)}
    assert {key: one.change for key, one in found.items()} == {
        "R1": "same",
        "R2": "altered",
        "R4": "added",
        "R3": "removed",
    }
    assert found["R2"].to_json()["before"] == "The user shall mark a to-do as done."
    assert differences(give(project, "# More\n\nIt shall print.\n", "more.md")) == []


def test_what_people_added_accepted_or_rejected_outlives_a_replacement(project: Project) -> None:
    by = owner_of(project)
    first = give(project, FIRST + "\nFR-5: Users log in with a password.\n", confirm=False)
    documents.add_requirement(first, by=by, text="It shall be quick.", kind="non_functional")
    implied = list(first.requirements.filter(origin="implied"))
    assert implied
    documents.set_requirement(implied[0], by=by, status="accepted")
    documents.set_requirement(first.requirements.get(key="R1"), by=by, status="rejected")
    documents.confirm_requirements(first, by=by)
    second = give(project, SECOND + "\nFR-5: Users log in with a password.\n", confirm=False)
    kept = dict(second.requirements.values_list("key", "status"))
    assert (kept["MAN-01"], kept[implied[0].key], kept["R1"]) == ("accepted", "accepted", "rejected")
    documents.record_extraction(second, [], [])  # as when a planner reads it again
    assert second.requirements.filter(key="MAN-01", origin=Requirement.Origin.MANUAL).exists()
    assert "MAN-01" not in {one.to_json()["key"] for one in differences(second) if one.change == "removed"}


def test_built_work_is_stale_when_its_requirement_is_altered_until_it_is_rebuilt(project: Project) -> None:
    build(give(project, FIRST), {"T-01": ["R1", "R3"], "T-02": ["R2"]})
    second = give(project, SECOND)
    assert states(second) == {"R1": "done", "R2": "stale", "R4": "not_planned", "R3": "removed"}
    build(second, {"T-01": ["R2"], "T-02": ["R4"]}, status="escalated")
    assert states(second)["R2"] == "left_out"
    build(second, {"T-01": ["R2"], "T-02": ["R4"]})
    assert states(second) == {"R1": "done", "R2": "done", "R4": "done", "R3": "removed"}


def test_a_later_build_that_was_cancelled_takes_nothing_back_that_is_merged(project: Project) -> None:
    first = give(project, FIRST)
    run = build(first, {"T-01": ["R1", "R2"], "T-02": ["R3"]})
    again = build(first, {"T-01": ["R1", "R2"], "T-02": ["R3"]}, status="cancelled")
    assert states(first) == {"R1": "done", "R2": "done", "R3": "done"}
    assert {task.run_id for one in progress_of(project, first) for task in one.tasks} == {run.pk}
    Task.objects.filter(run=again, key="T-01").update(status="merged")
    assert {task.run_id for one in progress_of(project, first) for task in one.tasks} == {run.pk, again.pk}


def test_case_and_spacing_do_not_make_built_work_stale(project: Project) -> None:
    build(give(project, FIRST), {"T-01": ["R1", "R2", "R3"]})
    assert set(states(give(project, FIRST.replace("shall", " SHALL"))).values()) == {"done"}


def test_a_replacement_that_nobody_confirmed_changes_no_state_yet(project: Project) -> None:
    first = give(project, FIRST)
    build(first, {"T-01": ["R1", "R2", "R3"]})
    give(project, SECOND, confirm=False)
    third = give(project, "# More\n\nIt shall print.\n", "more.md")
    assert states(third) == {"R1": "done", "R2": "done", "R3": "done", "R5": "not_planned"}


def test_a_task_that_names_what_was_removed_drops_it(project: Project) -> None:
    build(give(project, FIRST), {"T-01": ["R1", "R2"], "T-02": ["R3"]})
    second = give(project, SECOND)
    assert [one.built for one in progress_of(project, second) if one.state == "removed"] == [True]
    run = build(second, {"T-01": ["R2"], "T-02": ["R3"]})
    assert [row.document.version for row in run.tasks.get(key="T-02").requirements.all()] == [1]
    assert [one.built for one in progress_of(project, second) if one.state == "removed"] == [False]
    third = give(project, FIRST)
    assert states(third)["R3"] == "not_planned", "its code is gone, so it is to be built again"


def store_of(document: RequirementDocument) -> Any:
    run = Run.objects.create(project=document.project, kind=Run.Kind.PLAN, document=document)
    return DatabasePlanStore(run, None)  # type: ignore[arg-type]  # nothing is written


def test_the_planner_is_given_what_a_replacement_touches(project: Project) -> None:
    build(give(project, FIRST), {"T-01": ["R1", "R2"], "T-02": ["R3"]})
    store = store_of(give(project, SECOND))
    rows = {row["key"]: said_once([row], "")[0] for row in store.requirements()}
    assert list(rows) == ["R2", "R4", "R3"]
    assert "or as cancelled.\n  Built so far is its earlier wording: The user shall mark a to-do as done." in rows["R2"]
    assert "No longer wanted: the code and the tests" in rows["R3"]
    assert store.background() == ["R1 (FR-1), built: The user shall add a to-do with a title."]


def test_a_plan_of_a_replacement_covers_what_it_touches_and_nothing_else(project: Project) -> None:
    build(give(project, FIRST), {"T-01": ["R1", "R2"], "T-02": ["R3"]})
    store = store_of(give(project, SECOND))
    task = {"title": "All", "expects": "It works.", "requirements": ["FR-2", "R4", "R3 (FR-3)"]}
    assert store.problems_of({"tasks": [task]}) == []
    problems = store.problems_of({"tasks": [{**task, "requirements": ["R2"]}]})
    assert len(problems) == 2
    assert any("No task removes what requirement R3 asked for" in problem for problem in problems)
    assert any("No task covers requirement R4" in problem for problem in problems)


def test_a_task_is_told_that_it_drops_a_requirement(project: Project) -> None:
    build(give(project, FIRST), {"T-01": ["R1", "R2"], "T-02": ["R3"]})
    run = build(give(project, SECOND), {"T-01": ["R2"], "T-02": ["R3"]})
    kept, dropped = (building.task_data(task)["requirements"][0] for task in run.tasks.order_by("ordinal"))
    assert "dropped" not in kept
    assert kept["before"] == "The user shall mark a to-do as done."
    assert dropped["dropped"] is True
    assert dropped["text"].startswith("No longer wanted")


def test_where_nothing_is_left_to_plan_all_is_planned_again(project: Project) -> None:
    build(give(project, FIRST), {"T-01": ["R1", "R2", "R3"]})
    store = store_of(give(project, FIRST.replace("# Todo", "# To-do")))
    assert [row["key"] for row in store.requirements()] == ["R1", "R2", "R3"]


def test_a_document_that_adds_and_contradicts_another_one_names_both_lines(project: Project) -> None:
    give(project, FIRST)
    text = "# More\n\nIt shall print.\n\nThe user shall not mark a to-do as done.\n"
    adds = give(project, text, "more.md", relation=documents.ADDS)
    (hint,) = documents.hints(adds)
    assert hint.keys == ("R2", "R5")
    assert hint.why.endswith("R2, todo.md v1 line 5: “The user shall mark a to-do as done.”")
    plan = plans.propose_plan(adds, content={"tasks": [{"title": "All", "requirements": ["R4", "R5"]}]})
    assert [one["message"].partition(":")[0] for one in plan.problems if one["code"] == "contradiction"] == [
        "R2 and R5 contradict"
    ]


def test_a_task_of_an_overtaken_build_that_others_need_stays(project: Project) -> None:
    plan = make_plan(give(project, FIRST), approved=False)
    tasks = {"T-01": ["R2"], "T-02": ["R1"], "T-03": ["R3"], "T-04": ["R3", "R1"], "T-05": []}
    needs = {"T-02": ["T-01"]}
    plan.content["tasks"] = [
        dict(plan.content["tasks"][0], key=key, requirements=wanted, needs=needs.get(key, []))
        for key, wanted in tasks.items()
    ]
    plan.status = "approved"
    plan.save()
    run = make_run(plan)
    second = give(project, SECOND)
    assert dict(run.tasks.exclude(status="queued").values_list("key", "status")) == {"T-03": "skipped"}
    assert store_of(second).waits_for().startswith(f"run {run.pk},")
    Run.objects.filter(pk=run.pk).update(status="cancelled")
    assert store_of(second).waits_for() == ""


def test_a_part_of_what_was_dropped_is_to_be_removed_too(project: Project) -> None:
    run = build(give(project, FIRST), {"T-01": ["R1", "R2", "R3"], "T-02": ["R3"]})
    Task.objects.filter(run=run, key="T-02").update(status="skipped")
    second = give(project, SECOND)
    assert [one.built for one in progress_of(project, second) if one.state == "removed"] == [True]
    assert "R3" in [row["key"] for row in store_of(second).requirements()]


def test_the_planner_of_a_document_that_adds_knows_what_the_others_ask_for(project: Project) -> None:
    build(give(project, FIRST), {"T-01": ["R1", "R2"]})
    store = store_of(give(project, "# More\n\nFR-1: It shall print.\n", "more.md"))
    assert [row["key"] for row in store.requirements()] == ["R4"]
    assert store.background() == [
        "R1 (FR-1) of todo.md v1, built: The user shall add a to-do with a title.",
        "R2 (FR-2) of todo.md v1, built: The user shall mark a to-do as done.",
        "R3 (FR-3) of todo.md v1, not built: The user shall export the list as a file.",
    ]
