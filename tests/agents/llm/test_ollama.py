"""The Ollama provider against a server that speaks the protocol over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agents.llm.base import (
    Completion,
    ContextTooLong,
    Delta,
    LLMError,
    ModelMissing,
    ModelRefused,
    ModelUnavailable,
    ReplyTooLong,
    Timeouts,
)
from agents.llm.ollama import OllamaProvider
from agents.llm.scripted_server.handler import OllamaHandler
from agents.llm.scripted_server.player import Player
from tests.agents.llm.fake_servers import FakeModelServer

from .conftest import MODEL, REPLY, SHORT, talk
from .test_openai import odd as odd


async def gather(stream: AsyncIterator[Delta | Completion]) -> list[Delta | Completion]:
    return [item async for item in stream]


def ask(provider: OllamaProvider, *args, **options) -> list[Delta | Completion]:
    async def go() -> list[Delta | Completion]:
        try:
            return await gather(provider.stream(*args, **options))
        finally:
            await provider.aclose()

    return asyncio.run(go())


def test_deltas_come_before_one_completion_and_add_up_to_its_text(provider):
    *deltas, last = ask(provider, talk())
    assert isinstance(last, Completion)
    assert all(isinstance(delta, Delta) for delta in deltas)
    assert "".join(delta.text for delta in deltas) == last.text == REPLY
    assert last.done_reason == "stop"
    assert not last.truncated


def test_usage_counts_tokens_and_names_the_model(provider, server):
    last = ask(provider, talk())[-1]
    assert last.usage.model == MODEL
    assert last.usage.prompt_tokens == server.requests[0].prompt_tokens > 0
    assert last.usage.completion_tokens == server.requests[0].reply_tokens > 10
    assert last.usage.tokens_per_s > 0


def test_window_truncation_and_keep_alive_are_always_sent(provider, server):
    ask(provider, talk(), temperature=0.7, seed=11, max_tokens=900)
    body = server.requests[0].body
    assert body["options"] == {"num_ctx": 32768, "temperature": 0.7, "seed": 11, "num_predict": 900}
    assert body["truncate"] is False
    assert body["shift"] is False
    assert body["keep_alive"] == -1
    assert body["messages"] == talk()


def test_a_schema_is_sent_as_format(provider, server):
    schema = {"type": "object", "properties": {"tasks": {"type": "array"}}, "required": ["tasks"]}
    last = ask(provider, talk("decompose", task="", persona="planner"), schema=schema)[-1]
    assert server.requests[0].body["format"] == schema
    assert last.text == '{"tasks": []}\n'


def test_a_reply_cut_by_the_token_limit_says_so(provider):
    last = ask(provider, talk(), max_tokens=4)[-1]
    assert last.truncated
    assert REPLY.startswith(last.text)
    assert last.usage.completion_tokens == 4


def test_a_recording_is_known_by_its_first_answer(provider):
    assert not provider.recorded
    assert ask(provider, talk())[-1].recorded
    assert provider.recorded


def test_a_missing_model_names_the_way_out(server):
    with pytest.raises(ModelMissing, match=r"ollama pull llama9:1b") as caught:
        ask(OllamaProvider(server.url, "llama9:1b", timeouts=SHORT), talk())
    assert caught.value.model == "llama9:1b"


def test_a_conversation_over_the_window_is_refused_by_the_server(server):
    small = OllamaProvider(server.url, MODEL, window=64, timeouts=SHORT)
    with pytest.raises(ContextTooLong) as caught:
        ask(small, [*talk(), {"role": "assistant", "content": "word " * 500}])
    assert caught.value.window == 64
    assert caught.value.tokens > 64


def test_a_window_smaller_than_asked_for_is_noticed(folder):
    with FakeModelServer(folder, tokens_per_s=0, window=4096) as url:
        provider = OllamaProvider(url, MODEL, timeouts=SHORT)
        ask(provider, talk())
        assert provider.window == 4096


def test_messages_dropped_in_silence_are_noticed(folder, monkeypatch):
    # An older server ignores `truncate`: it shortens, answers, and only the window it loaded gives it away.
    read = Player.read
    monkeypatch.setattr(Player, "read", lambda self, body: replace(read(self, body), shorten=True))
    long = [*talk(), {"role": "assistant", "content": "old " * 3000}, {"role": "user", "content": "Step: repair"}]
    with FakeModelServer(folder, tokens_per_s=0, window=1024) as url, pytest.raises(ContextTooLong) as caught:
        ask(OllamaProvider(url, MODEL, timeouts=SHORT), long)
    assert caught.value.window == 1024


def test_nobody_at_the_address_is_unavailable():
    with pytest.raises(ModelUnavailable, match=r"No model server answers at 127\.0\.0\.1:9\."):
        ask(OllamaProvider("http://127.0.0.1:9", MODEL, timeouts=SHORT), talk())


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("close", ModelUnavailable, "broke off"),
        ("garbage", ModelUnavailable, "not its protocol"),
        ("half_json", ModelUnavailable, "not its protocol"),
        ("error_line", ModelUnavailable, "llama runner"),
        ("flood", ReplyTooLong, "2000000 bytes"),
    ],
)
def test_a_broken_reply_is_a_typed_error(provider, server, kind, error, words):
    server.faults.add(kind)
    with pytest.raises(error, match=words):
        ask(provider, talk())


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_keeps_its_retry_after(provider, server, status):
    server.faults.add("status", status=status, retry_after=7)
    with pytest.raises(ModelUnavailable) as caught:
        ask(provider, talk())
    assert caught.value.retry_after == 7


def test_an_error_that_waiting_does_not_cure_is_a_refusal_with_its_text(provider):
    with pytest.raises(ModelRefused, match=r"T-01/coder-dance\.md is missing") as caught:
        ask(provider, talk("dance"))
    assert caught.value.status == 500


def test_embeddings_come_in_order_and_alike_texts_are_near(provider):
    async def go() -> list[list[float]]:
        try:
            return await provider.embed(["sum of a list", "the sum of a list", "login page colours"])
        finally:
            await provider.aclose()

    same, near, far = asyncio.run(go())
    assert len(same) == 256

    def dot(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert dot(same, near) > dot(same, far)


def test_an_empty_list_of_texts_asks_nobody(provider, server):
    assert asyncio.run(provider.embed([])) == []
    assert server.requests == []


def test_health_tells_version_models_and_window(provider):
    health = provider.health()
    assert health.ok
    assert health.models == (MODEL,)
    assert health.context_length == 32768
    assert health.recorded
    assert "recording" in health.version


def test_health_of_a_missing_model_says_what_to_run(server):
    health = OllamaProvider(server.url, "other:1b").health()
    assert not health.ok
    assert "other:1b" in health.problem
    assert health.hint == "Run `ollama pull other:1b`."


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "http://", "nonsense", "http://127.0.0.1:notaport"])
def test_health_never_raises(address):
    health = OllamaProvider(address, timeouts=Timeouts(connect=0.5)).health()
    assert not health.ok
    assert health.problem
    assert health.hint


def test_health_of_something_else_than_ollama_says_so(server, monkeypatch):
    monkeypatch.setattr(OllamaHandler, "_version", lambda self: self.send_json(200, ["not", "ollama"]))
    health = OllamaProvider(server.url).health()
    assert not health.ok
    assert "does not speak" in health.problem


@pytest.mark.parametrize("address", ["http://", "nonsense://x", "http://127.0.0.1:notaport"])
def test_a_senseless_address_is_one_of_our_errors(address):
    with pytest.raises(LLMError):
        ask(OllamaProvider(address, timeouts=SHORT), talk())


def test_proxy_settings_of_the_environment_are_not_used(provider, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert ask(provider, talk())[-1].text == REPLY
    assert provider.health().ok


def lines(*rows: dict) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def said(text: str, **more: object) -> dict:
    return {
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text, **more},
        "done": False,
    }


def ended(**more: object) -> dict:
    counts = {"prompt_eval_count": 50, "eval_count": 2, "eval_duration": 1_000_000, "prompt_eval_duration": 1_000_000}
    return said("") | {"done": True, "done_reason": "stop"} | counts | more


def answering(odd, *rows: dict, **options) -> OllamaProvider:
    return OllamaProvider(odd(lines(*rows), kind="application/x-ndjson"), "m", timeouts=SHORT, **options)


def test_thoughts_of_a_reasoning_model_are_no_part_of_the_reply_but_show_that_it_works(odd):
    *deltas, done = ask(answering(odd, said("", thinking="hm"), said("", thinking="so"), said("yes"), ended()), talk())
    assert [delta.text for delta in deltas] == ["", "", "yes"]
    assert done.text == "yes"


def test_thoughts_without_end_are_given_up(odd):
    with pytest.raises(ReplyTooLong):
        ask(answering(odd, *[said("", thinking="and " * 300)] * 3, ended(), max_reply_bytes=2_000), talk())


def test_a_prompt_that_the_server_did_not_count_is_estimated_and_said_so(odd):
    row = ended()
    del row["prompt_eval_count"]
    usage = ask(answering(odd, said("a"), row), talk())[-1].usage
    assert usage.estimated
    assert usage.prompt_tokens > 0


def test_a_server_that_pushed_the_prompt_out_to_go_on_writing_is_noticed(odd):
    with pytest.raises(ContextTooLong):
        ask(answering(odd, said("a"), ended(prompt_eval_count=496, eval_count=30), window=512), talk())


def test_a_reply_that_filled_the_window_is_cut_off_and_no_error(odd):
    row = ended(prompt_eval_count=461, eval_count=52, done_reason="length")
    assert ask(answering(odd, said("a"), row, window=512), talk())[-1].truncated


@pytest.mark.parametrize(
    ("said_inside", "error", "words"),
    [
        (
            {
                "code": 400,
                "message": "request (2622 tokens) exceeds the available context size (512 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 2622,
                "n_ctx": 512,
            },
            ContextTooLong,
            "2622",
        ),
        (
            {"code": 400, "message": "model does not support this", "type": "invalid_request_error"},
            ModelRefused,
            "call \\(HTTP 400\\): model does not",
        ),
    ],
)
def test_the_runners_error_inside_the_servers_is_read(odd, said_inside, error, words):
    body = json.dumps({"error": json.dumps({"error": said_inside})}).encode()
    with pytest.raises(error, match=words):
        ask(OllamaProvider(odd(body, 400, "application/json"), "m", timeouts=SHORT), talk())
