"""Several calls at the same time: each ends by itself, and none goes on that nobody waits for."""

from __future__ import annotations

import threading

import pytest

from agents.llm.base import Cancelled, ContextTooLong, ModelUnavailable
from agents.llm.calls import Seats
from agents.llm.ollama import OllamaProvider
from agents.llm.runner import ModelRunner
from agents.llm.scripted_server import ScriptedOllama

from .conftest import MODEL, REPLY, eventually, talk


def all_of(calls, several):
    ended = []
    while len(ended) < len(several):
        ended += calls.look()
    return ended


@pytest.fixture
def slow(folder):
    """Writes twenty tokens a second, for three at a time: a reply takes more than a second."""
    (folder / "T-01" / "coder-endless.md").write_text("word " * 2000)
    with_room = ScriptedOllama(folder, tokens_per_s=20, parallel=3)
    with with_room:
        yield with_room


def test_calls_are_on_their_way_at_the_same_time_and_each_has_its_own_reply(runner, slow):
    provider = OllamaProvider(slow.url, MODEL)
    with runner.together() as calls:
        several = [calls.start(provider, talk(step)) for step in ("code", "repair", "code")]
        ended = all_of(calls, several)
        assert {id(call) for call in ended} == {id(call) for call in several}
        assert [call.result().text for call in several] == [REPLY, "First repair.\n", REPLY]
    assert slow.most_at_once == 3


def test_one_that_is_dropped_ends_at_the_server_and_the_others_go_on(runner, slow):
    provider, shown = OllamaProvider(slow.url, MODEL), []
    with runner.together() as calls:
        one = calls.start(provider, talk("endless"), on_delta=shown.append)
        other = calls.start(provider, talk())
        while not shown:
            calls.look()
        calls.drop(one)
        with pytest.raises(Cancelled):
            one.result()
        assert all_of(calls, [other]) == [other]
        assert other.result().text == REPLY
    chats = [seen for seen in slow.requests if seen.path == "/api/chat"]
    assert eventually(lambda: sorted(seen.outcome for seen in chats) == ["disconnected", "done"])


def test_leaving_the_block_drops_all_that_are_on_their_way(runner, slow):
    provider = OllamaProvider(slow.url, MODEL)
    with runner.together() as calls:
        for _ in range(3):
            calls.start(provider, talk("endless"))
        assert eventually(lambda: slow.most_at_once == 3)
    assert eventually(lambda: [seen.outcome for seen in slow.requests] == ["disconnected"] * 3)
    assert eventually(lambda: runner.seats.taken(provider.server) == 0)


def test_a_stop_is_heard_while_calls_are_on_their_way(runner, slow):
    provider = OllamaProvider(slow.url, MODEL)
    with runner.together(lambda: slow.most_at_once == 2) as calls:
        several = [calls.start(provider, talk("endless")) for _ in range(2)]
        with pytest.raises(Cancelled):
            all_of(calls, several)
    assert eventually(lambda: [seen.outcome for seen in slow.requests] == ["disconnected"] * 2)


def test_a_call_that_fails_leaves_the_others_alone(provider, server):
    server.faults.add("status", status=503)
    with ModelRunner(attempts=1) as runner, runner.together() as calls:
        failed = calls.start(provider, talk())
        assert all_of(calls, [failed]) == [failed]
        done = calls.start(provider, talk())
        too_long = calls.start(OllamaProvider(server.url, MODEL, window=600), talk(), max_tokens=590)
        all_of(calls, [done, too_long])
        with pytest.raises(ModelUnavailable):
            failed.result()
        with pytest.raises(ContextTooLong):
            too_long.result()
        assert done.result().text == REPLY


def test_waiting_ends_when_something_else_is_done(runner, server, provider):
    server.faults.add("hang")
    done = threading.Event()
    with runner.together() as calls:
        calls.start(provider, talk())
        threading.Timer(0.05, lambda: (done.set(), calls.ring())).start()
        while not done.is_set():
            assert calls.look(done.is_set) == []


class TestSeats:
    def test_there_are_as_many_as_the_server_takes(self):
        seats = Seats(lambda server: 2 if server == "a" else 1)
        assert [seats.take("a"), seats.take("a"), seats.take("a")] == [True, True, False]
        assert seats.take("b")
        seats.leave("a")
        assert seats.take("a")

    def test_a_call_that_must_be_made_takes_one_more_and_the_server_queues_it(self):
        seats = Seats(lambda server: 1)
        assert [seats.take("a"), seats.take("a", always=True)] == [True, True]
        seats.leave("a")
        assert not seats.take("a")

    def test_a_call_sits_on_one_as_long_as_it_lasts(self, runner, slow):
        provider, sat = OllamaProvider(slow.url, MODEL), []
        runner.complete(provider, talk(), on_delta=lambda text: sat.append(runner.seats.taken(provider.server)))
        assert sat[0] == 1
        assert eventually(lambda: runner.seats.taken(provider.server) == 0)
