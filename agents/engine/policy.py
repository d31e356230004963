"""Repair once more, or sample anew? Decided by what is left to spend.

A repair carries the whole conversation and the trace with it, so it costs two to three times what a new sample does.
While there is enough for every try the limits allow, tokens are no reason and a repair comes first. When there is not,
the budget decides how many tries there are, and the cheaper kind gives more of them: for small budgets and weak models
new samples do at least as well as repairs (Olausson et al., "Is Self-Repair a Silver Bullet for Code Generation?",
2024).
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.engine.contracts import TaskLimits
from agents.engine.state import TaskState
from agents.events.log import Spent
from agents.llm.tokens import count_messages, count_tokens
from agents.repair.feedback import trace_text

DIAGNOSIS_TOKENS = 120  # what a repair writes before its files, and is told around the trace


@dataclass(frozen=True)
class Prices:
    """Tokens, sent and written, that the next try is expected to take."""

    repair: int
    fresh: int


def prices(state: TaskState) -> Prices:
    """Read from the conversation so far: the reply will be about as long as the last one."""
    turns = state["conversation"]["coder"]
    replies = [turn["content"] for turn in turns if turn["role"] == "assistant"]
    reply = count_tokens(replies[-1]) if replies else 0
    report = state["candidate"]["report"]
    trace = count_tokens(trace_text(report)) if report else 0
    return Prices(
        repair=count_messages(turns) + trace + reply + DIAGNOSIS_TOKENS,
        fresh=count_messages(turns[:2]) + reply,
    )


def left_of(limits: TaskLimits, spent: Spent) -> int:
    """Tokens that may still be used, by the tighter of the two budgets."""
    return max(0, min(limits.task_tokens - spent.task_tokens, limits.run_tokens - spent.run_tokens))


def short_of_tokens(state: TaskState, limits: TaskLimits, spent: Spent) -> bool:
    """True when what is left does not pay for as many repairs as may still be tried, and a new sample costs less."""
    used = state["counters"]
    tries = min(limits.max_retries - used["repairs"], limits.max_iterations - used["iteration"])
    price = prices(state)
    return price.fresh < price.repair and left_of(limits, spent) < tries * price.repair
