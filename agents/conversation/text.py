"""Small readings of what a person answers."""

from __future__ import annotations

YES = frozenset({"y", "yes", "yes please", "yes go ahead", "ok", "okay", "go", "go ahead", "sure", "looks good"})
NO = frozenset({"", "n", "no", "no thanks", "q", "quit", "stop", "cancel"})


def choice(answer: str) -> tuple[bool, str]:
    """Whether an answer to a plan is a yes, and else what is to be different; "" for nothing."""
    word = " ".join(answer.lower().replace(",", " ").rstrip(".! ").split())
    return (True, "") if word in YES else (False, "" if word in NO else answer.strip())
