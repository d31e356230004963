"""The simulated model is as weak as it is told to be, and repairs only what it was really told of."""

from __future__ import annotations

import asyncio

import pytest

from agents.llm.base import Completion
from agents.replies import parse_reply
from agents.trials.datasets import TrialTask
from agents.trials.simulated import Mistake, SimulatedProvider, Weakness

TRACE = "assert clamp(7, 0, 5) == 5 where 7 = clamp(7, 0, 5)"
MISTAKES = [Mistake({"a.py": f"wrong = {at}\n"}, (TRACE,)) for at in range(4)]


def model(number=0, mistakes=MISTAKES, **weak):
    task = TrialTask(f"Own/{number}", "Do it.", {"tests/test_a.py": "x"}, {"a.py": "right = 1\n"})
    return SimulatedProvider(task, mistakes, Weakness(**weak))


def reply(provider, *turns):
    roles = ["system", "user", *["assistant", "user"] * 20]
    messages = [{"role": role, "content": text} for role, text in zip(roles, ["sys", *turns], strict=False)]

    async def last():
        return [item async for item in provider.stream(messages)][-1]

    done = asyncio.run(last())
    assert isinstance(done, Completion)
    assert done.recorded
    return done.text


def wrote(text):
    return next(file.content for file in parse_reply(text).files if file.path == "a.py").strip()


def ask(provider, *turns):
    return wrote(reply(provider, *turns))


def right_share(times, **weak):
    return sum(ask(model(number, **weak), "go") == "right = 1" for number in range(times)) / times


def test_it_is_right_at_once_as_often_as_it_is_told():
    assert right_share(600, p=0.45, r=0.0) == pytest.approx(0.45, abs=0.06)
    assert right_share(50, p=1.0) == 1.0
    assert right_share(50, p=0.0) == 0.0


def test_it_repairs_only_with_the_trace_before_it():
    told = untold = 0
    for number in range(300):
        one = model(number, p=0.0, q=0.5, r=0.0)
        first = reply(one, "go")
        told += ask(one, "go", first, f"The tests ran.\n  {TRACE.replace(' ', chr(10), 1)}") == "right = 1"
        other = model(number, p=0.0, q=0.5, r=0.0)
        untold += ask(other, "go", reply(other, "go"), "It failed. Try again.") == "right = 1"
    assert told / 300 == pytest.approx(0.5, abs=0.09)
    assert untold == 0


def test_it_holds_on_to_an_opening_but_not_to_another_one():
    kept = 0
    for number in range(200):
        one = model(number, p=0.0, q=1.0, r=1.0)
        first = reply(one, "go")
        assert ask(one, "go", first, TRACE) == wrote(first)
        kept += ask(one, "go, another way") == wrote(first)
    assert kept < 120


def test_repeating_by_call_gives_the_last_answer_whatever_was_asked():
    one = model(p=0.0, q=1.0, r=1.0, repeats="call")
    first = ask(one, "go")
    assert ask(one, "something else") == first


def test_the_same_seed_gives_the_same_replies_in_any_order():
    forth = [ask(model(number, seed=3), "go") for number in range(20)]
    back = [ask(model(number, seed=3), "go") for number in reversed(range(20))]
    assert forth == back[::-1]
    assert forth != [ask(model(number, seed=4), "go") for number in range(20)]


def test_without_mistakes_it_plays_the_reference():
    assert ask(model(mistakes=(), p=0.0), "go") == "right = 1"


def test_weakness_is_read_from_words():
    assert Weakness.parse("p=0.1,q=0.2,r=0.3,seed=4,repeats=call") == Weakness(0.1, 0.2, 0.3, 4, "call")
    assert Weakness.parse("") == Weakness()
    for bad in ("p=2", "x=1", "p", "repeats=never", "seed=a"):
        with pytest.raises(ValueError):
            Weakness.parse(bad)
