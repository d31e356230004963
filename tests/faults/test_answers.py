"""Unusable answers at each persona's step of a real job: asked again, or escalated with a reason; then merged."""

import pytest

from projects.models import Plan, Run, Task
from projects.services.planning import documents, runs
from tests.factories import owner_of
from tests.faults.test_replies import BODIES
from tests.projects.jobs_driver import small_plan, small_replies

pytestmark = pytest.mark.django_db(transaction=True)

FIRST = {"tester": "tester-tests", "coder": "coder-code", "reviewer": "reviewer-review"}
BAD = {
    "nothing": "",
    "an invented tool": BODIES["tool tags"],
    "half JSON": BODIES["half JSON"],
    "wrong types": BODIES["reasons null"],
    "two megabytes": "word " * 380_000,
    "cut off": "```python path=calc.py\n" + "x = 1\n" * 9_000 + "```\n",
}


def replies_with(persona, body, *, times):
    """A task's replies in which this persona answers `body` so often before it answers well."""
    said = small_replies("T-01")
    good = said.pop(f"T-01/{FIRST[persona]}")
    steps = [FIRST[persona], f"{persona}-again", f"{persona}-again-2"]
    said |= {f"T-01/{step}": body for step in steps[:times]}
    said |= {f"T-01/{step}": good for step in steps[times : times + 1]}
    return {name.replace("/", "__").replace("-", "_"): text for name, text in said.items()}, good


# Every persona's reader is given others like them in test_replies; here each goes through the product.
@pytest.mark.parametrize(
    ("persona", "name"),
    [
        ("tester", "nothing"),
        ("tester", "wrong types"),
        ("coder", "an invented tool"),
        ("tester", "cut off"),
        ("coder", "cut off"),
        ("reviewer", "cut off"),
        ("reviewer", "half JSON"),
        ("reviewer", "two megabytes"),
    ],
)
def test_one_bad_answer_is_asked_for_again_and_the_task_is_merged(still, persona, name):
    replies, _ = replies_with(persona, BAD[name], times=1)
    still.build("T-01", **replies)
    assert still.task().status == Task.Status.MERGED
    assert any("could not be used" in text for text in still.summaries("error"))
    assert still.is_sound()


@pytest.mark.parametrize(
    ("persona", "name"), [("tester", "two megabytes"), ("coder", "an invented tool"), ("reviewer", "nothing")]
)
def test_bad_answers_throughout_are_escalated_in_words_and_a_retry_merges(still, persona, name):
    replies, good = replies_with(persona, BAD[name], times=3)
    run = still.build("T-01", **replies)
    assert still.task().status == Task.Status.ESCALATED
    assert run.status == Run.Status.NEEDS_YOU
    words = still.task().escalation.splitlines()[0]
    assert any(said in words for said in ("could not be used", "No usable tests", "could not be read"))
    assert still.question().why
    still.say(**{f"T_01__{FIRST[persona].replace('-', '_')}": good})
    still.retry()
    assert still.task().status == Task.Status.MERGED
    assert still.is_sound()


@pytest.mark.parametrize("body", [BAD["half JSON"], BODIES["a task of wrong types"]], ids=["half", "types"])
def test_a_planner_whose_plans_are_unreadable_leaves_one_to_be_mended_by_a_person(still, body):
    said = small_replies("T-01") | {f"plan/planner-structure{n}": body for n in ("", "-2", "-3")}
    document, _ = still.upload(said)
    documents.confirm_requirements(document, by=owner_of(still.project))
    still.work()
    assert still.run.status == Run.Status.FINISHED
    assert still.plan().status == Plan.Status.INVALID
    assert all(problem["message"] for problem in still.plan().problems)
    assert still.is_sound()
    still.say(plan__planner_structure=small_plan("T-01"))
    again = runs.start_planning(document, by=owner_of(still.project))
    still.run = again
    still.work()
    assert still.plan().status == Plan.Status.PROPOSED


def test_half_a_character_pair_or_a_nul_in_an_answer_is_no_error(still):
    still.runner.spoil = lambda text: text.replace("Here it is.", "Here \ud83d it \x00 is.").replace(
        "asked", "asked \udc00"
    )
    still.build("T-01")
    assert still.task().status == Task.Status.MERGED
    assert any("\N{REPLACEMENT CHARACTER}" in text for text in still.summaries("thought"))
    assert still.is_sound()
