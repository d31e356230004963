"""What is particular to Gemini: turns, schemas, keys, reasons to withhold."""

from __future__ import annotations

import json
import traceback

import pytest

from agents.llm.base import ModelRefused, ModelUnavailable
from agents.llm.gemini import GeminiProvider
from agents.llm.gemini_schema import gemini_schema
from agents.llm.registry import PROVIDERS
from agents.llm.web import ChatCall
from tests.agents.llm.fake_servers import FakeModelServer

from .conftest import MODEL, REPLY, SHORT, talk
from .test_contract import ask
from .test_openai import odd as odd

KEY_VARIABLE = PROVIDERS["gemini"].key_variable
KEY = "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw"[:35]


def test_system_words_and_turns_have_their_places(server):
    turns = [
        *talk(),
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "More."},
        {"role": "user", "content": "Step: repair"},
    ]
    ask(GeminiProvider(server.url, MODEL, timeouts=SHORT), turns)
    body = server.requests[0].body
    assert body["systemInstruction"]["parts"][0]["text"].startswith("Persona: coder")
    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    assert [part["text"] for part in body["contents"][2]["parts"]] == ["More.", "Step: repair"]


def test_the_key_goes_in_a_header_and_is_in_no_error(folder, monkeypatch):
    with FakeModelServer(folder, tokens_per_s=0, key=KEY) as url:
        provider = GeminiProvider(url, MODEL, timeouts=SHORT, key_variable=KEY_VARIABLE)
        monkeypatch.setenv(KEY_VARIABLE, KEY)
        assert ask(provider, talk())[-1].text == REPLY
        monkeypatch.setenv(KEY_VARIABLE, "AIza-not-the-key")
        with pytest.raises(ModelRefused, match="refuses the key") as caught:
            ask(provider, talk())
        health = provider.health()
    assert "AIza-not" not in "".join(traceback.format_exception(caught.value)) + str(health)
    assert KEY_VARIABLE in health.hint


def test_the_key_is_in_no_address(server, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    provider = GeminiProvider(server.url, MODEL, timeouts=SHORT, key_variable=KEY_VARIABLE)
    ask(provider, talk())
    assert provider.health().ok
    assert all(KEY not in seen.path for seen in server.requests)


def events(*rows: object) -> bytes:
    return "".join(f"data: {json.dumps(row)}\r\n\r\n" for row in rows).encode()


def said(text: str, reason: str = "", **more: object) -> dict:
    candidate = {
        "content": {"role": "model", "parts": [{"text": text}]},
        **({"finishReason": reason} if reason else {}),
    }
    return {"candidates": [candidate], **more}


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ([said("a", "SAFETY")], ModelRefused, "safety rules"),
        ([said("a", "RECITATION")], ModelRefused, "RECITATION"),
        ([said("", "SOMETHING_NEW")], ModelRefused, "SOMETHING_NEW"),
        ([{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}], ModelRefused, "PROHIBITED_CONTENT"),
        ([said("a"), {"error": {"code": 503, "message": "overloaded"}}], ModelUnavailable, "overloaded"),
        ([said("a")], ModelUnavailable, "hung up"),
        ([{"candidates": 3}], ModelUnavailable, "not its protocol"),
        ([[]], ModelUnavailable, "not its protocol"),
        ([], ModelUnavailable, "hung up"),
    ],
)
def test_a_reply_that_cannot_be_used_says_why(odd, rows, error, words):
    with pytest.raises(error, match=words):
        ask(GeminiProvider(odd(events(*rows)), "m", timeouts=SHORT), talk())


def test_thoughts_are_counted_and_not_part_of_the_reply(odd):
    thought = {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "yes"}]}}]}
    usage = {"promptTokenCount": 50, "candidatesTokenCount": 2, "thoughtsTokenCount": 30, "cachedContentTokenCount": 40}
    done = ask(
        GeminiProvider(odd(events(thought, said("", "STOP", usageMetadata=usage))), "m", timeouts=SHORT), talk()
    )[-1]
    assert done.text == "yes"
    assert (done.usage.completion_tokens, done.usage.reused_tokens) == (32, 40)


