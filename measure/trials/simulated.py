"""A model with known weaknesses, to measure the scaffold around it alone: no weights, no luck, the same every time.

From a task's reference answer it makes mistakes (agents/languages/python/mutants.py) that really fail the task's tests:

- a new conversation gets the right answer with probability `p`, else a mistake;
- a later turn gets it with probability `q`, and only if the turn holds what the failing test said of the last mistake;
  without it the turn is a new draw with probability `p`;
- it holds on to itself with probability `r`. `repeats="opening"` (the default): with probability `r` an opening (system
  prompt and first message) is one that it answers the same way however often it is asked, as models sampled at low
  temperature do; another opening is another draw. `repeats="call"`: each call after a task's first is, with probability
  `r`, the last answer again, whatever was asked;
- when the newest turn shows lessons, it follows the first one with probability `h`, if that names a kind of mistake
  (measure/trials/kinds.py). The kind of the mistake that it is about to make, or has just made: the answer is right.
  Another kind: the answer is wrong, even where it would have been right. So memory helps as far as retrieval chooses
  well.

Its diagnosis names the kind of its last mistake when it cures it. Asked afterwards why a version failed, with the trace
and what the cure changed before it, it names the right kind with probability `e`, else another one. Everything is drawn
from (seed, task, opening without lessons, turn, how often this turn was asked for): the same trial gives the same
replies in any order, and two trials that differ only in what they remember are the same but for that.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.languages.registry import language_of
from agents.llm.base import Completion, Delta, Health, Message, Timeouts, TokenUsage
from agents.llm.tokens import count_messages, count_tokens
from agents.prompts.render import quoted
from measure.trials.datasets import TrialTask
from measure.trials.hints import lessons_in, without_lessons
from measure.trials.kinds import KINDS, kind_in

WINDOW = 32_768
WORDS_PER_TOKEN_S = 1e9  # it answers at once


def _label(path: str) -> str:
    spoken = language_of(path)
    return spoken.labels[0] if spoken else "text"


@dataclass(frozen=True)
class Weakness:
    """How often it is right at once, repairs, repeats itself, and heeds a lesson."""

    p: float = 0.45
    q: float = 0.5
    r: float = 0.3
    seed: int = 1
    repeats: str = "opening"
    h: float = 0.0
    e: float = 0.8

    @property
    def text(self) -> str:
        """The same in words, whole but for the seed; `e` is named when it is not the usual one."""
        e = "" if self.e == Weakness.e else f",e={self.e:g}"
        return f"p={self.p:g},q={self.q:g},r={self.r:g},h={self.h:g}{e},repeats={self.repeats}"

    @classmethod
    def parse(cls, text: str) -> Weakness:
        """From "p=0.45,q=0.5,r=0.3,seed=1,h=0.5,e=0.8,repeats=call"; what is left out keeps its default.

        Raises ValueError.
        """
        found = cls()
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, equals, value = part.partition("=")
            if name not in ("p", "q", "r", "h", "e", "seed", "repeats") or not equals:
                raise ValueError(f"{part!r} is not one of p=, q=, r=, h=, e=, seed=, repeats=")
            if name == "repeats":
                if value not in ("opening", "call"):
                    raise ValueError(f"repeats={value!r}: it is opening or call")
                found = replace(found, repeats=value)
            elif name == "seed":
                found = replace(found, seed=int(value))
            else:
                share = float(value)
                if not 0.0 <= share <= 1.0:
                    raise ValueError(f"{name}={value}: a probability is between 0 and 1")
                shares: dict[str, Any] = {name: share}
                found = replace(found, **shares)
        return found


@dataclass(frozen=True)
class Mistake:
    """A wrong answer, words of the failing test that tell of it, and which kind of mistake it is."""

    files: Mapping[str, str]
    words: tuple[str, ...]
    kind: str = ""


@dataclass(frozen=True)
class _Answer:
    """What it says: a mistake's number or None for right, and what it gives as the reason."""

    number: int | None
    cause: str = "the last version does not do what the test asks"
    plan: str = "replace the file"
    evidence: str = "the failing assertion"


