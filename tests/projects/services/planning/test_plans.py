import pytest

from projects.errors import BadInput, LostRace, NotAllowed, StaleVersion
from projects.models import Approval, Event, Plan, Transition
from projects.services.planning import documents, plan_rules, plans, runs
from tests.factories import make_document, make_plan, make_project, make_run, make_user, owner_of, plan_content
from tests.rows import fresh, undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def changed(**task) -> dict:
    content = plan_content()
    content["tasks"][0].update(task)
    return content


def test_a_valid_plan_is_proposed_and_asked_about():
    plan = make_plan(approved=False)
    assert (plan.version, plan.status, len(plan.content_hash)) == (1, "proposed", 64)
    asked = Approval.objects.get(kind="plan")
    assert (asked.subject, asked.status) == (plan.content_hash, "pending")


def test_a_circle_is_stored_as_invalid_and_named():
    plan = make_plan(needs={"T-01": ["T-02"], "T-02": ["T-01"]}, approved=False)
    assert plan.status == "invalid"
    assert any("T-01" in problem["message"] and problem["code"] == "cycle" for problem in plan.problems)
    assert not Approval.objects.exists()
    with pytest.raises(BadInput, match="not valid"):
        plans.approve_plan(plan, content_hash=plan.content_hash, by=owner_of(plan.project))


def test_what_is_no_plan_at_all_is_stored_with_its_problems():
    plan = plans.propose_plan(make_document(), content={"tasks": "many"})
    assert (plan.status, plan.content_hash) == ("invalid", "")
    assert plan.problems[0]["severity"] == "error"
    with pytest.raises(BadInput):
        plans.approve_plan(plan, content_hash="", by=owner_of(plan.project))


@each_row(("rejected", "status"), [(False, "invalid"), (True, "proposed")])
@undone()
def test_a_plan_covers_each_requirement_that_is_not_rejected(rejected, status):
    document = make_document()
    row = documents.add_requirement(document, by=owner_of(document.project), text="CSV.", kind="functional")
    if rejected:
        documents.set_requirement(row, by=owner_of(document.project), status="rejected")
    plan = plans.propose_plan(document, content=plan_content())
    assert plan.status == status
    assert ("MAN-01" in str(plan.problems)) is not rejected


def test_the_same_content_again_is_the_same_version():
    plan = make_plan(approved=False)
    assert plans.propose_plan(plan.document, content=plan_content()).pk == plan.pk


def test_a_newer_proposal_takes_the_place_of_the_older_and_closes_its_question():
    first = make_plan(approved=False)
    second = plans.propose_plan(first.document, content=changed(title="Other"))
    assert (fresh(first).status, second.status, second.version) == ("superseded", "proposed", 2)
    states = dict(Approval.objects.values_list("subject", "status"))
    assert states == {first.content_hash: "closed", second.content_hash: "pending"}


def test_editing_makes_a_version_and_the_editors_base_must_be_the_newest():
    plan = make_plan(approved=False)
    person = owner_of(plan.project)
    second = plans.edit_plan(plan, content=changed(minutes=45), by=person, base_hash=plan.content_hash)
    assert (second.version, second.created_by) == (2, person)
    with pytest.raises(StaleVersion, match="v2"):
        plans.edit_plan(plan, content=changed(minutes=50), by=person, base_hash=plan.content_hash)
    assert Plan.objects.count() == 2


def test_a_yes_binds_to_the_content_that_was_shown():
    plan = make_plan(approved=False)
    person = owner_of(plan.project)
    second = plans.edit_plan(plan, content=changed(minutes=45), by=person, base_hash=plan.content_hash)
    with pytest.raises(StaleVersion, match="v2 is"):
        plans.approve_plan(plan, content_hash=plan.content_hash, by=person)
    with pytest.raises(StaleVersion, match="not the content you reviewed"):
        plans.approve_plan(second, content_hash=plan.content_hash, by=person)
    assert plans.approve_plan(second, content_hash=second.content_hash, by=person).status == "approved"
    assert (second.decided_by, Approval.objects.get(subject=second.content_hash).status) == (person, "approved")


def test_a_plan_whose_content_or_requirements_changed_since_is_not_approved():
    plan = make_plan(approved=False)
    person, shown = owner_of(plan.project), plan.content
    Plan.objects.filter(pk=plan.pk).update(content=changed(packages=["evil"]))
    with pytest.raises(StaleVersion, match="does not match"):
        plans.approve_plan(plan, content_hash=plan.content_hash, by=person)
    Plan.objects.filter(pk=plan.pk).update(content=shown)
    documents.add_requirement(plan.document, by=person, text="CSV.", kind="functional")
    with pytest.raises(BadInput, match="MAN-01"):
        plans.approve_plan(plan, content_hash=plan.content_hash, by=person)


