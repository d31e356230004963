"""A model that thinks too long is stopped, keeps its trace, and answers without thinking; over every protocol."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from agents.llm.base import Completion
from agents.llm.gemini import GeminiProvider
from agents.llm.ollama import OllamaProvider
from agents.llm.openai import OpenAIProvider
from agents.llm.thinking import ANSWER_NOW
from agents.llm.tokens import count_messages
from tests.agents.stand_in_server import send, stand_in

from .conftest import SHORT, talk
from .test_gemini import events
from .test_gemini import said as gemini_said
from .test_ollama import ask, ended, said
from .test_openai import chunks, word

LONG = ["step by step by step "] * 20
REFUSED = {"error": {"message": "Unknown parameter: chat_template_kwargs; thinking"}}


@pytest.fixture
def turns() -> Iterator[Callable[..., tuple[str, list[dict[str, Any]]]]]:
    """Servers that answer each POST with the next of the bodies: `turns(kind, *bodies)` gives address and requests.

    A number stands for a refusal.
    """
    with ExitStack() as servers:

        def make(kind: str, *bodies: bytes | int) -> tuple[str, list[dict[str, Any]]]:
            seen: list[dict[str, Any]] = []
            server = servers.enter_context(stand_in())

            def answer(handler: BaseHTTPRequestHandler) -> None:
                if handler.command == "GET":
                    return handler.send_error(404)
                seen.append(server.asked[-1].body)
                body = bodies[min(len(seen), len(bodies)) - 1]
                if isinstance(body, int):
                    return send(handler, REFUSED, body, Content_Type="application/json")
                send(handler, body, Content_Type=kind)

            server.answer = answer
            return server.url, seen

        yield make


def rows(*items: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


THINKS = rows(*[said("", thinking=piece) for piece in LONG], said("late"), ended())
ANSWERS = rows(said("yes"), ended())


def ollama(turns: Any, *bodies: bytes, **options: Any) -> tuple[OllamaProvider, list[dict[str, Any]]]:
    address, seen = turns("application/x-ndjson", *bodies)
    return OllamaProvider(address, "m", timeouts=SHORT, **options), seen


def answered(provider: Any) -> Completion:
    done = ask(provider, talk())[-1]
    assert isinstance(done, Completion)
    return done


def test_thoughts_over_the_budget_are_cut_off_and_the_answer_follows_from_them(turns):
    provider, seen = ollama(turns, THINKS, ANSWERS, thinking=50)
    done = answered(provider)
    assert done.text == "yes"
    assert done.thought.startswith(LONG[0])
    assert len(done.thought) < len("".join(LONG)), "it was stopped"
    assert ["think" in body for body in seen] == [False, True]
    assert seen[1]["think"] is False
    assert seen[1]["messages"][: len(talk())] == seen[0]["messages"], "the prefix stays, for the server's cache"
    assert seen[1]["messages"][-2:] == [
        {"role": "assistant", "content": done.thought},
        {"role": "user", "content": ANSWER_NOW},
    ]
    assert done.usage.prompt_tokens == 50 + count_messages(talk()), "both calls are paid for"
    assert done.usage.completion_tokens > 50


def test_thoughts_within_the_budget_are_kept_beside_the_answer(turns):
    provider, seen = ollama(turns, THINKS, thinking=5_000)
    done = answered(provider)
    assert (done.text, done.thought, len(seen)) == ("late", "".join(LONG), 1)


def test_a_reply_that_ended_in_thoughts_is_asked_for_once_more_without_a_budget_too(turns):
    used_up = rows(*[said("", thinking=piece) for piece in LONG], ended(done_reason="length"))
    provider, seen = ollama(turns, used_up, used_up)
    assert (answered(provider).text, len(seen)) == ("", 2), "once, not for ever"


def test_an_answer_that_was_cut_off_is_not_asked_for_again(turns):
    cut = rows(said("", thinking="hm"), said("def f("), ended(done_reason="length"))
    provider, seen = ollama(turns, cut)
    assert answered(provider).truncated
    assert len(seen) == 1


def test_thoughts_that_do_not_fit_the_window_are_left_out(turns):
    provider, seen = ollama(turns, THINKS, ANSWERS, thinking=50, window=count_messages(talk()) + 40)
    assert answered(provider).text == "yes"
    assert seen[1]["messages"] == seen[0]["messages"]


def test_a_budget_of_none_asks_for_no_thoughts_at_once(turns):
    provider, seen = ollama(turns, ANSWERS, thinking=0)
    assert answered(provider).text == "yes"
    assert [body["think"] for body in seen] == [False]


@pytest.mark.parametrize("first", ["<think>", "<th"], ids=["whole tag", "tag in pieces"])
def test_thoughts_in_the_text_count_too(turns, first):
    pieces = [first, "<think>"[len(first) :], *LONG]
    provider, _ = ollama(turns, rows(*[said(piece) for piece in pieces if piece], ended()), ANSWERS, thinking=50)
    done = answered(provider)
    assert done.text == "yes"
    assert LONG[0] in done.thought


def test_a_reply_that_begins_like_a_tag_has_no_thoughts(turns):
    provider, seen = ollama(turns, rows(*[said(piece) for piece in ("<", "file>", *LONG)], ended()), thinking=5)
    done = answered(provider)
    assert (done.text, done.thought, len(seen)) == ("<file>" + "".join(LONG), "", 1)


def test_a_compatible_server_gets_the_switches_that_it_takes(turns):
    thought = [{"choices": [{"index": 0, "delta": {"reasoning_content": piece}}]} for piece in LONG]
    address, seen = turns("text/event-stream", chunks(*thought, "[DONE]"), 400, chunks(word("yes", "stop"), "[DONE]"))
    assert answered(OpenAIProvider(address, "m", timeouts=SHORT, thinking=50)).text == "yes"
    assert [(body.get("reasoning_effort"), "chat_template_kwargs" in body) for body in seen] == [
        (None, False),
        ("none", True),
        ("none", False),
    ]


def test_gemini_keeps_the_budget_itself_unless_the_model_refuses_one(turns):
    address, seen = turns("text/event-stream", 400, events(gemini_said("yes", "STOP")))
    assert answered(GeminiProvider(address, "m", timeouts=SHORT, thinking=64)).text == "yes"
    # The SDK writes the inner name in the protocol's other spelling, which its JSON form allows.
    assert [body["generationConfig"].get("thinkingConfig") for body in seen] == [{"thinking_budget": 64}, None]
