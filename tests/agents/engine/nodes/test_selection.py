"""Which sample goes on, and when there are enough."""

from hypothesis import given
from hypothesis import strategies as st

from agents.engine.nodes.search import Sample, agreeing, enough, select

ANY = st.builds(
    lambda ok, passed, failing, shown: Sample(0, ok, True, passed, frozenset() if ok else frozenset(failing), shown),
    st.booleans(),
    st.integers(0, 4),
    st.sets(st.sampled_from("abc"), min_size=1),
    st.sampled_from(["x", "y"]),
)
SAMPLES = st.lists(ANY, min_size=1, max_size=6).map(
    lambda found: [
        Sample(at, one.ok, one.compiles, one.passed, one.failing, one.behaviour) for at, one in enumerate(found, 1)
    ]
)


def passing(number, shown="x"):
    return Sample(number, True, True, 3, frozenset(), shown)


def failing(number, *names, passed=0, compiles=True):
    return Sample(number, False, compiles, passed, frozenset(names))


def test_of_samples_that_pass_the_one_that_most_behave_like_goes_on():
    assert select([passing(1, "odd"), passing(2, "same"), passing(3, "same")]).number == 2


def test_a_sample_that_passes_comes_before_many_that_fail_alike():
    assert select([failing(1, "a"), failing(2, "a"), passing(3)]).number == 3


def test_of_failing_samples_the_one_with_most_passed_tests_goes_on():
    assert select([failing(1, "a", "b", passed=1), failing(2, "a", passed=2), failing(3, compiles=False)]).number == 2


def test_given_tests_are_the_judge_and_written_ones_need_two_that_agree():
    assert enough([passing(1)], tests_given=True)
    assert not enough([passing(1)], tests_given=False)
    assert not enough([passing(1, "x"), passing(2, "y")], tests_given=False)
    assert enough([passing(1, "x"), passing(2, "y"), passing(3, "y")], tests_given=False)
    assert not enough([failing(1, "a"), failing(2, "a")], tests_given=False)


@given(SAMPLES)
def test_nothing_that_passes_is_passed_over_and_nobody_is_in_larger_company_among_equals(samples):
    chosen = select(samples)
    assert chosen.ok == any(one.ok for one in samples)
    rivals = [one for one in samples if (one.ok, one.passed) == (chosen.ok, chosen.passed)]
    assert agreeing(chosen, samples) == max(agreeing(one, samples) for one in rivals)
