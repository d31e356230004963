"""A long conversation as it is really sent: never over the window, its pinned parts whole, the ledger adding up."""

import pytest

from agents.context.documents import HEADING
from agents.engine.ask import ask
from agents.llm.base import Completion, ContextTooLong, Timeouts, TokenUsage
from agents.llm.runner import ModelRunner
from agents.llm.tokens import count_messages
from agents.personas import CODER
from agents.prompts.provenance import Material, Source, as_turn, joined, label
from tests.agents.context.prompts import head, repair
from tests.agents.engine.nodes.support import MemoryEventLog, question

WINDOW = 16_384
PINNED = {
    "rules": "Money is counted in cents.",
    "description": "Add up a basket.",
    "requirements": "- FR-01: It adds.\n  - 2 + 3 is 5",
    "note": "Mind the empty basket.",
    "tests": "assert total([2, 3]) == 5\n" * 40,
}


class Counting:
    """A model that counts what it is sent and writes a long answer."""

    name, model, server, window, recorded, timeouts = "counting", "m", "http://127.0.0.1:9", WINDOW, True, Timeouts()

    def __init__(self):
        self.sent = []

    async def stream(self, messages, **_):
        self.sent.append(list(messages))
        text = f"## Diagnosis\nCause: cause {len(self.sent)}\n\n```python path=a.py\n{'y = 1; ' * 400}\n```"
        yield Completion(text, TokenUsage(count_messages(messages), 900, 0.1, 0.1, "m"), "stop")

    async def embed(self, texts):
        return []

    async def aclose(self): ...


@pytest.fixture
def runner():
    with ModelRunner(attempts=1) as made:
        yield made


def opening(files=12_000):
    """The first messages, with every part there is."""
    material = joined(
        [
            label("old = 1\n" * (files // 8), Source.REPOSITORY, "path=a.py"),
            "Code of other files that fits the task:",
            label("def near(): ...\n" * 100, Source.REPOSITORY),
            "Map of the rest (signatures):",
            label("b.py:\n  def far()\n" * 60, Source.REPOSITORY),
            HEADING,
            label("Sums are made with add(a, b).\n" * 60, Source.PACKAGE, "path=docs/sums.md section=Sums"),
            "Library signatures:",
            label("sums.add(a, b)\n" * 40, Source.PACKAGE),
        ]
    )
    system, first = head(**PINNED, lessons="- rounding → use cents\n" * 20)
    at = first["content"].index("\nThe tests that your code must pass")
    content = f"{first['content'][:at]}\nFiles that exist already:\n{material}\n{first['content'][at:]}"
    return [system, as_turn("user", Material(content, {Source.UNKNOWN, *material.sources}))]


def talk(runner, turns, messages):
    event_log, provider = MemoryEventLog(), Counting()
    for turn in range(turns):
        said = ask(question(event_log, runner, provider, messages, step="repair", key=f"k{turn}"))
        trace = f"E  failure number {turn}\n" + "E  more of it\n" * 60
        messages = [*messages, as_turn("assistant", said.text), repair(trace, f"word {turn}!" if turn % 4 == 0 else "")]
    return event_log, provider


@pytest.mark.slow
def test_every_call_fits_and_holds_what_is_pinned_word_for_word(runner):
    event_log, provider = talk(runner, 14, opening())
    assert len(provider.sent) == 14
    shortenings = [event["payload"] for event in event_log.of("context.compacted")]
    assert len(shortenings) > 5
    for told in shortenings:
        assert all(before > after >= 0 for before, after in told["parts"].values())
        assert "conversation" in told["parts"] or "map" in told["parts"]
    for turn, messages in enumerate(provider.sent):
        assert count_messages(messages) + CODER.max_tokens <= WINDOW
        shown = "\n".join(message["content"] for message in messages)
        for name, text in PINNED.items():
            assert text.rstrip() in shown, (turn, name)
        for earlier in range(0, turn, 4):
            assert f"- word {earlier}!" in shown
        if turn:
            assert f"E  failure number {turn - 1}\n" in shown


@pytest.mark.slow
def test_the_canary_has_its_place_in_the_window_too(runner):
    messages, provider = opening(), Counting()
    for turn in range(14):
        asked = question(
            MemoryEventLog(), runner, provider, messages, key=f"k{turn}", canary="aiswe-canary-" + "0f" * 16
        )
        said = ask(asked)
        messages = [*messages, as_turn("assistant", said.text), repair("E  a failure\n" + "E  more of it\n" * 60)]
    assert all(count_messages(sent) + CODER.max_tokens <= WINDOW for sent in provider.sent)
    assert any("aiswe-canary-" in sent[0]["content"] for sent in provider.sent)


def test_the_ledger_of_every_call_adds_up(runner):
    event_log, _ = talk(runner, 10, opening(files=4_000))
    calls = [event["payload"] for event in event_log.of("llm.usage")]
    assert len(calls) == 10
    for call in calls:
        assert sum(call["filled_by"].values()) == call["prompt_tokens"]
    everything = "system task requirements people lessons files retrieved map documentation libraries tests".split()
    assert {"house rules", *everything} <= set(calls[0]["filled_by"])
    assert {"summary", "trace", "tests"} <= set(calls[-1]["filled_by"])


def test_what_cannot_be_shortened_enough_is_not_sent(runner):
    provider = Counting()
    with pytest.raises(ContextTooLong):
        ask(question(MemoryEventLog(), runner, provider, head(tests="assert total([2, 3]) == 5\n" * 4_000)))
    assert provider.sent == []
