"""ACA-9: what was learned makes similar tasks shorter. The model is simulated: it uses a lesson only if its prompt
holds one.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.llm.base import Completion, Delta, Health, Message, Timeouts, TokenUsage
from agents.llm.runner import ModelRunner
from agents.llm.tokens import count_messages, count_tokens
from agents.memory.chroma import ChromaLessons
from measure.trials.datasets import TrialTask
from measure.trials.play import Settings, play
from sandbox.registry import load_backend

pytestmark = pytest.mark.bubblewrap

CURE = "write every rate as a Decimal made from a string"
DIAGNOSIS = (
    "## Diagnosis\nCause: prices are Decimal and the rate is a float.\nEvidence: TypeError\n"
    f"Hypothesis: it multiplies.\nPlan: {CURE}.\n\n## Files\n\n"
)


def price_task(name: str, rate: str) -> TrialTask:
    """A function that takes a share of a price."""
    good = (
        f"from decimal import Decimal\n\n\ndef {name}(price: Decimal) -> Decimal:\n    return price * "
        f"Decimal('{rate}')\n"
    )
    test = (
        f"from decimal import Decimal\n\nfrom {name} import {name}\n\n\ndef test_{name}():\n"
        f"    assert {name}(Decimal('100')) == 100 * Decimal('{rate}')\n"
    )
    return TrialTask(
        f"{name} of a price",
        f"{name}(price) returns {rate} of the price.",
        {f"tests/test_{name}.py": test},
        {f"{name}.py": good},
    )


@dataclass(eq=False)
class Forgetful:
    """A model that mixes Decimal and float, twice in different words, unless a lesson in the prompt says better."""

    task: TrialTask
    name: str = "forgetful"
    model: str = "forgetful"
    server: str = "forgetful"
    window: int = 32_768
    recorded: bool = True
    timeouts: Timeouts = field(default_factory=Timeouts)

    async def stream(self, messages: Sequence[Message], **_: Any) -> AsyncIterator[Delta | Completion]:
        turn = sum(message["role"] == "assistant" for message in messages)
        told = any(CURE in message["content"] for message in messages if message["role"] == "user")
        (path, good), name = next(iter(self.task.reference.items())), self.task.id.split()[0]
        wrong = [f"def {name}(price):\n    return 0.5 * price\n", f"def {name}(price):\n    return price * 0.5\n"]
        text = f"```python path={path}\n{good if told or turn > 1 else wrong[turn]}```\n"
        text = (DIAGNOSIS if turn else "") + text
        yield Delta(text)
        yield Completion(
            text, TokenUsage(count_messages(messages), count_tokens(text), 0.0, 0.1, self.model), "stop", recorded=True
        )

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[0.0] for _ in texts]

    async def aclose(self) -> None: ...

    def health(self) -> Health:
        return Health(True, "forgetful", recorded=True)


FIRST = [price_task("sales_tax", "0.19"), price_task("discount", "0.05")]
SIMILAR = [price_task("tip", "0.10"), price_task("surcharge", "0.02")]


@pytest.fixture
def run(tmp_path):
    """Build tasks one after the other; answers with the iterations of each."""
    store = ChromaLessons(tmp_path / "chroma")
    with ModelRunner(attempts=1) as runner:

        def iterations(tasks, *off):
            outcomes = [
                play(
                    task,
                    Forgetful(task),
                    Settings(off=frozenset(off)),
                    backend=load_backend("bubblewrap"),
                    runner=runner,
                    lessons=store,
                    folder=tmp_path / "work",
                )
                for task in tasks
            ]
            assert all(outcome.resolved for outcome in outcomes), outcomes
            return [outcome.iterations for outcome in outcomes]

        iterations.store = store
        yield iterations
    store.close()


def test_a_second_run_over_similar_tasks_is_shorter_with_memory_and_a_third_over_the_same_shorter_still(run):
    first = run(FIRST)
    forgetting = run(SIMILAR, "memory")
    second = run(SIMILAR)
    again = run(SIMILAR)
    assert sum(second) < sum(first)
    assert sum(second) < sum(forgetting)
    assert (first, forgetting, second, again) == ([3, 2], [3, 3], [2, 2], [1, 1])
    tracks = run.store.tracks([lesson.id for lesson in run.store.all()])
    assert sum(track.shown for track in tracks.values()) == sum(track.helped for track in tracks.values()) >= 5
