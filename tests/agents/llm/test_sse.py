"""Events are the same however the network cuts them."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.llm.sse import EventReader, LineTooLong, NotEvents, ServerSentEvent
from tests.sizes import scaled

STREAM = (
    '\ufeff: hello\n\ndata: {"a": 1}\n\nevent: error\r\ndata: Größe 🚀\r\n\r\nid: 3\rdata:x\rdata: y\r\r'
    'retry: 10\n\n{"error": 1}\n\ndata\n\ndata: last'
).encode()
EVENTS = [
    ServerSentEvent("", '{"a": 1}'),
    ServerSentEvent("error", "Größe 🚀"),
    ServerSentEvent("", "x\ny"),
    ServerSentEvent("", '{"error": 1}'),
    ServerSentEvent("", ""),
    ServerSentEvent("", "last"),
]


def read(pieces: list[bytes]) -> list[ServerSentEvent]:
    reader = EventReader(1_000)
    return [event for piece in pieces for event in reader.feed(piece)] + reader.end()


def test_a_stream_is_read():
    assert read([STREAM]) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_cutting_gives_the_same_events(cuts):
    edges = [0, *sorted(cuts), len(STREAM)]
    assert read([STREAM[a:b] for a, b in pairwise(edges)]) == EVENTS


def test_a_byte_at_a_time_gives_the_same_events():
    assert read([STREAM[at : at + 1] for at in range(len(STREAM))]) == EVENTS


@given(st.lists(st.binary(max_size=40), max_size=20))
@settings(max_examples=scaled(200))
def test_any_bytes_are_events_or_named_as_none(pieces):
    try:
        events = read(pieces)
    except (NotEvents, LineTooLong):
        return
    assert all(isinstance(event.data, str) for event in events)


def test_what_is_no_event_is_refused():
    with pytest.raises(NotEvents):
        read([b"<html>502 Bad Gateway</html>\n"])


@pytest.mark.parametrize(
    "endless", [b"data: " + b"x" * 2_000, b"data: " + b"x" * 900 + b"\n" + b"data: " + b"x" * 900 + b"\n"]
)
def test_an_endless_line_or_event_is_refused(endless):
    with pytest.raises(LineTooLong):
        read([endless])