@dataclass(eq=False)
class SimulatedProvider:
    """Implements agents.llm.base.Provider for one task."""

    task: TrialTask
    mistakes: Sequence[Mistake]
    weakness: Weakness
    name: str = "simulated"
    model: str = "simulated"
    server: str = "simulated"
    window: int = WINDOW
    recorded: bool = True
    timeouts: Timeouts = field(default_factory=Timeouts)
    _last: int | None = None  # what the call before answered, of whichever conversation
    _calls: int = 0
    _asked: Counter[tuple[str, int]] = field(default_factory=Counter)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        temperature: float = 0.2,
        seed: int | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[Delta | Completion]:
        """Answer at once."""
        if schema is not None and {"cause", "fix"} <= set(schema.get("properties", {})):
            text = self._explain(messages[-1]["content"])
        else:
            answer = self._choose(messages)
            self._last, self._calls = answer.number, self._calls + 1
            text = self._write(answer, len(messages) > 2)
        yield Delta(text)
        written = count_tokens(text)
        usage = TokenUsage(count_messages(messages), written, 0.0, written / WORDS_PER_TOKEN_S, self.model)
        yield Completion(text, usage, "stop", recorded=True)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """It has no embeddings."""
        return [[0.0] for _ in texts]

    async def aclose(self) -> None:
        """Nothing is open."""

    def health(self) -> Health:
        """Always there."""
        return Health(True, "simulated", recorded=True)

    def _choose(self, messages: Sequence[Message]) -> _Answer:
        if not self.mistakes:
            return _Answer(None)
        weak, turn = self.weakness, sum(message["role"] == "assistant" for message in messages)
        asked = "\0".join(without_lessons(message["content"]) for message in messages[:2])
        approach = next((label["approach"] for turn in messages if "approach" in (label := turn.get("label", {}))), 1)
        opening = hashlib.sha256(f"{asked}\0{approach}".encode()).hexdigest()
        salt = f"{opening}/{turn}/{self._asked[opening, turn]}"
        self._asked[opening, turn] += 1
        if weak.repeats == "opening" and self._draw(opening, "holds on") < weak.r:
            return self._open(messages[1]["content"], opening, "always")
        if weak.repeats == "call" and self._calls and self._draw(self._calls, "repeats") < weak.r:
            return _Answer(self._last)
        if not turn:
            return self._open(messages[1]["content"], salt, "draws")
        before = next(message["content"] for message in reversed(messages) if message["role"] == "assistant")
        if self._blocks(None) in before:
            return _Answer(None)  # it was right already
        made = next((at for at in range(len(self.mistakes)) if self._blocks(at) in before), None)
        return _Answer(self._fresh(salt, "draws")) if made is None else self._again(messages[-1]["content"], made, salt)

    def _open(self, asked: str, *salt: str) -> _Answer:
        """The first answer of a conversation."""
        number, heeded = self._fresh(*salt), self._heeds(asked, *salt)
        if not heeded:
            return _Answer(number)
        trap = self._mistake(*salt, other_than=None)
        return _Answer(None if self.mistakes[trap].kind == heeded else trap)

    def _again(self, asked: str, made: int, salt: str) -> _Answer:
        """The answer after a mistake."""
        mistake, heeded, told = self.mistakes[made], self._heeds(asked, salt), self._told(asked, self.mistakes[made])
        if heeded:
            right = heeded == mistake.kind
        elif told:
            right = self._draw(salt, "repairs") < self.weakness.q
        else:
            return _Answer(self._fresh(salt, "draws"))
        evidence = mistake.words[0] if told else _Answer.evidence
        if right:
            kind = KINDS.get(mistake.kind)
            return _Answer(None, kind.cause, kind.fix, evidence) if kind else _Answer(None, evidence=evidence)
        number = self._mistake(salt, other_than=made)
        return _Answer(number, f"{_Answer.cause} (idea {number + 1})", evidence=evidence)

    def _heeds(self, asked: str, *salt: str) -> str:
        """The kind of mistake that the first lesson of the turn names, when it follows it; else ""."""
        lessons = lessons_in(asked) if self.weakness.h else []
        return kind_in(lessons[0]) if lessons and self._draw(*salt, "heeds") < self.weakness.h else ""

    def _fresh(self, *salt: str) -> int | None:
        return None if self._draw(*salt, "right") < self.weakness.p else self._mistake(*salt, other_than=None)

    def _mistake(self, *salt: str, other_than: int | None) -> int:
        choices = [at for at in range(len(self.mistakes)) if at != other_than] or [0]
        return choices[int(self._draw(*salt, "mistake") * len(choices))]

    def _draw(self, *salt: object) -> float:
        text = "/".join(map(str, (self.weakness.seed, self.task.id, *salt)))
        return random.Random(text).random()  # noqa: S311 - a draw that can be repeated, no secret

    @staticmethod
    def _told(prompt: str, mistake: Mistake) -> bool:
        squeezed = " ".join(prompt.split())
        return any(words in squeezed for words in mistake.words)

    def _explain(self, asked: str) -> str:
        """Why a version failed, read from its trace and what the cure changed: right with probability `e`."""
        lines = {line[1:].strip() for line in asked.splitlines() if line.startswith("-")}
        made = [one for one in self.mistakes if one.kind and self._taken_out(one) <= lines and self._told(asked, one)]
        if not made:
            return json.dumps({"cause": "", "fix": ""})
        others = sorted({one.kind for one in self.mistakes if one.kind} - {made[0].kind}) or [made[0].kind]
        right = self._draw("explains", made[0].words[0]) < self.weakness.e
        kind = KINDS[made[0].kind if right else others[int(self._draw("errs", made[0].words[0]) * len(others))]]
        return json.dumps({"cause": f"{kind.cause} in {min(self.task.reference)}", "fix": kind.fix})

    def _taken_out(self, mistake: Mistake) -> set[str]:
        right = {line.strip() for text in self.task.reference.values() for line in text.splitlines()}
        return {line.strip() for text in mistake.files.values() for line in text.splitlines()} - right

    def _blocks(self, number: int | None) -> str:
        files = self.task.reference if number is None else self.mistakes[number].files
        return "\n\n".join(quoted(text, f"{_label(path)} path={path}") for path, text in sorted(files.items()))

    def _write(self, answer: _Answer, repairing: bool) -> str:
        head = (
            f"## Diagnosis\nCause: {answer.cause}.\nEvidence: {answer.evidence}\n"
            f"Hypothesis: the version below does.\nPlan: {answer.plan}.\n\n"
        )
        return f"{head if repairing else ''}{self._blocks(answer.number)}\n"
