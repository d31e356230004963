import pytest

from projects.errors import BadInput
from projects.models import Event
from projects.services.work import attempts
from tests.factories import make_task
from tests.rows import undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def told(task):
    return list(
        Event.objects.filter(task=task, type__startswith="attempt.").order_by("seq").values_list("type", flat=True)
    )


def test_opening_a_try_twice_is_one_try():
    task = make_task(status="running")
    first = attempts.start_attempt(task, number=1, strategy="first", diagnosis={"cause": "a"})
    second = attempts.start_attempt(task, number=1, strategy="repair", diagnosis={"cause": "b"})
    assert first.pk == second.pk
    assert (second.strategy, second.diagnosis) == ("first", {"cause": "a"})
    assert told(task) == ["attempt.started"]


def test_closing_a_try_twice_keeps_the_first_answer():
    task = make_task(status="running")
    attempts.start_attempt(task, number=1, strategy="first")
    done = attempts.finish_attempt(
        task, number=1, outcome="failed", error_signature="s" * 64, reward=-0.5, tests={"failed": 2}, diff="+x"
    )
    again = attempts.finish_attempt(task, number=1, outcome="passed", reward=1.0)
    assert (again.outcome, again.reward, again.tests, again.diff) == ("failed", -0.5, {"failed": 2}, "+x")
    assert done.finished_at is not None
    assert told(task) == ["attempt.started", "attempt.failed"]


def test_a_diagnosis_is_judged_once():
    task = make_task(status="running")
    attempts.start_attempt(task, number=2, strategy="repair")
    assert attempts.judge_diagnosis(task, number=2, outcome="refuted").diagnosis_outcome == "refuted"
    assert attempts.judge_diagnosis(task, number=2, outcome="confirmed").diagnosis_outcome == "refuted"


@each_row(
    "call",
    [
        lambda task: attempts.start_attempt(task, number=0, strategy="first"),
        lambda task: attempts.finish_attempt(task, number=1, outcome="running"),
        lambda task: attempts.finish_attempt(task, number=1, outcome="great"),
        lambda task: attempts.finish_attempt(task, number=1, outcome="passed", mood="good"),
        lambda task: attempts.finish_attempt(task, number=9, outcome="passed"),
        lambda task: attempts.judge_diagnosis(task, number=1, outcome="maybe"),
        lambda task: attempts.judge_diagnosis(task, number=9, outcome="refuted"),
    ],
)
@undone()
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(BadInput):
        call(make_task(status="running"))


def test_secrets_in_a_diff_are_not_kept():
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    task = make_task(status="running")
    attempts.start_attempt(task, number=1, strategy="first")
    assert token not in attempts.finish_attempt(task, number=1, outcome="failed", diff=f"+token = '{token}'").diff
