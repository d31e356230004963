"""Drafts of a plan: edits that are checked as they are gathered, and become one version or nothing."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.planning.parse import parse_plan
from agents.planning.validate import validate_plan
from projects.errors import BadInput, NotAllowed, StaleVersion
from projects.models import Plan, PlanEdits, SiteEvent
from projects.services.planning import plan_drafts, plans, runs
from projects.services.planning.plan_edits import apply_edits, next_key, tasks_of
from projects.services.planning.plan_rules import examine
from tests.factories import make_document, make_plan, make_user, owner_of, plan_content
from tests.rows import fresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]
CHAIN = {"T-01": [], "T-02": ["T-01"], "T-03": ["T-02"]}


def chain() -> dict[str, Any]:
    return plan_content(CHAIN)


def keys(content: dict[str, Any]) -> list[str]:
    return [task["key"] for task in tasks_of(content)]


def needs(content: dict[str, Any]) -> dict[str, list[str]]:
    return {task["key"]: task["needs"] for task in tasks_of(content)}


@pytest.fixture
def plan() -> Plan:
    return make_plan(needs=CHAIN, approved=False)


@pytest.fixture
def ada(plan: Plan) -> User:
    return owner_of(plan.project)


def test_what_waited_for_a_removed_or_split_task_waits_for_what_is_left_of_it() -> None:
    assert needs(apply_edits(chain(), [{"do": "remove", "key": "T-02"}])) == {"T-01": [], "T-03": ["T-01"]}
    parts = {"first": {"title": "A", "minutes": 10}, "second": {"title": "B", "minutes": 20}}
    after = apply_edits(chain(), [{"do": "split", "key": "T-01", "new": "T-04", **parts}])
    assert list(needs(after).items()) == [("T-01", []), ("T-04", ["T-01"]), ("T-02", ["T-04"]), ("T-03", ["T-02"])]
    assert [(task["title"], task["minutes"]) for task in tasks_of(after)[:2]] == [("A", 10), ("B", 20)]


def test_joined_tasks_have_the_minutes_requirements_and_needs_of_both() -> None:
    after = apply_edits(chain(), [{"do": "join", "key": "T-01", "other": "T-02"}])
    assert needs(after) == {"T-01": [], "T-03": ["T-01"]}
    assert (tasks_of(after)[0]["minutes"], tasks_of(after)[0]["requirements"]) == (60, ["FR-01", "FR-02"])
    with pytest.raises(BadInput, match="two tasks"):
        apply_edits(chain(), [{"do": "join", "key": "T-01", "other": "T-01"}])


def test_tasks_move_and_stop_at_the_ends() -> None:
    assert keys(apply_edits(chain(), [{"do": "move", "key": "T-03", "by": -1}])) == ["T-01", "T-03", "T-02"]
    with pytest.raises(BadInput, match="cannot move further"):
        apply_edits(chain(), [{"do": "move", "key": "T-01", "by": -1}])


@pytest.mark.parametrize("content", [{"tasks": "many"}, {"tasks": [1, None]}, {"tasks": [{"key": "T-01", "needs": 5}]}])
def test_an_edit_of_what_is_no_plan_is_refused_in_words(content: dict[str, Any]) -> None:
    for edit in ({"do": "remove", "key": "T-01"}, {"do": "fly"}, {"do": "change", "key": "X"}):
        with pytest.raises(BadInput):
            apply_edits(content, [edit])


def test_new_keys_follow_the_last_one() -> None:
    assert next_key(chain()) == "T-04"
    assert next_key({"tasks": [{"key": "api-9"}, {"key": "db-2"}]}) == "db-3"
    assert next_key({"tasks": [{"key": "alpha"}]}) == "T-01"


def test_edits_gather_and_become_one_version_that_waits(plan: Plan, ada: User) -> None:
    for edit in ({"do": "change", "key": "T-01", "fields": {"minutes": 45}}, {"do": "remove", "key": "T-03"}):
        draft = plan_drafts.add_edit(plan, edit, by=ada)
    assert Plan.objects.count() == 1, "a draft is no version"
    newer = plan_drafts.save_draft(draft, by=ada, seen=2, comment="smaller")
    assert (newer.version, newer.status, newer.comment, newer.created_by) == (2, "proposed", "smaller", ada)
    assert keys(newer.content) == ["T-01", "T-02"]
    assert not PlanEdits.objects.exists()


def test_a_cycle_is_named_and_nothing_is_stored_but_the_refusal() -> None:
    document = make_document()
    run = runs.start_planning(document, by=owner_of(document.project))
    plan = plans.propose_plan(document, content=chain())
    ada = owner_of(plan.project)
    draft = plan_drafts.add_edit(plan, {"do": "change", "key": "T-01", "fields": {"needs": ["T-03"]}}, by=ada)
    assert "T-01 → T-03 → T-02 → T-01" in plan_drafts.check(draft).first_error
    with pytest.raises(BadInput, match="T-01 → T-03 → T-02 → T-01"):
        plan_drafts.save_draft(draft, by=ada, seen=1)
    assert Plan.objects.count() == 1
    assert PlanEdits.objects.count() == 1, "the edits are still there to be mended"
    refused = plan_drafts.refusals(document)
    assert [(one.who, "T-01 → T-03" in one.why) for one in refused] == [(ada.username, True)]
    assert run.events.filter(type="plan.refused").count() == 1


def test_without_a_planning_run_a_refusal_is_on_the_trail_of_the_site() -> None:
    plan = make_plan(approved=False)
    edit = {"do": "change", "key": "T-01", "fields": {"needs": ["T-02"]}}
    with pytest.raises(BadInput):
        plan_drafts.edit_task(plan, edit, by=owner_of(plan.project), comment="", base_hash=plan.content_hash)
    assert SiteEvent.objects.filter(action="plan.refused").count() == 1
    assert [one.who for one in plan_drafts.refusals(plan.document)] == [owner_of(plan.project).username]


def test_a_draft_on_an_older_version_is_stale_until_it_is_moved(plan: Plan, ada: User) -> None:
    vera = make_user("vera", role="architect", project=plan.project)
    draft = plan_drafts.add_edit(plan, {"do": "change", "key": "T-01", "fields": {"minutes": 45}}, by=ada)
    plan_drafts.add_edit(plan, {"do": "change", "key": "T-03", "fields": {"minutes": 15}}, by=ada)
    other = plan_drafts.add_edit(plan, {"do": "remove", "key": "T-03"}, by=vera)
    newest = plan_drafts.save_draft(other, by=vera, seen=1)
    draft.refresh_from_db()
    assert plan_drafts.is_stale(draft)
    with pytest.raises(StaleVersion):
        plan_drafts.save_draft(draft, by=ada, seen=2)
    with pytest.raises(StaleVersion):
        plan_drafts.add_edit(newest, {"do": "remove", "key": "T-02"}, by=ada)
    left = plan_drafts.move_to_newest(draft, by=ada)
    assert [why for why in left if "T-03" in why] == list(left)
    assert len(left) == 1
    assert not plan_drafts.is_stale(draft)
    third = plan_drafts.save_draft(draft, by=ada, seen=1)
    assert (third.version, tasks_of(third.content)[0]["minutes"]) == (3, 45)


def test_a_draft_is_not_saved_if_it_changed_since_the_page_was_opened_or_orders_alone(plan: Plan, ada: User) -> None:
    draft = plan_drafts.add_edit(plan, {"do": "move", "key": "T-03", "by": -1}, by=ada)
    for seen, error, words in ((2, StaleVersion, "since this page was opened"), (1, BadInput, "order of tasks alone")):
        with pytest.raises(error, match=words):
            plan_drafts.save_draft(draft, by=ada, seen=seen)


def test_edits_can_be_taken_back_and_dropped(plan: Plan, ada: User) -> None:
    for key in ("T-03", "T-02"):
        draft = plan_drafts.add_edit(plan, {"do": "remove", "key": key}, by=ada)
    plan_drafts.take_back(draft, by=ada)
    assert [edit["key"] for edit in draft.edits] == ["T-03"]
    plan_drafts.take_back(draft, by=ada)
    assert plan_drafts.draft_of(plan.document, ada) is None
    draft = plan_drafts.add_edit(plan, {"do": "remove", "key": "T-03"}, by=ada)
    plan_drafts.drop_draft(draft, by=ada)
    assert not PlanEdits.objects.exists()


def test_the_last_edit_is_taken_back_of_the_draft_as_it_is_not_as_a_page_saw_it(plan: Plan, ada: User) -> None:
    seen = plan_drafts.add_edit(plan, {"do": "remove", "key": "T-03"}, by=ada)
    plan_drafts.add_edit(plan, {"do": "remove", "key": "T-02"}, by=ada)
    plan_drafts.take_back(seen, by=ada)
    draft = plan_drafts.draft_of(plan.document, ada)
    assert draft is not None
    assert [edit["key"] for edit in draft.edits] == ["T-03"]
    plan_drafts.drop_draft(draft, by=ada)
    for late in (plan_drafts.take_back, plan_drafts.move_to_newest, plan_drafts.drop_draft):
        with pytest.raises(BadInput, match="saved or dropped"):
            late(seen, by=ada)


def test_an_edit_added_meanwhile_moves_to_the_newest_version_too(plan: Plan, ada: User) -> None:
    seen = plan_drafts.add_edit(plan, {"do": "change", "key": "T-01", "fields": {"minutes": 45}}, by=ada)
    plan_drafts.add_edit(plan, {"do": "change", "key": "T-02", "fields": {"minutes": 15}}, by=ada)
    assert plan_drafts.move_to_newest(seen, by=ada) == []
    draft = plan_drafts.draft_of(plan.document, ada)
    assert draft is not None
    assert [edit["key"] for edit in draft.edits] == ["T-01", "T-02"]


def test_an_earlier_version_comes_back_as_a_new_one() -> None:
    first = make_plan(needs=CHAIN)
    ada = owner_of(first.project)
    draft = plan_drafts.add_edit(first, {"do": "remove", "key": "T-03"}, by=ada)
    second = plan_drafts.save_draft(draft, by=ada, seen=1)
    third = plan_drafts.restore(first, by=ada)
    assert (third.version, third.content, third.status) == (3, first.content, "proposed")
    assert third.comment == "Restored from v1."
    assert fresh(second).status == "superseded"
    with pytest.raises(BadInput, match="newest"):
        plan_drafts.restore(third, by=ada)


def test_only_those_who_may_edit_the_plan_have_drafts_and_nobody_has_anothers() -> None:
    plan = make_plan(approved=False)
    viewer = make_user("victor", role="viewer", project=plan.project)
    with pytest.raises(NotAllowed):
        plan_drafts.add_edit(plan, {"do": "remove", "key": "T-02"}, by=viewer)
    with pytest.raises(NotAllowed):
        plan_drafts.restore(plan, by=viewer)
    plan_drafts.add_edit(plan, {"do": "remove", "key": "T-02"}, by=owner_of(plan.project))
    assert plan_drafts.draft_of(plan.document, viewer) is None


KEYS = st.sampled_from(["T-01", "T-02", "T-03", "T-04", "T-05"])
SOME = st.lists(KEYS, max_size=2)
WANTED = st.lists(st.sampled_from(["FR-01", "FR-02", "FR-99"]), max_size=2)
FIELDS = st.fixed_dictionaries(
    {}, optional={"minutes": st.integers(-1, 90), "needs": SOME, "requirements": WANTED, "title": st.just("x")}
)
EDITS = st.one_of(
    st.builds(lambda key, fields: {"do": "change", "key": key, "fields": fields}, KEYS, FIELDS),
    st.builds(lambda key, fields: {"do": "add", "key": key, "fields": {"title": "y", **fields}}, KEYS, FIELDS),
    st.builds(lambda key: {"do": "remove", "key": key}, KEYS),
    st.builds(lambda key, new, f: {"do": "split", "key": key, "new": new, "first": f}, KEYS, KEYS, FIELDS),
    st.builds(lambda key, other: {"do": "join", "key": key, "other": other}, KEYS, KEYS),
    st.builds(lambda key, by: {"do": "move", "key": key, "by": by}, KEYS, st.sampled_from([-1, 1])),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(EDITS, max_size=8))
def test_no_edits_store_an_invalid_plan_and_a_draft_is_edits(edits: list[dict[str, Any]], enqueued: list[Any]) -> None:
    plan = make_plan(needs=CHAIN, approved=False)
    ada, draft, one_by_one = owner_of(plan.project), None, plan.content
    for edit in edits:
        try:
            draft = plan_drafts.add_edit(plan, edit, by=ada)
        except BadInput:
            continue
        one_by_one = apply_edits(one_by_one, [edit])
        assert plan_drafts.content_of(draft) == one_by_one
    if draft is None:
        return
    try:
        newer = plan_drafts.save_draft(draft, by=ada, seen=len(draft.edits))
    except BadInput:
        assert list(plan.document.plans.all()) == [plan], "nothing was stored"
        return
    parsed, found = parse_plan(newer.content)
    assert parsed is not None
    asked = dict(plan.document.requirements.values_list("key", "kind"))
    assert [one for one in [*found, *validate_plan(parsed, asked)] if one.severity == "error"] == []
    assert newer.content == examine(one_by_one, plan.document, order=True).content
