import json

import pytest

from agents.events.lifecycle import PlanSampled
from projects.errors import BadInput, NotAllowed, StaleVersion
from projects.models import Approval, Plan, Run
from projects.services.audit.events import emit
from projects.services.planning import documents, plans, variants
from tests.factories import make_document, make_plan, make_user, owner_of, plan_content
from tests.rows import fresh

pytestmark = pytest.mark.django_db

CHAIN = {"T-01": [], "T-02": ["T-01"], "T-03": ["T-01"], "T-04": ["T-02", "T-03"]}


def small_content() -> dict:
    """Tasks of ten minutes, two of them a chain that could be one."""
    content = plan_content({"T-01": [], "T-02": ["T-01"]})
    for task in content["tasks"]:
        task["minutes"] = 10
    return content


def proposed(content: dict | None = None) -> Plan:
    return plans.propose_plan(make_document(), content=content or small_content())


def large_plan(count: int = 30) -> Plan:
    """Three lanes of ten tasks and twelve requirements; each fourth task serves two and shares a file with the next."""
    document = make_document()
    person = owner_of(document.project)
    texts = [f"It shall do thing {number}." for number in range(10)]
    keys = [documents.add_requirement(document, by=person, text=text, kind="functional").key for text in texts]
    content = plan_content({f"T-{n:02}": [f"T-{n - 3:02}"] if n > 3 else [] for n in range(1, count + 1)})
    for number, task in enumerate(content["tasks"]):
        task["minutes"] = 10 + number % 5 * 8
        task["requirements"] = [keys[number % len(keys)]]
        if number % 4 < 2:
            task["files"].append(f"app/shared{number // 4}.py")
        if number % 4 == 0:
            task["requirements"].append("FR-01" if number % 8 else "FR-02")
    return plans.propose_plan(document, content=content)


def sampled(plan: Plan, *contents: dict) -> Run:
    run = Run.objects.create(project=plan.project, kind="plan", document=plan.document, samples=len(contents))
    for number, content in enumerate(contents, 1):
        made = PlanSampled(summary="made", sample=number, tasks=1, blobs={"plan": json.dumps(content)})
        emit(run.pk, made, key=f"sample-{number}/plan")
    return run


def test_the_current_plan_and_its_variants_are_simulated_with_the_workers_of_the_project():
    plan = proposed()
    plan.document.project.limits["parallel_tasks"] = 3
    found = variants.compare(plan.document)
    assert (found.base.pk, found.workers, found.wanted) == (plan.pk, 3, 2)
    assert found.variants[0].digest == plan.content_hash
    assert [(one.name, one.measures.covered, one.measures.tasks) for one in found.variants[:2]] == [
        ("current", 2, 2),
        ("fewer-handovers", 2, 1),
    ]
    assert len(variants.compare(plan.document, count=1).variants) == 1


def test_every_variant_of_a_plan_of_thirty_tasks_is_valid_and_measured():
    found = variants.compare(large_plan().document)
    assert len(found.variants) == 7
    assert all(one.measures and one.measures.covered == 12 and not one.measures.unordered for one in found.variants)
    others = [one.measures.makespan for one in found.variants[1:]]
    assert others == sorted(others)


def test_a_variant_that_is_taken_is_a_new_version_that_waits_for_its_approval():
    plan = make_plan(make_document())  # approved
    one = variants.compare(plan.document).variants[1]
    newer = variants.take_variant(plan, digest=one.digest, by=owner_of(plan.project))
    assert (newer.version, newer.status, newer.content_hash) == (2, "proposed", one.digest)
    assert newer.comment == f"Variant {one.name} of v1: {one.about}."
    assert fresh(plan).status == "approved"
    assert Approval.objects.get(status="pending").subject == one.digest


def test_an_unknown_variant_or_one_of_an_older_plan_is_refused():
    plan = proposed()
    digest = variants.compare(plan.document).variants[1].digest
    with pytest.raises(StaleVersion):
        variants.take_variant(plan, digest="0" * 64, by=owner_of(plan.project))
    changed = small_content()
    changed["tasks"][0]["title"] = "Another"
    plans.propose_plan(plan.document, content=changed)
    with pytest.raises(StaleVersion):
        variants.take_variant(plan, digest=digest, by=owner_of(plan.project))
    assert plan.project.plans.count() == 2


def test_who_may_not_edit_a_plan_may_not_take_a_variant():
    plan = proposed()
    digest = variants.compare(plan.document).variants[1].digest
    with pytest.raises(NotAllowed):
        variants.take_variant(plan, digest=digest, by=make_user(role="viewer", project=plan.project))


def test_the_newest_valid_plan_is_the_one_that_is_varied():
    plan = proposed()
    broken = plans.propose_plan(plan.document, content=plan_content({"T-01": ["T-02"], "T-02": ["T-01"]}))
    assert broken.status == "invalid"
    found = variants.compare(plan.document)
    assert found.base.pk == plan.pk
    newer = variants.take_variant(broken, digest=found.variants[1].digest, by=owner_of(plan.project))
    assert (newer.version, newer.status) == (3, "proposed")


def test_without_a_valid_plan_or_with_a_huge_one_nothing_is_compared(monkeypatch):
    plan = proposed()
    monkeypatch.setattr(variants, "MOST_TASKS", 1)
    with pytest.raises(BadInput, match="up to 1"):
        variants.compare(plan.document)
    documents.add_requirement(plan.document, by=owner_of(plan.project), text="It exports.", kind="functional")
    with pytest.raises(BadInput, match="no valid plan"):
        variants.compare(plan.document)


def test_ten_plans_of_thirty_tasks_are_compared():
    plan = large_plan()
    slower, faster, broken = (json.loads(json.dumps(plan.content)) for _ in range(3))
    slower["tasks"][0]["minutes"] = 60
    faster["tasks"][0]["minutes"] = 5
    broken["tasks"][0]["needs"] = ["T-30"]
    sampled(plan, slower, faster, broken)
    found = variants.compare(plan.document).variants
    assert len(found) == 10
    assert {"sample-1", "sample-2"} < {one.name for one in found}
    assert found[-1].name == "sample-3"
    assert found[-1].measures is None
    assert found[-1].problems[0].code == "cycle"
    with pytest.raises(BadInput, match="not valid: Circular dependency"):
        variants.take_variant(plan, digest=found[-1].digest, by=owner_of(plan.project))


def test_what_the_planner_made_is_put_in_order_and_the_last_samples_count():
    plan = proposed()
    both = small_content()
    for task in both["tasks"]:
        task |= {"needs": [], "files": ["app.py"]}
    sampled(plan, plan_content({"T-01": []}))
    run = sampled(plan, both, {"tasks": "none"}, plan.content)
    found = {one.name: one for one in variants.compare(plan.document).variants}
    assert found["sample-1"].about == f"made by the planner in run {run.pk}"
    assert [task.needs for task in found["sample-1"].plan.tasks] == [(), ("T-01",)]
    assert not {"sample-2", "sample-3"} & {*found}  # no plan at all, and the current one again
