"""Answers that cannot be used go back with the reasons, a bounded number of times."""

import pytest

from agents.engine.ask import Answer
from agents.engine.nodes import until_usable
from agents.engine.nodes.until_usable import ASK_AGAIN, UNUSABLE_CHARS, ask_until_usable
from agents.llm.base import ReplyTooLong, step_of
from agents.prompts.provenance import as_turn

FIRST = [as_turn("user", "Count.")]
TOO_LONG = ReplyTooLong(9)


@pytest.fixture
def model(monkeypatch):
    """Replies in turn, and what was asked and recorded."""

    def run(*replies):
        left, asked, recorded = list(replies), [], []

        def ask(question):
            asked.append(question)
            reply = left.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return Answer(reply)

        monkeypatch.setattr(until_usable, "ask", ask)
        last = None
        try:
            last = ask_until_usable(
                FIRST,
                lambda messages, turn: (messages, turn),
                lambda answer, turn: (answer.text.strip(), [] if answer.text.strip().isdigit() else ["not a number"]),
                lambda value, reasons: f"{value[:5]}: {', '.join(reasons)}",
                lambda reasons, turn: recorded.append((turn, reasons)),
                step="count-again",
            )
        except ReplyTooLong:
            assert left == []
        return last, asked, recorded

    return run


def test_the_first_usable_answer_is_taken(model):
    last, asked, recorded = model(" 1 ", "2")
    assert (last.value, last.text, last.reasons, last.messages) == ("1", " 1 ", [], FIRST)
    assert asked == [(FIRST, 0)]
    assert recorded == []


def test_an_unusable_answer_goes_back_shortened_with_the_reasons(model):
    last, asked, recorded = model("x" * 2 * UNUSABLE_CHARS, "2")
    (_, answer, refusal), turn = asked[1]
    assert (turn, answer["role"], refusal["role"]) == (1, "assistant", "user")
    assert len(answer["content"]) < UNUSABLE_CHARS + 100
    assert refusal["content"] == "xxxxx: not a number"
    assert step_of(refusal) == "count-again"
    assert recorded == [(0, ["not a number"])]
    assert (last.value, last.messages) == ("2", asked[1][0])


def test_after_the_last_turn_the_reasons_are_given_and_on_record(model):
    last, asked, recorded = model(*["no"] * (ASK_AGAIN + 1), "1")
    assert last.reasons == ["not a number"]
    assert last.messages == asked[-1][0], "the conversation that the last answer was given to"
    assert [turn for turn, _ in recorded] == [*range(ASK_AGAIN + 1)]


def test_an_endless_reply_is_sampled_anew_with_the_same_question(model):
    last, asked, recorded = model(TOO_LONG, "2")
    assert last.value == "2"
    assert asked == [(FIRST, 0), (FIRST, 1)]
    assert recorded == [(0, [str(TOO_LONG)])]


def test_an_endless_reply_at_the_last_turn_is_the_callers_to_handle(model):
    last, asked, recorded = model(*[TOO_LONG] * (ASK_AGAIN + 1))
    assert last is None
    assert len(asked) == ASK_AGAIN + 1
    assert len(recorded) == ASK_AGAIN
