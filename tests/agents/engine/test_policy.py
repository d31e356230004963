"""A repair as long as tokens are no reason; new samples when the budget decides how many tries there are."""

from hypothesis import given
from hypothesis import strategies as st

from agents.engine.contracts import TaskLimits
from agents.engine.policy import left_of, prices, short_of_tokens
from agents.events.log import Spent
from tests.agents.engine.states import state_with

TRACE = {"failures": [{"nodeid": "tests/test_a.py::test_a", "message": "m", "traceback": "E  assert 1 == 2\n" * 20}]}


def failed(*, repairs=0, iteration=1, opening="words " * 200, reply="code " * 60, report=TRACE):
    turns = [{"role": "system", "content": opening}, {"role": "user", "content": opening}]
    coder = [*turns, {"role": "assistant", "content": reply}]
    return state_with(coder=coder, repairs=repairs, iteration=iteration, report=report)


def short(state, left, **limits):
    return short_of_tokens(state, TaskLimits(task_tokens=left, **limits), Spent())


def test_a_repair_costs_more_than_a_new_sample_because_it_carries_reply_and_trace():
    price = prices(failed())
    assert price.repair > price.fresh > 0


def test_with_the_usual_budget_tokens_are_no_reason():
    assert not short_of_tokens(failed(), TaskLimits(), Spent(task_tokens=20_000, run_tokens=200_000))


def test_when_the_budget_does_not_pay_for_the_tries_that_are_allowed_a_sample_is_cheaper():
    state = failed()
    one = prices(state).repair
    assert short(state, 4 * one, max_retries=5)
    assert not short(state, 5 * one, max_retries=5)


def test_fewer_tries_need_less():
    state = failed(repairs=4)
    assert not short(state, prices(state).repair, max_retries=5)
    assert not short(failed(iteration=14), 3 * prices(state).repair, max_iterations=15)


def test_the_tighter_budget_counts():
    assert left_of(TaskLimits(task_tokens=900, run_tokens=5_000), Spent(100, 4_900)) == 100
    assert left_of(TaskLimits(task_tokens=900, run_tokens=5_000), Spent(1_000, 0)) == 0


@given(st.integers(0, 50_000), st.integers(0, 50_000))
def test_more_budget_never_turns_a_repair_into_a_sample(one, other):
    state = failed()
    low, high = sorted((one, other))
    assert short(state, high) <= short(state, low)
