"""The Ollama provider against a server that speaks the protocol over HTTP."""

import asyncio
import json
from dataclasses import replace

import pytest

from agents.llm.base import (
    ContextTooLong,
    ModelMissing,
    ModelRefused,
    ReplyTooLong,
)
from agents.llm.ollama import OllamaProvider
from agents.llm.scripted_server.handler import OllamaHandler
from agents.llm.scripted_server.player import Player
from tests.agents.llm.fake_servers import FakeModelServer

from .conftest import MODEL, SHORT, talk
from .test_contract import ask
from .test_openai import odd as odd


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


def test_an_error_that_waiting_does_not_cure_is_a_refusal_with_its_text(provider):
    with pytest.raises(ModelRefused, match=r"T-01/coder-dance\.md is missing") as caught:
        ask(provider, talk("dance"))
    assert caught.value.status == 500


def test_an_empty_list_of_texts_asks_nobody(provider, server):
    assert asyncio.run(provider.embed([])) == []
    assert server.requests == []


def test_health_of_a_missing_model_says_what_to_run_and_names_the_version(server):
    health = OllamaProvider(server.url, "other:1b").health()
    assert not health.ok
    assert "other:1b" in health.problem
    assert health.hint == "Run `ollama pull other:1b`."
    assert "recording" in health.version


def test_health_of_something_else_than_ollama_says_so(server, monkeypatch):
    monkeypatch.setattr(OllamaHandler, "_version", lambda self: self.send_json(200, ["not", "ollama"]))
    health = OllamaProvider(server.url).health()
    assert not health.ok
    assert "does not speak" in health.problem


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
