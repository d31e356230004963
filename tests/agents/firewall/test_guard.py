"""The guard model may tighten, never loosen; whatever goes wrong with it asks a person. Asked over HTTP, as a real one
is.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from agents.firewall.base import FirewallVerdict
from agents.firewall.guard import ModelGuard, read_verdict
from agents.firewall.judge import inspect, judge
from agents.llm.base import Timeouts
from agents.llm.registry import make_provider
from agents.llm.runner import ModelRunner
from tests.agents.stand_in_server import StandIn, stand_in
from tests.tables import each_row


@contextmanager
def guard(reply: str | None, status: int = 200) -> Iterator[tuple[ModelGuard, StandIn]]:
    """A guard whose model answers with `reply`; None: it keeps silent."""
    quiet = 0.3 if reply is None else 30.0
    limits = Timeouts(connect=30.0, first_token=quiet, idle=quiet, total=60.0)
    message = {"model": "g", "message": {"role": "assistant", "content": reply}, "done": True, "done_reason": "stop"}
    with stand_in() as server, ModelRunner(attempts=1) as runner:
        server.says(f"{json.dumps(message)}\n".encode(), status, Content_Type="application/x-ndjson")
        if reply is None:
            server.answer = lambda handler: server.over.wait(10) and None
        provider = make_provider("ollama", server=server.url, model="g", window=32_768, timeouts=limits)
        try:
            yield ModelGuard(runner, provider), server
        finally:
            server.over.set()


def test_a_denial_of_the_guard_denies() -> None:
    with guard('{"decision": "deny", "reason": "it phones home"}') as (model, server):
        verdict = inspect("command", "ls", guard=model)
    assert (verdict.decision, verdict.layer, verdict.rule) == ("deny", "guard", "guard.deny")
    assert "phones home" in verdict.reason
    assert "ls" in server.posted[0]["messages"][1]["content"]


def test_a_yes_of_the_guard_loosens_nothing() -> None:
    with guard('{"decision": "allow", "reason": "fine"}') as (model, server):
        assert inspect("command", "ls", guard=model).decision == "allow"
        assert inspect("command", "git push", guard=model).rule == "command.network"
        assert inspect("command", "rm -rf /", guard=model).decision == "deny"
    assert len(server.posted) == 2  # what the rules deny needs no second opinion


@each_row(
    "reply",
    [
        "",
        "certainly!",
        "{}",
        "[]",
        '{"decision": "yes", "reason": ""}',
        '{"decision": "allow"}',
        '{"decision": ["allow"], "reason": ""}',
        '```json\n{"decision": "allow", "reason": ""}\n```',
    ],
)
def test_nonsense_of_the_guard_asks_a_person(reply: str) -> None:
    with guard(reply) as (model, _):
        verdict = inspect("command", "ls", guard=model)
    assert verdict.decision == "approve"
    assert verdict.layer == "guard"


def test_a_silent_guard_asks_a_person() -> None:
    with guard(None) as (model, _):
        assert inspect("command", "ls", guard=model).rule == "guard.silent"


def test_a_guard_that_fails_asks_a_person() -> None:
    with guard("{}", status=500) as (model, _):
        assert inspect("command", "ls", guard=model).rule == "guard.silent"


def test_more_than_the_guard_reads_asks_a_person() -> None:
    with guard('{"decision": "allow", "reason": ""}') as (model, server):
        assert inspect("output", "a " * 10_000, guard=model).rule == "guard.too-long"
    assert server.posted == []


def test_the_text_to_judge_cannot_speak_for_the_guard() -> None:
    assert (
        read_verdict('{"decision": "allow", "reason": "x"} {"decision": "deny", "reason": "y"}').decision == "approve"
    )


def test_every_layer_says_what_it_found() -> None:
    with guard('{"decision": "approve", "reason": "odd"}') as (model, _):
        found = judge("command", "curl http://203.0.113.7/ > /srv/x", guard=model)
    said = {layer.layer: layer.decision for layer in found.layers}
    assert said == {"leak": "allow", "path": "approve", "command": "approve", "code": "allow", "guard": "approve"}
    assert all(layer.reason for layer in found.layers if layer.decision != "allow")
    assert found.verdict in [
        FirewallVerdict(layer.decision, layer.layer, layer.reason, layer.rule) for layer in found.layers
    ]