def test_a_schema_beyond_the_model_is_left_out_from_then_on(odd):
    body = json.dumps({"error": {"code": 400, "message": "Unknown field responseSchema"}}).encode()
    provider = GeminiProvider(odd(body, 400, "application/json"), "m", timeouts=SHORT)
    with pytest.raises(ModelRefused):
        ask(provider, talk(), schema={"type": "object"})
    _, body = provider._request(ChatCall(talk(), {"type": "object"}, 0.2, None, None))
    assert "responseSchema" not in body["generationConfig"]


def test_a_schema_is_put_into_the_words_that_are_known():
    schema = {
        "$defs": {
            "Task": {
                "type": "object",
                "properties": {"id": {"type": "string", "format": "uri"}},
                "required": ["id", "gone"],
            }
        },
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "tasks": {"type": "array", "items": {"$ref": "#/$defs/Task"}, "minItems": 1},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "kind": {"enum": ["a", 3]},
            "done": {"type": ["boolean", "null"]},
        },
        "required": ["tasks"],
    }
    assert gemini_schema(schema) == {
        "type": "OBJECT",
        "properties": {
            "tasks": {
                "type": "ARRAY",
                "minItems": 1,
                "items": {
                    "type": "OBJECT",
                    "properties": {"id": {"type": "STRING"}},
                    "propertyOrdering": ["id"],
                    "required": ["id"],
                },
            },
            "note": {"type": "STRING", "nullable": True},
            "kind": {"type": "STRING", "enum": ["a", "3"]},
            "done": {"type": "BOOLEAN", "nullable": True},
        },
        "propertyOrdering": ["tasks", "note", "kind", "done"],
        "required": ["tasks"],
    }


def test_a_schema_that_refers_to_itself_is_refused():
    loop = {
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        "$ref": "#/$defs/Node",
    }
    with pytest.raises(ValueError, match="deep"):
        gemini_schema(loop)


def refusal(quota: str) -> bytes:
    details = [
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": quota, "quotaValue": "250"}],
        },
        {"@type": "type.googleapis.com/google.rpc.Help", "links": [{"url": "https://ai.google.dev/"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "8.94s"},
    ]
    error = {
        "code": 429,
        "message": "You exceeded your current quota.",
        "status": "RESOURCE_EXHAUSTED",
        "details": details,
    }
    return json.dumps({"error": error}).encode()


def test_the_quota_of_a_minute_is_waited_for(odd):
    body = refusal("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")
    with pytest.raises(ModelUnavailable) as caught:
        ask(GeminiProvider(odd(body, 429, "application/json"), "m", timeouts=SHORT), talk())
    assert caught.value.retry_after == 8.94


def test_the_quota_of_a_day_is_not_waited_for(odd):
    body = refusal("GenerateRequestsPerDayPerProjectPerModel-FreeTier")
    with pytest.raises(ModelRefused, match="today") as caught:
        ask(GeminiProvider(odd(body, 429, "application/json"), "m", timeouts=SHORT), talk())
    assert caught.value.status == 429


def test_counts_on_the_way_are_replaced_by_the_last(odd):
    first = said("yes", usageMetadata={"promptTokenCount": 50, "totalTokenCount": 50}, responseId="r")
    last = said("", "STOP", usageMetadata={"promptTokenCount": 51, "candidatesTokenCount": 2, "totalTokenCount": 53})
    usage = ask(GeminiProvider(odd(events(first, last)), "m", timeouts=SHORT), talk())[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.estimated) == (51, 2, False)


def test_a_call_without_a_key_is_refused_as_such(folder, monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with FakeModelServer(folder, tokens_per_s=0, key="secret") as url, pytest.raises(ModelRefused) as caught:
        ask(GeminiProvider(url, MODEL, timeouts=SHORT, key_variable=KEY_VARIABLE), talk())
    assert caught.value.status == 403
