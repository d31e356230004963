"""What is particular to OpenAI-compatible servers: keys, refused parameters, counts, odd ends."""

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from agents.llm.base import ContextTooLong, LLMError, ModelRefused, ModelTimeout, ModelUnavailable, Timeouts
from agents.llm.openai import OpenAIProvider
from agents.llm.registry import PROVIDERS
from tests.agents.llm.fake_servers import FakeModelServer
from tests.agents.stand_in_server import stand_in

from .conftest import MODEL, REPLY, SHORT, talk
from .test_contract import ask

KEY_VARIABLE = PROVIDERS["openai"].key_variable
CHAT = "/v1/chat/completions"
KEY = "sk-live-" + "q7Zt" * 8
SCHEMA = {"type": "object", "properties": {"tasks": {"type": "array"}}}


@pytest.fixture
def model(server: FakeModelServer) -> OpenAIProvider:
    return OpenAIProvider(server.url, MODEL, timeouts=SHORT, key_variable=KEY_VARIABLE)


@pytest.fixture
def odd() -> Iterator[Callable[..., str]]:
    """Servers that answer every call with the bytes given: `odd(body, status=…, kind=…)` gives an address."""
    with ExitStack() as servers:

        def make(body: bytes, status: int = 200, kind: str = "text/event-stream", **headers: str) -> str:
            server = servers.enter_context(stand_in())
            server.says(body, status, **{"Content-Type": kind, **headers})
            return server.url

        yield make


def chunks(*rows: dict[str, Any] | str) -> bytes:
    return "".join(f"data: {row if isinstance(row, str) else json.dumps(row)}\n\n" for row in rows).encode()


def word(text: str, reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}], **more}


class TestKeys:
    @pytest.fixture
    def guarded(self, folder) -> Iterator[FakeModelServer]:
        server = FakeModelServer(folder, tokens_per_s=0, key=KEY)
        with server:
            yield server

    def test_the_key_of_the_environment_opens_the_door(self, guarded, monkeypatch):
        monkeypatch.setenv(KEY_VARIABLE, f" {KEY}\n")
        provider = OpenAIProvider(guarded.url, MODEL, timeouts=SHORT, key_variable=KEY_VARIABLE)
        assert ask(provider, talk())[-1].text == REPLY
        assert provider.health().ok

    def test_a_missing_key_names_its_variable(self, guarded, monkeypatch):
        monkeypatch.delenv(KEY_VARIABLE, raising=False)
        provider = OpenAIProvider(guarded.url, MODEL, timeouts=SHORT, key_variable=KEY_VARIABLE)
        with pytest.raises(ModelRefused, match="refuses the key"):
            ask(provider, talk())
        health = provider.health()
        assert not health.ok
        assert KEY_VARIABLE in health.hint

    def test_a_refused_key_is_in_no_error(self, guarded, monkeypatch):
        wrong = "sk-live-" + "wrongWRONG" * 3
        monkeypatch.setenv(KEY_VARIABLE, wrong)
        provider = OpenAIProvider(guarded.url, MODEL, timeouts=SHORT, key_variable=KEY_VARIABLE)
        with pytest.raises(ModelRefused) as caught:
            ask(provider, talk())
        told = "".join(traceback.format_exception(caught.value)) + str(provider.health()) + repr(vars(provider))
        assert "wrongWRONG" not in told
        assert "[key]" in str(caught.value)

    @pytest.mark.parametrize("key", ["sk-ä-not-ascii", "sk-two\nlines", "sk with blanks"])
    def test_a_key_that_cannot_be_sent_is_named_and_not_quoted(self, model, server, monkeypatch, key):
        monkeypatch.setenv(KEY_VARIABLE, key)
        with pytest.raises(ModelRefused, match=KEY_VARIABLE) as caught:
            ask(model, talk())
        assert key not in str(caught.value)
        assert server.requests == []

    def test_no_key_is_no_header(self, model, server, monkeypatch):
        monkeypatch.delenv(KEY_VARIABLE, raising=False)
        assert ask(model, talk())[-1].text == REPLY


