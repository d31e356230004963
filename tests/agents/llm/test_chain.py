"""Several models for one persona: the next stands in, only where the list names it, and says why."""

from collections.abc import Iterator

import pytest

from agents.engine.ask import ask
from agents.llm.base import Cancelled, ContextTooLong, ModelRefused, ModelUnavailable, Provider, ReplyTooLong, Timeouts
from agents.llm.chain import ModelChain
from agents.llm.ollama import OllamaProvider
from agents.llm.openai import OpenAIProvider
from agents.llm.runner import ModelRunner
from tests.agents.engine.nodes.support import MemoryEventLog, question
from tests.agents.llm.fake_servers import FakeModelServer

from .conftest import MODEL, REPLY, SHORT, talk

CHAT = "/v1/chat/completions"


@pytest.fixture
def other(folder) -> Iterator[FakeModelServer]:
    server = FakeModelServer(folder, tokens_per_s=0)
    with server:
        yield server


def chain(*members: Provider, outside: tuple[bool, ...] = (), **tuning) -> ModelChain:
    return ModelChain(members, outside or (False,) * len(members), 0.2, **tuning)


@pytest.fixture
def both(server: FakeModelServer, other: FakeModelServer) -> ModelChain:
    return chain(OllamaProvider(server.url, MODEL, timeouts=SHORT), OpenAIProvider(other.url, MODEL, timeouts=SHORT))


def test_the_first_model_answers_when_it_can(runner, both, other):
    done = runner.complete(both, talk())
    assert (done.text, done.instead_of) == (REPLY, ())
    assert other.requests == []


@pytest.mark.parametrize("fault", ["status", "hang", "close"])
def test_the_next_one_stands_in_and_says_why(runner, server, other, fault):
    server.faults.add(fault, times=5)
    first = OllamaProvider(server.url, MODEL, timeouts=Timeouts(first_token=0.3, idle=0.3))
    errors: list[Exception] = []
    done = runner.complete(chain(first, OpenAIProvider(other.url, MODEL)), talk(), on_retry=errors.append)
    assert done.text == REPLY
    assert done.instead_of[0].startswith(f"ollama:{MODEL} did not answer: ")
    assert len(server.requests) == 2
    assert errors, "what was shown of the first reply is void"


def test_a_server_known_to_be_down_is_not_asked_again(other):
    dead = OllamaProvider("http://127.0.0.1:9", MODEL, timeouts=SHORT)
    with ModelRunner(backoff=0.01, breaker_failures=2, breaker_cooldown=60) as runner:
        pair = chain(dead, OpenAIProvider(other.url, MODEL))
        runner.complete(pair, talk())
        assert runner.breaker(dead.server).state == "open"
        assert "next try" in runner.complete(pair, talk()).instead_of[0]


def test_a_missing_model_and_a_refused_key_fall_through(runner, server, folder):
    with FakeModelServer(folder, tokens_per_s=0, key="k" * 20) as locked:
        trio = chain(
            OllamaProvider(server.url, "none:1b"), OpenAIProvider(locked, MODEL), OllamaProvider(server.url, MODEL)
        )
        done = runner.complete(trio, talk())
    assert done.text == REPLY
    assert len(done.instead_of) == 2


def test_the_last_error_is_told_when_nobody_answers(runner):
    dead = [OllamaProvider(f"http://127.0.0.1:{port}", MODEL, timeouts=SHORT) for port in (9, 19)]
    with pytest.raises(ModelUnavailable, match=":19"):
        runner.complete(chain(*dead), talk())


def test_a_refusal_that_is_about_the_call_is_not_passed_on(runner, both, other):
    with pytest.raises(ModelRefused, match="missing"):
        runner.complete(both, talk("dance"))
    assert other.requests == []


def test_an_endless_reply_is_not_passed_on(runner, both, server, other):
    server.faults.add("flood")
    with pytest.raises(ReplyTooLong):
        runner.complete(both, talk())
    assert other.requests == []


def test_a_stop_is_not_passed_on(runner, both, server, other):
    server.faults.add("hang")
    with pytest.raises(Cancelled):
        runner.complete(both, talk(), cancelled=lambda: bool(server.requests))
    assert other.requests == []


def test_a_model_with_a_larger_window_takes_what_the_first_cannot(runner, server, other):
    pair = chain(OllamaProvider(server.url, MODEL, window=600), OpenAIProvider(other.url, MODEL))
    assert pair.window == 600
    assert runner.complete(pair, talk(), max_tokens=590).text == REPLY
    with pytest.raises(ContextTooLong):
        runner.complete(chain(pair.members[0]), talk(), max_tokens=590)


def test_parameters_of_the_choice_replace_the_usual_ones(runner, server):
    tuned = chain(OllamaProvider(server.url, MODEL), temperature=0.4, max_tokens=700)
    runner.complete(tuned, talk(), temperature=0.2, max_tokens=8_000)
    runner.complete(tuned, talk(), temperature=0.7, max_tokens=8_000)
    options = [seen.body["options"] for seen in server.requests if seen.path == "/api/chat"]
    assert [(each["temperature"], each["num_predict"]) for each in options] == [(0.4, 700), (0.7, 700)]


def test_secrets_are_kept_from_a_chain_that_may_lead_outside(runner, server):
    secret = "AKIA" + "IOSFODNN7EXAMPL2"
    event_log = MemoryEventLog()
    pair = chain(
        OllamaProvider(server.url, MODEL), OpenAIProvider("https://models.example.org/v1", "m"), outside=(False, True)
    )
    system, first = talk()
    messages = [system, {**first, "content": first["content"] + f"\nkey = '{secret}'\n", "sources": ["document"]}]
    ask(question(event_log, runner, pair, messages))
    assert secret not in str(server.requests[-1].body)
    assert pair.server == "https://models.example.org/v1"


def test_the_record_says_who_stood_in_and_why(runner, server, other):
    server.faults.add("status", times=5)
    event_log = MemoryEventLog()
    pair = chain(OllamaProvider(server.url, MODEL, timeouts=SHORT), OpenAIProvider(other.url, MODEL))
    ask(question(event_log, runner, pair, talk()))
    usage = next(event for event in event_log.events if event["type"] == "llm.usage")
    assert "answered instead" in usage["summary"]
    assert usage["payload"]["instead_of"][0].startswith(f"ollama:{MODEL} did not answer")


def test_whoever_looks_on_sees_why_the_words_begin_again(runner, server, other, monkeypatch):
    server.faults.add("close", times=5, after=5)
    event_log, shown = MemoryEventLog(), []
    monkeypatch.setattr(event_log, "delta", lambda **delta: shown.append(delta["text"]))
    pair = chain(OllamaProvider(server.url, MODEL, timeouts=SHORT), OpenAIProvider(other.url, MODEL))
    answer = ask(question(event_log, runner, pair, talk()))
    assert answer.text == REPLY
    assert "[The reply starts over: The connection to the model server broke off.]" in "".join(shown)
    assert "".join(shown).endswith(REPLY)


def test_embeddings_come_from_the_first_model_alone(runner, server, other):
    pair = chain(OllamaProvider(server.url, MODEL, timeouts=SHORT), OpenAIProvider(other.url, MODEL))
    assert len(runner.embed(pair, ["a", "b"])) == 2
    assert other.requests == []
