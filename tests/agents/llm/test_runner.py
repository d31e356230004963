"""The runner: stopping, retrying, and leaving a server alone that is down."""

import threading
import time

import pytest

from agents.llm.base import Cancelled, ContextTooLong, ModelTimeout, ModelUnavailable, ReplyTooLong, Timeouts
from agents.llm.ollama import OllamaProvider
from agents.llm.runner import ModelRunner
from tests.agents.llm.fake_servers import FakeModelServer
from tests.waiting import eventually

from .conftest import MODEL, REPLY, SHORT, talk

pytestmark = pytest.mark.slow


def test_a_call_gives_its_reply_and_shows_it_on_the_way(runner, provider):
    shown: list[str] = []
    completion = runner.complete(provider, talk(), on_delta=shown.append)
    assert completion.text == REPLY == "".join(shown)


def test_deltas_are_gathered_into_few_pieces(runner, folder):
    (folder / "T-01" / "coder-code.md").write_text("word " * 2000)
    shown: list[str] = []
    with FakeModelServer(folder, tokens_per_s=0) as url:
        completion = runner.complete(OllamaProvider(url, MODEL), talk(), on_delta=shown.append)
    assert completion.usage.completion_tokens >= 2000
    assert len(shown) < 400


def test_callbacks_run_in_the_callers_thread(runner, provider):
    threads: set[int] = set()
    runner.complete(provider, talk(), on_delta=lambda text: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


def test_a_call_to_a_silent_server_can_be_stopped(runner, provider, server):
    server.faults.add("hang")
    with pytest.raises(Cancelled):
        runner.complete(provider, talk(), cancelled=lambda: len(server.requests) > 0)
    assert eventually(lambda: server.requests[-1].outcome == "disconnected")


def test_stopping_while_waiting_for_a_retry_needs_no_further_call(provider, server):
    server.faults.add("status", status=503, retry_after=25)
    with ModelRunner() as runner, pytest.raises(Cancelled):
        runner.complete(provider, talk(), cancelled=lambda: len(server.requests) > 0)
    assert len(server.requests) == 1


def test_an_error_in_a_callback_ends_the_call(runner, provider, server, folder):
    def refuse(text: str) -> None:
        raise KeyError(text)

    server.faults.add("drip", seconds=0.2)
    with pytest.raises(KeyError):
        runner.complete(provider, talk(), on_delta=refuse)
    assert eventually(lambda: server.requests[-1].outcome == "disconnected")


def test_what_was_shown_before_a_retry_is_declared_void(runner, provider, server):
    server.faults.add("close", after=5)
    shown: list[str] = []
    runner.complete(provider, talk(), on_delta=shown.append, on_retry=lambda error: shown.clear())
    assert "".join(shown) == REPLY


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_after_the_time_it_named(runner, provider, server, status):
    server.faults.add("status", status=status, retry_after=1)
    assert runner.complete(provider, talk()).text == REPLY
    first, second = [seen.at for seen in server.requests if seen.path == "/api/chat"]
    assert second - first >= 1


def test_a_server_that_asks_for_a_long_wait_is_not_waited_for(runner, provider, server):
    server.faults.add("status", status=503, retry_after=600)
    with pytest.raises(ModelUnavailable) as caught:
        runner.complete(provider, talk())
    assert caught.value.retry_after == 600
    assert len(server.requests) == 1


def test_a_reply_without_end_is_not_asked_for_again(runner, provider, server):
    server.faults.add("flood", times=2)
    with pytest.raises(ReplyTooLong):
        runner.complete(provider, talk())
    assert len(server.requests) == 1


def test_the_total_limit_is_not_started_anew(runner, server):
    server.faults.add("drip", times=3, seconds=0.1)
    provider = OllamaProvider(server.url, MODEL, timeouts=Timeouts(total=0.5))
    with pytest.raises(ModelTimeout):
        runner.complete(provider, talk())
    assert len(server.requests) == 1


def test_a_conversation_too_long_is_refused_before_sending(runner, server):
    provider = OllamaProvider(server.url, MODEL, window=600, timeouts=SHORT)
    with pytest.raises(ContextTooLong) as caught:
        runner.complete(provider, talk(), max_tokens=590)
    assert caught.value.window == 600
    assert server.requests == []


def test_the_breaker_opens_and_later_lets_one_probe_through(provider, server):
    with ModelRunner(attempts=1, breaker_failures=3, breaker_cooldown=0.5) as runner:
        server.faults.add("status", times=4)
        for _ in range(3):
            with pytest.raises(ModelUnavailable):
                runner.complete(provider, talk())
        breaker = runner.breaker(provider.server)
        assert breaker.state == "open"
        with pytest.raises(ModelUnavailable, match="next try") as caught:
            runner.complete(provider, talk())
        assert caught.value.retry_after is not None
        assert len(server.requests) == 3
        assert eventually(lambda: breaker.state == "half_open")
        with pytest.raises(ModelUnavailable):
            runner.complete(provider, talk())
        assert breaker.state == "open"
        assert eventually(lambda: breaker.state == "half_open")
        assert runner.complete(provider, talk()).text == REPLY
        assert breaker.state == "closed"


def test_a_missing_reply_does_not_open_the_breaker(provider):
    with ModelRunner(attempts=1, breaker_failures=1) as runner:
        with pytest.raises(Exception, match="missing"):
            runner.complete(provider, talk("dance"))
        assert runner.breaker(provider.server).state == "closed"


def test_a_restarted_server_is_found_again(runner, provider, server):
    assert runner.complete(provider, talk()).text == REPLY
    server.stop()
    with pytest.raises(ModelUnavailable):
        runner.complete(provider, talk())
    server.start()
    assert eventually(lambda: runner.breaker(provider.server).state != "open")
    assert runner.complete(provider, talk()).text == REPLY


def test_a_server_restarted_in_mid_reply_costs_one_retry(runner, folder):
    slow = FakeModelServer(folder, tokens_per_s=40)
    errors: list[Exception] = []
    restarted: list[threading.Thread] = []

    def restart_once(text: str) -> None:
        if not restarted:
            restarted.append(threading.Thread(target=slow.restart))
            restarted[0].start()

    with slow as url:
        completion = runner.complete(OllamaProvider(url, MODEL), talk(), on_delta=restart_once, on_retry=errors.append)
        restarted[0].join(timeout=10)
    assert completion.text == REPLY
    assert errors


def test_many_threads_share_one_runner(runner, server):
    provider = OllamaProvider(server.url, MODEL)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(runner.complete(provider, talk()).text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert texts == [REPLY] * 8


def test_embedding_is_retried_too(runner, provider, server):
    server.faults.add("status", path="/api/embed")
    assert len(runner.embed(provider, ["one", "two"])) == 2


def test_closing_stops_what_is_under_way_and_takes_no_more(provider, server):
    server.faults.add("hang")
    runner = ModelRunner()
    outcome: list[BaseException] = []

    def call() -> None:
        try:
            runner.complete(provider, talk())
        except Cancelled as error:
            outcome.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert eventually(lambda: len(server.requests) > 0)
    runner.close()
    thread.join(timeout=10)
    assert len(outcome) == 1
    with pytest.raises(Cancelled, match="shutting down"):
        runner.complete(provider, talk())
    runner.close()


def test_the_prefix_of_a_growing_conversation_is_reused(runner, provider, server):
    first = talk()
    reply = runner.complete(provider, first)
    grown = [
        *first,
        {"role": "assistant", "content": reply.text},
        {"role": "user", "content": "Step: repair\nTwo tests fail."},
    ]
    assert runner.complete(provider, grown).text == "First repair.\n"
    chats = [seen for seen in server.requests if seen.path == "/api/chat"]
    assert chats[0].reused_tokens == 0
    assert chats[1].reused_tokens >= chats[0].prompt_tokens
    assert chats[1].prompt_tokens > chats[1].reused_tokens


def test_a_changed_beginning_reuses_nothing_after_the_change(runner, provider, server):
    runner.complete(provider, talk())
    changed = talk()
    changed[0]["content"] = "Persona: coder\nAnother system prompt altogether."
    runner.complete(provider, changed)
    assert [seen for seen in server.requests if seen.path == "/api/chat"][1].reused_tokens < 12


def test_a_waiting_call_leaves_the_processor_alone(runner, provider, server):
    server.faults.add("hang")
    polls: list[float] = []

    def stop() -> bool:
        polls.append(time.monotonic())
        return len(polls) > 4

    with pytest.raises(Cancelled):
        runner.complete(provider, talk(), cancelled=stop)
    assert len(polls) == 5