def test_a_decided_plan_is_not_decided_again():
    plan = make_plan()
    with pytest.raises(LostRace, match="approved"):
        plans.approve_plan(plan, content_hash=plan.content_hash, by=owner_of(plan.project))
    with pytest.raises(LostRace, match="approved"):
        plans.ask_for_changes(plan, by=owner_of(plan.project), comment="late")


def test_only_an_architect_edits_and_approves_and_changes_need_words():
    plan = make_plan(approved=False)
    other = make_user(role="developer", project=plan.project)
    for call in (
        lambda: plans.approve_plan(plan, content_hash=plan.content_hash, by=other),
        lambda: plans.edit_plan(plan, content=changed(), by=other, base_hash=plan.content_hash),
        lambda: plans.ask_for_changes(plan, by=other, comment="x"),
    ):
        with pytest.raises(NotAllowed, match="architect"):
            call()
    with pytest.raises(BadInput, match="what should change"):
        plans.ask_for_changes(plan, by=owner_of(plan.project), comment=" ")


def test_approving_a_new_version_retires_the_old_one():
    first = make_plan()
    second = plans.edit_plan(
        first, content=changed(minutes=45), by=owner_of(first.project), base_hash=first.content_hash
    )
    assert fresh(first).status == "approved"
    plans.approve_plan(second, content_hash=second.content_hash, by=owner_of(first.project))
    assert (fresh(first).status, second.status) == ("superseded", "approved")


@each_row("autonomy", ["gates_only", "none", "plan_only", "plan_gates"])
@undone()
def test_only_where_autonomy_waives_the_yes_a_plan_is_approved_and_says_by_whom(autonomy):
    plan = plans.propose_plan(make_document(make_project(autonomy=autonomy)), content=plan_content())
    waived = Transition.objects.filter(kind="plan", object_id=plan.pk, new="approved", actor="autonomy").exists()
    asked = Approval.objects.exists()
    expected = ("approved", True, False) if autonomy in ("gates_only", "none") else ("proposed", False, True)
    assert (plan.status, waived, asked, plan.decided_by) == (*expected, None)


def test_the_planning_run_hears_of_everything():
    document = make_document()
    person = owner_of(document.project)
    run = runs.start_planning(document, by=person)
    plan = plans.propose_plan(document, content=plan_content())
    plan = plans.edit_plan(plan, content=changed(minutes=45), by=person, base_hash=plan.content_hash)
    plans.approve_plan(plan, content_hash=plan.content_hash, by=person)
    told = list(Event.objects.filter(run=run).order_by("seq").values_list("type", flat=True))
    asked = ["approval.requested", "approval.decided"]
    assert told == ["run.queued", "plan.proposed", *asked, "plan.edited", *asked, "plan.approved"]


def test_a_layout_places_every_task_after_what_it_needs():
    graph, specs = plan_rules.layout_of(make_run(needs={"T-01": [], "T-02": ["T-01"], "T-03": ["T-01"]}).plan)
    assert {(source, target) for source, target, _ in graph.edges} == {("T-01", "T-02"), ("T-01", "T-03")}
    left = {key: x for key, (x, _) in graph.places.items()}
    assert left["T-01"] < left["T-02"] == left["T-03"]
    assert list(specs) == ["T-01", "T-02", "T-03"]


def test_a_plan_without_readable_tasks_has_an_empty_layout():
    plan = plans.propose_plan(make_document(), content={"tasks": [1, 2]})
    assert plan_rules.layout_of(plan)[0].places == {}


def with_one_file() -> dict:
    content = plan_content({"T-01": [], "T-02": [], "T-03": []})
    for task in content["tasks"]:
        task["files"] = ["app.py"]
    return content


def test_tasks_of_a_new_plan_that_write_one_file_are_put_in_order_and_the_checks_say_so():
    plan = plans.propose_plan(make_document(), content=with_one_file())
    assert [task["needs"] for task in plan.content["tasks"]] == [[], ["T-01"], ["T-02"]]
    assert [(problem["code"], problem["tasks"]) for problem in plan.problems] == [
        ("added_need", ["T-02", "T-01"]),
        ("added_need", ["T-03", "T-02"]),
    ]
    again = plans.propose_plan(plan.document, content=with_one_file())
    assert again.pk == plan.pk
    plans.approve_plan(plan, content_hash=plan.content_hash, by=owner_of(plan.project))


def test_a_plan_stored_without_the_needs_of_common_files_can_still_be_approved():
    plan = make_plan(approved=False)
    found = plan_rules.examine(with_one_file(), plan.document)
    Plan.objects.filter(pk=plan.pk).update(content=found.content, content_hash=found.digest)
    plan.refresh_from_db()
    assert plans.approve_plan(plan, content_hash=found.digest, by=owner_of(plan.project)).status == "approved"