class TestParameters:
    @pytest.mark.parametrize(
        "refused", ["stream_options", "seed", "temperature", "max_tokens", "json_schema", "response_format"]
    )
    def test_a_parameter_that_the_server_refuses_is_left_out_from_then_on(self, folder, refused):
        server = FakeModelServer(folder, tokens_per_s=0, refuses=[refused])
        with server as url:
            provider = OpenAIProvider(url, MODEL, timeouts=SHORT)
            for _ in range(2):
                assert ask(provider, talk(), seed=3, max_tokens=900, schema=SCHEMA)[-1].text == REPLY
        bodies = [seen.body for seen in server.requests]
        assert refused not in str({key: part for key, part in bodies[-1].items() if key != "messages"})
        assert len(bodies) <= 2 + 2  # two calls, and at most two refusals in the first

    def test_the_newer_name_of_the_limit_is_found(self, folder):
        server = FakeModelServer(folder, tokens_per_s=0, refuses=['"max_tokens"'])
        with server as url:
            provider = OpenAIProvider(url, MODEL, timeouts=SHORT)
            assert ask(provider, talk(), max_tokens=4)[-1].truncated
        assert server.requests[-1].body["max_completion_tokens"] == 4

    def test_a_schema_goes_as_json_schema_first(self, model, server):
        ask(model, talk(), schema=SCHEMA)
        assert server.requests[0].body["response_format"]["json_schema"]["schema"] == SCHEMA

    def test_refusals_without_end_are_given_up(self, odd):
        body = json.dumps({"error": {"message": "seed temperature stream_options max_tokens unknown"}}).encode()
        with pytest.raises(ModelRefused, match="unknown"):
            ask(OpenAIProvider(odd(body, 400, "application/json"), "m", timeouts=SHORT), talk(), seed=1, max_tokens=5)

    def test_an_address_without_a_path_gets_one(self):
        assert OpenAIProvider("http://127.0.0.1:1234", "m").server == "http://127.0.0.1:1234/v1"
        assert OpenAIProvider("http://127.0.0.1:1234/api/v2/", "m").server == "http://127.0.0.1:1234/api/v2"


