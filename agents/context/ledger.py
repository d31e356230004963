"""What fills the window: the tokens of a call by what they were spent on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from agents.context.parts import parts_of
from agents.llm.base import Message
from agents.llm.tokens import count_tokens


def ledger(messages: Iterable[Message], total: int) -> dict[str, int]:
    """Tokens by part, largest first; they add up to `total`, the prompt as the server counted it.

    The shares are estimates of ours: no server says how many tokens a stretch of a prompt took.
    """
    estimates = _estimates(messages)
    whole = sum(estimates.values())
    if not whole or total <= 0:
        return {}
    exact = {name: total * tokens / whole for name, tokens in estimates.items()}
    shares = {name: int(value) for name, value in exact.items()}
    # The largest remainders get what rounding down left over.
    rest = total - sum(shares.values())
    for name in sorted(exact, key=lambda name: (shares[name] - exact[name], name))[:rest]:
        shares[name] += 1
    return {name: shares[name] for name in sorted(shares, key=lambda name: (-shares[name], name)) if shares[name]}


def shortened(before: Iterable[Message], after: Iterable[Message]) -> dict[str, list[int]]:
    """Parts that lost tokens between two forms of one conversation: [before, after], the largest loss first."""
    had, has = _estimates(before), _estimates(after)
    lost = {name: [tokens, has[name]] for name, tokens in had.items() if has[name] < tokens}
    return dict(sorted(lost.items(), key=lambda item: (item[1][1] - item[1][0], item[0])))


def _estimates(messages: Iterable[Message]) -> Counter[str]:
    found: Counter[str] = Counter()
    for message in messages:
        for part in parts_of(message):
            found[part.name] += count_tokens(part.text)
    return found
