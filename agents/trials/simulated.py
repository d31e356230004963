"""A model with known weaknesses, to measure the scaffold around it alone: no weights, no luck, the same every time.

From a task's reference answer it makes mistakes (agents/trials/mutants.py) that really fail the task's tests:

- a new conversation gets the right answer with probability `p`, else a mistake;
- a later turn gets it with probability `q`, and only if the turn holds what the failing test said of the last mistake;
  without it the turn is a new draw with probability `p`;
- it holds on to itself with probability `r`. `repeats="opening"` (the default): with probability `r` an opening (system
  prompt and first message) is one that it answers the same way however often it is asked, as models sampled at low
  temperature do; another opening is another draw. `repeats="call"`: each call after a task's first is, with probability
  `r`, the last answer again, whatever was asked.

Everything is drawn from (seed, task, opening, turn): the same trial gives the same replies in any order.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.llm.base import Completion, Delta, Health, Message, Timeouts, Usage
from agents.llm.tokens import count_messages, count_tokens
from agents.prompting import quoted
from agents.trials.datasets import TrialTask

WINDOW = 32_768
WORDS_PER_TOKEN_S = 1e9  # it answers at once


@dataclass(frozen=True)
class Weakness:
    """How often it is right at once, repairs, and repeats itself."""

    p: float = 0.45
    q: float = 0.5
    r: float = 0.3
    seed: int = 1
    repeats: str = "opening"

    @classmethod
    def parse(cls, text: str) -> Weakness:
        """From "p=0.45,q=0.5,r=0.3,seed=1,repeats=call"; what is left out keeps its default. Raises ValueError."""
        found = cls()
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, equals, value = part.partition("=")
            if name not in ("p", "q", "r", "seed", "repeats") or not equals:
                raise ValueError(f"{part!r} is not one of p=, q=, r=, seed=, repeats=")
            if name == "repeats":
                if value not in ("opening", "call"):
                    raise ValueError(f"repeats={value!r}: it is opening or call")
                found = replace(found, repeats=value)
            elif name == "seed":
                found = replace(found, seed=int(value))
            else:
                share = float(value)
                if not 0.0 <= share <= 1.0:
                    raise ValueError(f"{name}={value}: a probability lies between 0 and 1")
                shares: dict[str, Any] = {name: share}
                found = replace(found, **shares)
        return found


@dataclass(frozen=True)
class Mistake:
    """A wrong answer, and words of the failing test that tell of it."""

    files: Mapping[str, str]
    words: tuple[str, ...]


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
    _said: list[int | None] = field(
        default_factory=list
    )  # what each call answered: a mistake's number, or None for right

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
        number = self._choose(messages)
        self._said.append(number)
        text = self._write(number, len(messages) > 2)
        yield Delta(text)
        written = count_tokens(text)
        usage = Usage(count_messages(messages), written, 0.0, written / WORDS_PER_TOKEN_S, self.model)
        yield Completion(text, usage, "stop", recorded=True)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """It has no embeddings."""
        return [[0.0] for _ in texts]

    async def aclose(self) -> None:
        """Nothing is open."""

    def health(self) -> Health:
        """Always there."""
        return Health(True, "simulated", recorded=True)

    def _choose(self, messages: Sequence[Message]) -> int | None:
        if not self.mistakes:
            return None
        weak, turn = self.weakness, sum(message["role"] == "assistant" for message in messages)
        opening = hashlib.sha256("\0".join(message["content"] for message in messages[:2]).encode()).hexdigest()
        if weak.repeats == "opening" and self._draw(opening, "holds on") < weak.r:
            return self._fresh(opening, "always")
        if weak.repeats == "call" and self._said and self._draw(len(self._said), "repeats") < weak.r:
            return self._said[-1]
        salt = f"{opening}/{turn}/{len(self._said)}"
        last = self._said[-1] if turn and self._said else None
        if turn and self._said and last is None:
            return None  # it was right already
        if last is not None and self._told(messages[-1]["content"], self.mistakes[last]):
            return None if self._draw(salt, "repairs") < weak.q else self._mistake(salt, other_than=last)
        return self._fresh(salt, "draws")

    def _fresh(self, *salt: object) -> int | None:
        return None if self._draw(*salt, "right") < self.weakness.p else self._mistake(*salt, other_than=None)

    def _mistake(self, *salt: object, other_than: int | None) -> int:
        choices = [at for at in range(len(self.mistakes)) if at != other_than] or [0]
        return choices[int(self._draw(*salt, "mistake") * len(choices))]

    def _draw(self, *salt: object) -> float:
        text = "/".join(map(str, (self.weakness.seed, self.task.id, *salt)))
        return random.Random(text).random()  # noqa: S311 - a draw that can be repeated, no secret

    @staticmethod
    def _told(prompt: str, mistake: Mistake) -> bool:
        squeezed = " ".join(prompt.split())
        return any(words in squeezed for words in mistake.words)

    def _write(self, number: int | None, repairing: bool) -> str:
        files = self.task.reference if number is None else self.mistakes[number].files
        head = ""
        if repairing:
            said = "" if number is None else f" (idea {number + 1})"
            head = (
                f"## Diagnosis\nCause: the last version does not do what the test asks{said}.\n"
                "Evidence: the failing assertion.\nHypothesis: the version below does.\nPlan: replace the file.\n\n"
            )
        blocks = [quoted(text, f"python path={path}") for path, text in sorted(files.items())]
        return head + "\n\n".join(blocks) + "\n"
