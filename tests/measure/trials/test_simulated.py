"""The simulated model is as weak as it is told to be, and repairs only what it was really told of."""

from __future__ import annotations

import asyncio
import json

import pytest

from agents.llm.base import Completion
from agents.replies.parse import parse_reply
from measure.trials.datasets import TrialTask
from measure.trials.kinds import KINDS, kind_in
from measure.trials.simulated import Mistake, SimulatedProvider, Weakness

TRACE = "assert clamp(7, 0, 5) == 5 where 7 = clamp(7, 0, 5)"
MISTAKES = [Mistake({"a.py": f"wrong = {at}\n"}, (TRACE,)) for at in range(4)]


def model(number=0, mistakes=MISTAKES, **weak):
    task = TrialTask(f"Own/{number}", "Do it.", {"tests/test_a.py": "x"}, {"a.py": "right = 1\n"})
    return SimulatedProvider(task, mistakes, Weakness(**weak))


def reply(provider, *turns, schema=None):
    roles = ["system", "user", *["assistant", "user"] * 20]
    messages = [{"role": role, "content": text} for role, text in zip(roles, ["sys", *turns], strict=False)]

    async def last():
        return [item async for item in provider.stream(messages, schema=schema)][-1]

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
    assert Weakness.parse("p=0.1,q=0.2,r=0.3,h=0.5,seed=4,repeats=call") == Weakness(0.1, 0.2, 0.3, 4, "call", 0.5)
    assert Weakness.parse("") == Weakness()
    for weak in (Weakness(0.1, 0.2, 0.3, 4, "call", 0.5, 0.6), Weakness()):
        assert Weakness.parse(f"{weak.text},seed={weak.seed}") == weak
    for bad in ("p=2", "x=1", "p", "repeats=never", "seed=a"):
        with pytest.raises(ValueError):
            Weakness.parse(bad)


KINDS_MADE = ("boundary", "slice", "boundary", "number")
KNOWN = [Mistake({"a.py": f"wrong = {at}\n"}, (TRACE,), kind) for at, kind in enumerate(KINDS_MADE)]


def showing(kind, text="go"):
    """A turn that shows a lesson about this kind, as the prompts do."""
    return f"{text}\n\nThis was cured before:\n```from=model\n- {KINDS[kind].cause} → {KINDS[kind].fix}\n```\n"


def test_a_lesson_of_the_kind_of_its_mistake_cures_it_and_another_one_misleads_it():
    for number in range(60):
        one = model(number, KNOWN, p=0.3, q=0.5, r=0.0, h=1.0)
        first = reply(one, "go")
        if wrote(first) == "right = 1":
            continue
        kind = KINDS_MADE[int(wrote(first)[-1])]
        other = next(name for name in KINDS_MADE if name != kind)
        assert ask(model(number, KNOWN, p=0.3, q=0.5, r=0.0, h=1.0), "go", first, showing(kind, TRACE)) == "right = 1"
        assert ask(model(number, KNOWN, p=0.3, q=0.5, r=0.0, h=1.0), "go", first, showing(other, TRACE)) != "right = 1"


def test_a_lesson_in_the_opening_decides_by_the_mistake_it_was_about_to_make():
    cured = misled = 0
    for number in range(200):
        plain = ask(model(number, KNOWN, p=0.5, r=0.3), "go")
        told = ask(model(number, KNOWN, p=0.5, r=0.3, h=1.0), showing("boundary"))
        if plain != "right = 1":
            assert (told == "right = 1") == (KINDS_MADE[int(plain[-1])] == "boundary")
            cured += told == "right = 1"
        else:
            misled += told != "right = 1"
    assert 20 < cured < 80
    assert 20 < misled < 80


def test_it_follows_as_often_as_it_is_told_and_without_h_not_at_all():
    def differs(**weak):
        return sum(
            ask(model(number, KNOWN, r=0.0, **weak), showing("step")) != ask(model(number, KNOWN, r=0.0, **weak), "go")
            for number in range(400)
        )

    assert differs(p=1.0, h=0.0) == 0
    assert differs(p=1.0, h=0.25) / 400 == pytest.approx(0.25, abs=0.07)


def test_a_lesson_that_names_no_kind_changes_nothing():
    vague = "go\n\nLessons:\n```from=model\n- it failed → mend it\n```\n"
    for number in range(50):
        assert ask(model(number, KNOWN, h=1.0), vague) == ask(model(number, KNOWN, h=1.0), "go")


def test_the_diagnosis_of_a_cure_names_the_kind_of_the_mistake_and_quotes_the_trace():
    one = model(3, KNOWN, p=0.0, q=1.0, r=0.0)
    first = reply(one, "go")
    found = parse_reply(reply(one, "go", first, f"1 failed.\n{TRACE}")).diagnosis
    kind = KINDS[KINDS_MADE[int(wrote(first)[-1])]]
    assert (found.cause, found.plan) == (f"{kind.cause}.", f"{kind.fix}.")
    assert found.evidence in TRACE


def test_samples_asked_in_any_order_get_the_same_answers_and_the_chosen_one_is_repaired():
    def drawn(order):
        one = model(5, KNOWN, p=0.0, q=1.0, r=0.0)
        return one, {at: reply(one, f"go\nApproach: {at}") for at in order}

    forth, said = drawn((1, 2, 3))
    back, again = drawn((3, 1, 2))
    assert said == again
    for one, number in ((forth, 1), (back, 2)):
        cured = parse_reply(reply(one, f"go\nApproach: {number}", said[number], TRACE))
        made = KINDS[KINDS_MADE[int(wrote(said[number])[-1])]]
        assert cured.files[0].content.strip() == "right = 1"
        assert cured.diagnosis.cause.startswith(made.cause)


def test_asked_afterwards_why_it_failed_it_names_the_kind_from_what_the_cure_changed():
    schema = {"properties": {"cause": {}, "fix": {}}}
    asked = f"How it failed:\n{TRACE}\nWhat it does differently:\n--- a.py\n+++ a.py\n-wrong = 1\n+right = 1\n"
    assert json.loads(reply(model(1, KNOWN, e=1.0), asked, schema=schema)) == {
        "cause": f"{KINDS['slice'].cause} in a.py",
        "fix": KINDS["slice"].fix,
    }
    wrong = json.loads(reply(model(1, KNOWN, e=0.0), asked, schema=schema))
    assert kind_in(wrong["cause"]) == kind_in(wrong["fix"]) in {"boundary", "number"}
    blank = json.loads(reply(model(1, KNOWN, e=1.0), "How it failed: it did", schema=schema))
    assert blank == {"cause": "", "fix": ""}
