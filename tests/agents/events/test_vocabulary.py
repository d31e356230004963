"""The vocabulary: what of an event is payload, and how a kind is shown."""

import pytest

from agents.events.base import KINDS, EventKind, kind
from agents.events.effects import CommandRan, SystemNotice
from agents.events.lifecycle import RunFinished
from agents.events.vocabulary import families, look_of, schema, types_in


def test_the_fields_of_a_kind_are_its_payload_and_those_of_all_kinds_are_not() -> None:
    moved = RunFinished(summary="Run 1: finished", outcome="ok", from_="running", to="finished", reason="")
    assert moved.payload() == {"from": "running", "to": "finished", "reason": ""}


def test_a_field_that_has_its_default_is_left_out() -> None:
    announced = CommandRan(summary="pytest …", effect="command", argv=["pytest"])
    assert announced.payload() == {"argv": ["pytest"], "effect": "command"}
    ended = CommandRan(summary="pytest", argv=["pytest"], exit_code=0, timed_out=False)
    assert ended.payload() == {"argv": ["pytest"], "exit_code": 0, "timed_out": False}


def test_details_of_a_notice_stand_beside_its_text() -> None:
    notice = SystemNotice(summary="s", text="t", details={"servers": ["a"]})
    assert notice.payload() == {"text": "t", "servers": ["a"]}


def test_no_type_is_taken_twice() -> None:
    with pytest.raises(ValueError, match=r"thought"):

        @kind("thought", "thought", "thought")
        class SecondThought(EventKind):
            pass


def test_an_unknown_type_shows_its_name() -> None:
    assert (look_of("no.such").icon, look_of("no.such").word) == ("system", "no.such")


def test_a_failure_is_red_unless_its_kind_says_otherwise() -> None:
    assert look_of("test.result").tone_of("fail") == "err"
    assert look_of("test.result").tone_of("ok") == "ok"
    assert look_of("memory.judged").tone_of("fail") == "warn"


def test_every_kind_says_what_it_means_and_fits_its_column() -> None:
    for row in schema():
        assert row["meaning"], row["type"]
        assert len(row["type"]) <= 40
    assert {row["type"] for row in schema()} == set(KINDS)


def test_a_payload_is_described_by_its_json_types() -> None:
    rows = {row["type"]: row["payload"] for row in schema()}
    assert rows["repeat"] == {"of": "integer", "hash": "string", "failure": "string"}
    assert rows["cmd"]["exit_code?"] == "integer or null"
    assert rows["cmd"]["argv"] == "array of string"
    assert rows["thought"]["sources"] == "array of array of string"
    assert rows["test.result"]["failures"] == "array of object"
    assert "from" in rows["task.done"]


def test_filters_come_from_the_kinds() -> None:
    assert families() == sorted({type_.partition(".")[0] for type_ in KINDS})
    assert {"approval.requested", "task.blocked"} == set(types_in("needs"))
