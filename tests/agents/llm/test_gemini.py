"""What is particular to Gemini: turns, schemas, keys, reasons to withhold."""

import json
import traceback

import pytest

from agents.llm.base import LLMError, ModelRefused, ModelUnavailable, ReplyTooLong
from agents.llm.gemini import GeminiProvider
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
        ([said("a"), {"error": {"message": "no code"}}], ModelUnavailable, "not its protocol"),
        ([said("a"), {"error": {"code": 403, "message": "no leave"}}], ModelRefused, "no leave"),
        ([said("a")], ModelUnavailable, "hung up"),
        ([{"candidates": 3}], ModelUnavailable, "not its protocol"),
        ([[]], ModelUnavailable, "hung up"),
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
    body = json.dumps({"error": {"code": 400, "message": "Unknown field responseJsonSchema"}}).encode()
    provider = GeminiProvider(odd(body, 400, "application/json"), "m", timeouts=SHORT)
    with pytest.raises(ModelRefused):
        ask(provider, talk(), schema={"type": "object"})
    _, config = provider._request(ChatCall(talk(), {"type": "object"}, 0.2, None, None))
    assert "response_json_schema" not in config
    assert config["response_mime_type"] == "application/json"


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


GOOGLE = {
    "GOOGLE_API_KEY": "AIza-somebody-elses-key",
    "GEMINI_API_KEY": "AIza-somebody-elses-key",
    "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
    "GOOGLE_VERTEX_BASE_URL": "http://127.0.0.1:9",
    "GOOGLE_GENAI_API_VERSION": "v9",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_GENAI_USE_ENTERPRISE": "true",
    "GOOGLE_GENAI_CLIENT_MODE": "replay",
    "GOOGLE_GENAI_REPLAYS_DIRECTORY": "/nowhere",
    "GOOGLE_GENAI_HTTP_CLIENT": "httpx2",
    "GOOGLE_CLOUD_PROJECT": "somebody-elses-project",
    "GOOGLE_CLOUD_LOCATION": "global",
    "GOOGLE_API_USE_MTLS_ENDPOINT": "always",
    "GOOGLE_API_USE_CLIENT_CERTIFICATE": "true",
    "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere.json",
}


def test_variables_that_the_sdk_knows_change_nothing(server, monkeypatch):
    for name, value in GOOGLE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    provider = GeminiProvider(server.url, MODEL, timeouts=SHORT, key_variable=KEY_VARIABLE)
    assert ask(provider, talk())[-1].text == REPLY
    assert provider.health().ok
    with pytest.raises(LLMError, match="not the address"):
        ask(GeminiProvider("", MODEL, timeouts=SHORT), talk())


def test_no_key_but_the_named_one_is_sent(folder, monkeypatch):
    monkeypatch.setenv("GOOGLE_API_KEY", "the-key-of-the-server")
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with (
        FakeModelServer(folder, tokens_per_s=0, key="the-key-of-the-server") as url,
        pytest.raises(ModelRefused) as caught,
    ):
        ask(GeminiProvider(url, MODEL, timeouts=SHORT, key_variable=KEY_VARIABLE), talk())
    assert caught.value.status == 403, "another status is for a wrong key"


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_the_sdk_repeats_nothing_on_its_own(server, status):
    server.faults.add("status", path="/v1beta:streamGenerateContent", status=status)
    with pytest.raises(LLMError):
        ask(GeminiProvider(server.url, MODEL, timeouts=SHORT), talk())
    assert len(server.requests) == 1


def test_a_stream_that_breaks_off_is_not_continued_by_the_sdk(odd):
    broken = said("a", continuationToken="dG9rZW4=")
    broken["candidates"][0]["continuationToken"] = "dG9rZW4="
    with pytest.raises(ModelUnavailable, match="hung up"):
        ask(GeminiProvider(odd(events(broken)), "m", timeouts=SHORT), talk())


def test_an_event_without_an_end_is_too_long(odd):
    with pytest.raises(ReplyTooLong):
        ask(GeminiProvider(odd(b"data: " + b"x" * 90_000), "m", timeouts=SHORT, max_reply_bytes=20_000), talk())


def test_what_the_sdk_does_not_know_yet_is_passed_over(odd):
    new = said("yes", "STOP", somethingNew=[1])
    new["candidates"][0] |= {"alsoNew": {"a": 1}}
    new["candidates"][0]["content"]["parts"].append({"thirdNew": "x"})
    assert ask(GeminiProvider(odd(events(new)), "m", timeouts=SHORT), talk())[-1].text == "yes"


def test_a_schema_is_sent_as_it_is(server):
    schema = {"$defs": {"Id": {"type": "string"}}, "type": "object", "properties": {"id": {"$ref": "#/$defs/Id"}}}
    ask(GeminiProvider(server.url, MODEL, timeouts=SHORT), talk(), schema=schema)
    settings = server.requests[0].body["generationConfig"]
    assert (settings["responseJsonSchema"], settings["responseMimeType"]) == (schema, "application/json")
