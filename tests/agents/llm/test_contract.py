"""What every provider does, whatever protocol its server speaks: the same tests against all of them, over HTTP."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents.llm.base import (
    Cancelled,
    Completion,
    ContextTooLong,
    Delta,
    LLMError,
    ModelMissing,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    Provider,
    ReplyTooLong,
    Timeouts,
)
from agents.llm.registry import make_provider
from agents.llm.runner import ModelRunner
from tests.agents.llm.fake_servers import FakeModelServer
from tests.agents.llm.fake_servers.server import FakeHandler
from tests.waiting import eventually

from .conftest import MODEL, REPLY, SHORT, talk

pytestmark = pytest.mark.slow

QUICK = Timeouts(connect=2, first_token=0.4, idle=0.4, total=30)
UNICODE = "Größe – 日本語 🚀\n\n```python path=src/a.py\nname = 'ß日🚀'\n```\n"


@dataclass(frozen=True)
class Kind:
    """A provider, and where its calls arrive."""

    name: str
    chat: str
    embed: str
    path: str = ""

    def make(self, server: str, **options: Any) -> Provider:
        return make_provider(self.name, server=server + self.path, **{"model": MODEL, "timeouts": SHORT, **options})


KINDS = [
    Kind("ollama", "/api/chat", "/api/embed"),
    Kind("openai", "/v1/chat/completions", "/v1/embeddings"),
    Kind("gemini", "/v1beta:streamGenerateContent", "/v1beta:batchEmbedContents"),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def model(kind: Kind, server: FakeModelServer) -> Provider:
    return kind.make(server.url)


def ask(provider: Provider, *args: Any, **options: Any) -> list[Delta | Completion]:
    async def go() -> list[Delta | Completion]:
        try:
            return [item async for item in provider.stream(*args, **options)]
        finally:
            await provider.aclose()

    return asyncio.run(go())


def test_deltas_come_before_one_completion_and_add_up_to_its_text(model):
    assert not model.recorded
    *deltas, last = ask(model, talk())
    assert isinstance(last, Completion)
    assert all(isinstance(delta, Delta) for delta in deltas)
    assert "".join(delta.text for delta in deltas) == last.text == REPLY
    assert (last.done_reason, last.truncated, last.recorded) == ("stop", False, True)
    assert model.recorded


def test_usage_is_what_the_server_counted(model, server):
    usage = ask(model, talk())[-1].usage
    seen = server.requests[0]
    assert usage.model == MODEL
    assert (usage.prompt_tokens, usage.completion_tokens) == (seen.prompt_tokens, seen.reply_tokens)
    assert usage.prompt_tokens > 20
    assert not usage.estimated
    assert usage.tokens_per_s > 0


def test_the_speed_is_measured_from_the_first_word_on(kind, folder):
    async def timed(provider: Provider) -> list[tuple[float, Delta | Completion]]:
        try:
            return [(time.monotonic(), item) async for item in provider.stream(talk())]
        finally:
            await provider.aclose()

    with FakeModelServer(folder, tokens_per_s=100) as url:
        found = asyncio.run(timed(kind.make(url)))
    (first, _), (end, last) = found[0], found[-1]
    # On a busy machine the words come more slowly than 100 a second, here as there.
    assert 0.7 * last.usage.completion_tokens / (end - first) < last.usage.tokens_per_s < 160


def test_all_turns_and_the_options_arrive(model, server):
    grown = [*talk(), {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Step: repair\nIt fails."}]
    ask(model, grown, temperature=0.7, seed=11, max_tokens=900)
    body = server.requests[0].body
    settings = body.get("options") or body.get("generationConfig") or body
    assert settings["temperature"] == 0.7
    assert settings["seed"] == 11
    assert 900 in settings.values()
    assert server.requests[0].file == "T-01/coder-repair.md"


def test_where_a_turn_is_from_stays_here(model, server):
    ask(model, [{**turn, "sources": ["document"]} for turn in talk()])
    assert "sources" not in str(server.requests[0].body)


def test_a_reply_cut_by_the_token_limit_says_so(model):
    last = ask(model, talk(), max_tokens=4)[-1]
    assert last.truncated
    assert REPLY.startswith(last.text)
    assert last.usage.completion_tokens == 4


def test_a_schema_is_sent_and_the_reply_comes_as_text(model, server):
    schema = {"type": "object", "properties": {"tasks": {"type": "array", "items": {"type": "string"}}}}
    last = ask(model, talk("decompose", task="", persona="planner"), schema=schema)[-1]
    assert last.text == '{"tasks": []}\n'
    assert "tasks" in str(
        {key: part for key, part in server.requests[0].body.items() if "format" in key or "Config" in key}
    )


@pytest.mark.parametrize("fault", ["half_char", "keep_alive"])
def test_pieces_of_characters_and_comments_are_put_together(kind, folder, fault):
    (folder / "T-01" / "coder-code.md").write_text(UNICODE, encoding="utf-8")
    with FakeModelServer(folder, tokens_per_s=0) as url:
        provider = kind.make(url)
        broken = FakeModelServer(folder, tokens_per_s=0)
        with broken as other:
            broken.faults.add(fault, path=kind.chat)
            assert ask(kind.make(other), talk())[-1].text == UNICODE
        assert ask(provider, talk())[-1].text == UNICODE


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        ("close", ModelUnavailable, "broke off"),
        ("cut", ModelUnavailable, "hung up|broke off"),
        ("garbage", ModelUnavailable, "not its protocol"),
        ("half_json", ModelUnavailable, "not its protocol"),
        ("error_line", ModelUnavailable, "llama runner"),
        ("flood", ReplyTooLong, "2000000 bytes"),
    ],
)
def test_a_broken_reply_is_a_typed_error(kind, model, server, fault, error, words):
    server.faults.add(fault, path=kind.chat)
    with pytest.raises(error, match=words):
        ask(model, talk())


@pytest.mark.parametrize(("fault", "after", "stage"), [("hang", 0, "first_token"), ("stall", 3, "idle")])
def test_silence_names_its_stage_and_the_server_sees_the_hang_up(kind, server, fault, after, stage):
    server.faults.add(fault, path=kind.chat, after=after)
    limits = {"first_token": 60.0, "idle": 60.0, "total": 120.0, stage: 0.4}
    with pytest.raises(ModelTimeout) as caught:
        ask(kind.make(server.url, timeouts=Timeouts(connect=2, **limits)), talk())
    assert caught.value.stage == stage
    assert eventually(lambda: server.requests[-1].outcome == "disconnected")


def test_silence_after_the_headers_ends_too(kind, server):
    server.faults.add("stall", path=kind.chat, after=0)
    with pytest.raises(ModelTimeout):
        ask(kind.make(server.url, timeouts=QUICK), talk())


def test_a_dripping_reply_ends_at_the_total_limit(kind, server):
    server.faults.add("drip", path=kind.chat, seconds=0.1)
    with pytest.raises(ModelTimeout) as caught:
        ask(kind.make(server.url, timeouts=Timeouts(first_token=5, idle=5, total=0.6)), talk())
    assert caught.value.stage == "total"


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_keeps_its_retry_after(kind, model, server, status):
    server.faults.add("status", path=kind.chat, status=status, retry_after=7)
    with pytest.raises(ModelUnavailable) as caught:
        ask(model, talk())
    assert caught.value.retry_after == 7


def test_a_missing_model_is_named(kind, server):
    with pytest.raises(ModelMissing, match="llama9") as caught:
        ask(kind.make(server.url, model="llama9-1b"), talk())
    assert caught.value.model == "llama9-1b"
    assert caught.value.hint


def test_a_conversation_over_the_window_is_refused_by_the_server(kind, folder):
    with FakeModelServer(folder, tokens_per_s=0, window=64) as url, pytest.raises(ContextTooLong):
        ask(kind.make(url), [*talk(), {"role": "assistant", "content": "word " * 500}])


def test_a_refusal_that_waiting_does_not_cure_says_why(model):
    with pytest.raises(ModelRefused, match=r"T-01/coder-dance\.md is missing"):
        ask(model, talk("dance"))


def test_nobody_at_the_address_is_unavailable(kind):
    with pytest.raises(ModelUnavailable, match="No model server answers at"):
        ask(kind.make("http://127.0.0.1:9"), talk())


@pytest.mark.parametrize("address", ["http://", "nonsense://x", "http://127.0.0.1:notaport", ""])
def test_a_senseless_address_is_one_of_our_errors(kind, address):
    with pytest.raises(LLMError):
        ask(make_provider(kind.name, server=address, model=MODEL, timeouts=SHORT), talk())


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "http://", "nonsense", "http://127.0.0.1:notaport"])
def test_health_never_raises(kind, address):
    health = make_provider(kind.name, server=address, model=MODEL, timeouts=Timeouts(connect=0.5)).health()
    assert not health.ok
    assert health.problem
    assert health.hint


def test_health_tells_models_and_window(model):
    health = model.health()
    assert (health.ok, health.models, health.context_length, health.recorded) == (True, (MODEL,), 32768, True)


def test_health_of_a_missing_model_says_so(kind, server):
    health = kind.make(server.url, model="other-1b").health()
    assert not health.ok
    assert "other-1b" in health.problem
    assert health.hint


def test_embeddings_come_in_the_order_of_the_texts(kind, server):
    async def go() -> list[list[float]]:
        provider = kind.make(server.url)
        try:
            return await provider.embed(["sum of a list", "the sum of a list", "login page colours"])
        finally:
            await provider.aclose()

    same, near, far = asyncio.run(go())

    def dot(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert len(same) == 256
    assert dot(same, near) > dot(same, far)


def test_a_redirect_is_not_followed_to_another_machine(kind, model, folder: Path, monkeypatch):
    with FakeModelServer(folder, tokens_per_s=0) as elsewhere:

        def away(http: FakeHandler, *_: object) -> None:
            http.send_json(307, {}, {"Location": f"{elsewhere}{http.path}"})

        monkeypatch.setattr(FakeHandler, "chat", away)
        with pytest.raises(LLMError):
            ask(model, talk())


def test_proxy_settings_of_the_environment_are_not_used(model, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert ask(model, talk())[-1].text == REPLY
    assert model.health().ok


def test_a_call_stopped_in_mid_sentence_hangs_up(kind, runner, folder):
    slow = FakeModelServer(folder, tokens_per_s=5)
    shown: list[str] = []
    with slow as url, pytest.raises(Cancelled):
        runner.complete(kind.make(url), talk(), on_delta=shown.append, cancelled=lambda: bool(shown))
    assert shown
    assert eventually(lambda: slow.requests[-1].outcome == "disconnected")
    assert slow.requests[-1].reply_tokens < 20


@pytest.mark.parametrize("fault", ["close", "cut", "garbage", "half_json", "error_line", "hang", "stall"])
def test_a_call_survives_one_fault(kind, runner, server, fault):
    server.faults.add(fault, path=kind.chat)
    errors: list[Exception] = []
    patient = Timeouts(connect=2, first_token=2, idle=2, total=60)  # the second call is in time on a busy machine too
    completion = runner.complete(kind.make(server.url, timeouts=patient), talk(), on_retry=errors.append)
    assert completion.text == REPLY
    assert len(errors) == 1


def test_a_server_that_keeps_failing_is_left_alone(kind, model, server):
    with ModelRunner(attempts=1, breaker_failures=2, breaker_cooldown=30) as runner:
        server.faults.add("status", path=kind.chat, times=3)
        for _ in range(2):
            with pytest.raises(ModelUnavailable):
                runner.complete(model, talk())
        before = len(server.requests)
        with pytest.raises(ModelUnavailable, match="next try"):
            runner.complete(model, talk())
        assert len(server.requests) == before


def test_connections_are_used_again(kind, runner, server):
    provider = kind.make(server.url)
    for _ in range(3):
        runner.complete(provider, talk())
    ports = {seen.port for seen in server.requests if seen.path.startswith(("/api/chat", "/v1"))}
    assert len(ports) == 1