class TestReplies:
    def read(self, odd: Callable[..., str], *rows: dict[str, Any] | str) -> Any:
        return ask(OpenAIProvider(odd(chunks(*rows)), "m", timeouts=SHORT), talk())[-1]

    def test_what_the_prompt_cache_saved_is_told(self, odd):
        usage = {"prompt_tokens": 900, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 700}}
        done = self.read(odd, word("a"), word("", "stop"), {"choices": [], "usage": usage}, "[DONE]")
        assert (done.usage.prompt_tokens, done.usage.reused_tokens, done.usage.estimated) == (900, 700, False)

    def test_a_server_that_does_not_count_is_estimated_and_said_so(self, odd):
        done = self.read(odd, word("hello there"), word("", "stop"), "[DONE]")
        assert done.usage.estimated
        assert done.usage.prompt_tokens > 20
        assert done.usage.completion_tokens == 2

    def test_a_reply_without_the_mark_of_its_end_is_whole_when_its_reason_came(self, odd):
        assert self.read(odd, word("a"), word("b", "stop")).text == "ab"

    def test_a_reply_with_the_mark_but_without_a_reason_is_whole_too(self, odd):
        done = self.read(odd, word("a"), "[DONE]")
        assert (done.text, done.done_reason) == ("a", "stop")

    def test_silence_after_the_last_word_costs_the_counts_only(self, model, server):
        server.faults.add("silent_end", path=CHAT)
        done = ask(model, talk())[-1]
        assert done.text == REPLY
        assert done.usage.estimated

    def test_a_lost_end_is_a_reply_cut_off(self, model, server):
        server.faults.add("no_end", path=CHAT)
        with pytest.raises(ModelUnavailable, match="hung up"):
            ask(model, talk())

    def test_a_server_that_does_not_stream_is_understood(self, odd):
        whole = {
            "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
            "model": "x",
        }
        provider = OpenAIProvider(odd(json.dumps(whole).encode(), kind="application/json"), "m", timeouts=SHORT)
        assert [getattr(item, "text", "") for item in ask(provider, talk())] == ["hi", "hi"]

    def test_thoughts_of_a_reasoning_model_are_no_part_of_the_reply(self, odd):
        thought = {"choices": [{"index": 0, "delta": {"reasoning_content": "hm, " * 9}, "finish_reason": None}]}
        assert self.read(odd, thought, word("yes", "stop"), "[DONE]").text == "yes"

    def test_a_last_chunk_of_counts_without_choices_is_understood(self, odd):
        for choices in ([], None):
            rows = [
                word("yes", usage=None),
                word("", "stop", usage=None),
                {"choices": choices, "usage": {"prompt_tokens": 50, "completion_tokens": 2}},
            ]
            usage = ask(OpenAIProvider(odd(chunks(*rows, "[DONE]")), "m", timeouts=SHORT), talk())[-1].usage
            assert (usage.prompt_tokens, usage.completion_tokens, usage.estimated) == (50, 2, False)

    def test_what_is_withheld_is_refused(self, odd):
        with pytest.raises(ModelRefused, match="content_filter"):
            self.read(odd, word("a"), word("", "content_filter"), "[DONE]")

    def test_messages_dropped_in_silence_are_noticed(self, odd):
        long = [*talk(), {"role": "user", "content": "old words " * 9_000}]
        usage = {"prompt_tokens": 2_048, "completion_tokens": 1}
        provider = OpenAIProvider(odd(chunks(word("a", "stop", usage=usage), "[DONE]")), "m", timeouts=SHORT)
        with pytest.raises(ContextTooLong):
            ask(provider, long)

    def test_a_conversation_that_the_server_counts_beyond_the_window_is_noticed(self, odd):
        # A server that is not told to refuse it answers, and what it says means nothing.
        usage = {"prompt_tokens": 2_049, "completion_tokens": 1}
        address = odd(chunks(word("a", "stop", usage=usage), "[DONE]"))
        with pytest.raises(ContextTooLong, match="about 2049 tokens"):
            ask(OpenAIProvider(address, "m", timeouts=SHORT, window=2_048), talk())
        assert ask(OpenAIProvider(address, "m", timeouts=SHORT, window=2_049), talk())[-1].text == "a"

    @pytest.mark.parametrize(
        "rows",
        [
            ["[]"],
            ["null"],
            ['{"choices": 3}'],
            ['{"choices": [3]}'],
            ['{"choices": [{"delta": 3}]}'],
            ['{"choices": [{"delta": {"content": {"a": 1}}}]}'],
            ['{"usage": 7, "choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}'],
            ["nonsense"],
            [""],
            [],
        ],
        ids=str,
    )
    def test_senseless_chunks_are_one_of_our_errors(self, odd, rows):
        with pytest.raises(LLMError):
            self.read(odd, *rows)

    @pytest.mark.parametrize(
        ("status", "body", "error", "words"),
        [
            (
                401,
                {"error": {"message": "Incorrect API key provided: sk-ab***yz."}},
                ModelRefused,
                r"provided: \[key\]",
            ),
            (429, {"error": {"message": "no money", "code": "insufficient_quota"}}, ModelRefused, "quota"),
            (429, {"error": "slow down"}, ModelUnavailable, "slow down"),
            (400, {"error": {"message": "the request exceeds the available context size"}}, ContextTooLong, "window"),
            (422, {"detail": [{"loc": ["body", "top"], "msg": "not a list"}]}, ModelRefused, "not a list"),
            (500, {"error": "CUDA out of memory"}, ModelUnavailable, "CUDA"),
            (302, {}, ModelRefused, "302"),
            (418, {"message": "tea\x1b[31m\u202epot"}, ModelRefused, r"tea \[31m pot"),
        ],
    )
    def test_errors_are_told_apart(self, odd, status, body, error, words):
        with pytest.raises(error, match=words):
            ask(OpenAIProvider(odd(json.dumps(body).encode(), status, "application/json"), "m", timeouts=SHORT), talk())

    def test_milliseconds_to_wait_are_understood(self, odd):
        url = odd(b"{}", 429, "application/json", retry_after_ms="1500")
        with pytest.raises(ModelUnavailable) as caught:
            ask(OpenAIProvider(url, "m", timeouts=SHORT), talk())
        assert caught.value.retry_after == 1.5

    def test_a_page_of_a_proxy_is_no_reply(self, odd):
        with pytest.raises(ModelUnavailable, match="not its protocol"):
            ask(OpenAIProvider(odd(b"<html>hi</html>", kind="text/html"), "m", timeouts=SHORT), talk())


def test_comments_alone_are_silence(server):
    # What keeps the connection open is not a word of the model.
    server.faults.add("keep_alive", path=CHAT)
    slow = FakeModelServer(server.scenario.folder, tokens_per_s=1)
    slow.faults.add("keep_alive", path=CHAT)
    with slow as url, pytest.raises(ModelTimeout):
        ask(OpenAIProvider(url, MODEL, timeouts=Timeouts(first_token=0.3, idle=0.3)), talk())


def test_a_server_that_lists_no_model_is_not_said_to_lack_one(odd):
    assert OpenAIProvider(odd(b'{"object": "list", "data": []}', kind="application/json"), "m").health().ok


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"data": 3}', b'{"data": [{"id": 1}]}', b"nonsense", b""])
def test_health_of_something_else_says_so(odd, body):
    health = OpenAIProvider(odd(body, kind="application/json"), "m").health()
    assert not health.ok
    assert health.problem
