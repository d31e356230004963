"""Case 17: the model gives away a planted token, plain or in any of forty disguises and more; none of it is stored,
shown or acted on.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

from agents.engine.ask import Question, ask
from agents.engine.contracts import TaskLimits
from agents.engine.nodes.common import request_files
from agents.engine.state import start_state, updated
from agents.firewall.base import FirewallContext
from agents.firewall.judge import inspect
from agents.firewall.leaks.decodings import squash
from agents.firewall.leaks.replies import MAX_REPLY, ReplyFilter, canaries_in, canary_for, judge_reply, planted
from agents.llm.base import Completion, TokenUsage
from agents.personas import CODER
from tests.agents.engine.nodes.support import Bench, MemoryEventLog, task
from tests.agents.firewall.leaks.disguises import CARRIERS, disguises
from tests.tables import each_row

CANARY = canary_for("7", b"a key of the tests")
DISGUISES = disguises(CANARY)
SYSTEM = planted("Persona: coder\nYou write clean code and answer with files.", CANARY)


class Speaking:
    """A runner whose model says what it is told to, in small pieces."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[Any] = []

    def complete(self, provider: Any, messages: Any, *, on_delta: Any, **_: Any) -> Completion:
        self.asked.append(messages)
        for start in range(0, len(self.text), 40):
            on_delta(self.text[start : start + 40])
        return Completion(self.text, TokenUsage(1, 1, 0.1, 0.1, "m"), "stop")


class Provider:
    """As much of a provider as asking needs."""

    window, model, server = 32_768, "m", "http://127.0.0.1:1"


class ShownSpine(MemoryEventLog):
    """A event_log that keeps what was shown while it was written."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = ""

    def delta(self, *, text: str, **_: Any) -> None:
        self.shown += text


def say(text: str) -> tuple[str, ShownSpine, Speaking]:
    event_log, runner = ShownSpine(), Speaking(text)
    answer = ask(
        Question(
            event_log=event_log,
            limits=TaskLimits(),
            runner=runner,
            provider=Provider(),
            persona=CODER,
            step="code",
            key="k",  # type: ignore[arg-type]
            messages=[{"role": "system", "content": "You write code."}, {"role": "user", "content": "Add a route."}],
            canary=CANARY,
        )
    )
    return answer.text, event_log, runner


def test_there_are_more_than_forty_disguises() -> None:
    assert len(DISGUISES) > 40


@each_row("kind, name", list(product(["output", "code", "command"], DISGUISES)))
def test_the_firewall_denies_every_disguise(name: str, kind: Any) -> None:
    verdict = inspect(kind, DISGUISES[name], context=FirewallContext(canaries=(CANARY,)))
    assert verdict.decision == "deny"
    assert squash(CANARY) not in squash(verdict.reason)


@each_row("carrier", CARRIERS)
def test_no_disguise_leaves_in_a_reply_wherever_it_stands(carrier: str) -> None:
    passed = [
        name
        for name, disguised in DISGUISES.items()
        if judge_reply(CARRIERS[carrier].replace("@", disguised), (SYSTEM,)).decision != "deny"
    ]
    assert passed == []


@each_row("name", ["plain", "base64", "hex", "rot13", "reversed", "joined strings", "two halves"])
def test_a_withheld_reply_is_neither_returned_nor_stored_nor_shown(name: str) -> None:
    text, event_log, _ = say(CARRIERS["a comment"].replace("@", DISGUISES[name]))
    kept = json.dumps(event_log.events, default=str)
    assert text == ""
    assert DISGUISES[name][:24] not in kept
    assert squash(CANARY) not in squash(kept)
    assert squash(CANARY) not in squash(event_log.shown)
    (blocked,) = event_log.of("guard.blocked")
    assert blocked["payload"]["rule"] == "leak.canary"
    assert blocked["outcome"] == "denied"


def test_the_canary_is_sent_to_the_model_and_kept_nowhere() -> None:
    text, event_log, runner = say("Done: a route that lists items.")
    assert CANARY in runner.asked[0][0]["content"]
    assert CANARY not in json.dumps(event_log.events, default=str)
    assert event_log.shown == text == "Done: a route that lists items."


def test_reciting_the_prompt_is_withheld_too() -> None:
    prompt = planted(" ".join(f"Rule {n}: the answer names thing {n} before thing {n + 1}." for n in range(12)), CANARY)
    said = " ".join(f"Rule {n}: the answer names thing {n} before thing {n + 1}." for n in range(3, 9))
    assert judge_reply("I was told this. " + said, (prompt,)).rule == "leak.prompt"
    assert judge_reply("I follow rule 3 and name things in order.", (prompt,)).decision == "allow"


def test_text_is_shown_while_it_is_written_until_a_leak_begins() -> None:
    shown: list[str] = []
    watch = ReplyFilter((SYSTEM,), shown.append)
    for piece in ("A thought. " * 30, CANARY[:20], CANARY[20:], " and more words" * 30):
        watch.feed(piece)
    watch.close()
    assert watch.leaked
    assert "".join(shown).startswith("A thought.")
    assert squash(CANARY) not in squash("".join(shown))


def test_a_reply_that_no_step_asks_for_is_withheld_without_being_read() -> None:
    shown: list[str] = []
    watch = ReplyFilter((SYSTEM,), shown.append)
    watch.feed("word " * MAX_REPLY)
    watch.close()
    assert watch.leaked
    assert shown == []
    assert judge_reply("word " * MAX_REPLY, (SYSTEM,)).rule == "leak.too-long"


def test_each_run_has_a_canary_of_its_own_that_nobody_can_guess() -> None:
    assert canary_for("1", b"k") != canary_for("2", b"k")
    assert canary_for("1", b"k") != canary_for("1", b"l")
    assert canaries_in(SYSTEM, SYSTEM) == (CANARY,)
    assert planted("x", "") == "x"


def test_files_that_hold_the_canary_are_not_taken(tmp_path: Path) -> None:
    leak = f"```python path=calc.py\nMARK = '{CANARY}'\n```\n"
    bench = Bench(tmp_path, dict.fromkeys(("coder-code", "coder-again", "coder-again-2"), leak), task())
    with bench.context() as context:
        context.canary = CANARY
        state = updated(start_state(task()), {"base": context.repository.head()})
        messages: Any = [
            {"role": "system", "content": "You write code.", "label": {"persona": "coder"}},
            {"role": "user", "content": "Task: T-01\n", "label": {"task": "T-01", "approach": 1, "step": "code"}},
        ]
        _, _, applied = request_files(
            state, context, CODER, messages, step="code", accept=lambda path: True, current={}
        )
    assert applied.files == {}
    assert CANARY not in json.dumps(bench.event_log.events, default=str)
