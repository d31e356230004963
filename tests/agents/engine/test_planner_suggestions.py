"""What the model is asked of a document, and what becomes of its answer: suggestions beside what the rules found."""

import json
from types import SimpleNamespace

import pytest

from agents.engine import planner_suggestions
from agents.engine.planner_suggestions import MOST_QUESTIONS, PIECES, inferred
from agents.llm.base import LLMError
from agents.requirements.extract import extract
from tests.agents.engine.nodes.support import MemoryEventLog

TEXT = "# Requirements\n\n- Sums are shown.\n\n# Notes\n\nSums are exact.\n"


@pytest.fixture
def asked(monkeypatch):
    """Ask a model that answers with these replies in turn; returns the reading, what was sent, and the events."""

    def ask(*replies, text=TEXT):
        sent, left, events = [], list(replies), MemoryEventLog()

        def say(ctx, messages, **more):
            sent.append((messages, more))
            reply = left.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return reply if isinstance(reply, str) else json.dumps(reply)

        monkeypatch.setattr(planner_suggestions, "say", say)
        ctx = SimpleNamespace(project="Sums", text=text, event_log=events)
        return inferred(ctx, extract(text)), sent, events

    return ask


def reply(*requirements, **pieces):
    return {"pieces": {number.strip("n"): verdict for number, verdict in pieces.items()}, "requirements": requirements}


def long_document(items):
    return "\n".join(["# Requirements", "", *(f"- Sum {number} is shown." for number in range(items)), "", "Exact."])


def test_the_model_reads_the_whole_document_in_numbered_pieces_and_what_it_reads_as_asked_for_is_suggested(asked):
    reading, [((system, prompt), more)], _ = asked(reply(n2="asks", n4="asks"))
    assert "requirements analyst" in system["content"]
    assert not {"T-01", "tasks", "cycles", "architect"} & set(system["content"].replace(",", " ").split())
    assert "# Requirements\n2. - Sums are shown.\n# Notes\n4. Sums are exact.\n" in prompt["content"]
    assert more["schema"]["properties"]["pieces"]["required"] == ["2", "4"]
    assert [(row["text"], row["origin"], row["lines"]) for row in reading.rows] == [
        ("Sums are shown.", "explicit", [3, 3]),
        ("Sums are exact.", "inferred", [7, 7]),
    ]


def test_boxes_and_depth_of_list_items_are_shown(asked):
    _, [((_, prompt), _)], _ = asked(reply(), text="# Sums\n\n- [x] Sums are shown.\n  - [ ] in euros\n")
    assert "2. - [x] Sums are shown.\n3.   - [ ] in euros\n" in prompt["content"]


def test_what_the_model_finds_missing_is_suggested_once_with_its_reason(asked):
    lacking = {"text": "Sums are fast.", "reason": "Speed."}
    reading, _, _ = asked(reply(lacking, {**lacking, "text": "sums are SHOWN."}, "nonsense"))
    assert [(row["key"], row["kind"], row["reason"]) for row in reading.rows[1:]] == [
        ("INF-01", "functional", "Speed.")
    ]


def test_a_document_that_its_author_numbered_throughout_costs_no_call(asked):
    reading, sent, _ = asked(text="# Requirements\n\nFR-1: Sums are shown.\n")
    assert [row["author_key"] for row in reading.rows] == ["FR-1"]
    assert not sent


def test_a_long_document_is_read_in_parts_that_keep_their_heading_and_numbers(asked):
    replies = reply(), reply(**{f"n{PIECES + 12}": "asks"})
    reading, [_, ((_, second), _)], _ = asked(*replies, text=long_document(PIECES + 10))
    assert "Part 2 of 2" in second["content"]
    assert f"# Requirements\n… Sum {PIECES - 3} is shown.\n… Sum {PIECES - 2}" in second["content"]
    assert f"\n{PIECES + 1}. - Sum {PIECES - 1} is shown.\n" in second["content"]
    assert reading.rows[-1]["text"] == "Exact."


def test_a_very_long_document_is_read_as_far_as_it_pays_and_the_event_log_says_so(asked):
    _, sent, events = asked(*[reply()] * MOST_QUESTIONS, text=long_document(PIECES * 14))
    assert len(sent) == MOST_QUESTIONS
    assert "the rest is read by rules alone" in events.events[0]["summary"]


@pytest.mark.parametrize("answer", ["no idea", LLMError("The server is away.")])
def test_a_model_that_is_away_or_answers_nonsense_costs_its_part_only_and_the_event_log_says_so(asked, answer):
    reading, _, events = asked(answer)
    assert [row["text"] for row in reading.rows] == ["Sums are shown."]
    assert [event["type"] for event in events.events] == ["error"]


def test_parts_that_were_read_before_the_model_went_away_count(asked):
    reading, _, _ = asked(reply(n2="other"), LLMError("The server is away."), text=long_document(PIECES + 10))
    assert [row["origin"] for row in reading.rows[:2]] == ["inferred", "explicit"]
