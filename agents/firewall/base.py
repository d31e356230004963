"""What the firewall is asked and what it answers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

Kind = Literal["command", "code", "output", "path"]
Decision = Literal["allow", "approve", "deny"]
KINDS: tuple[Kind, ...] = ("command", "code", "output", "path")
_ORDER: dict[Decision, int] = {"allow": 0, "approve": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class FirewallContext:
    """Where the agent works and what must never leave.

    `canaries` are tokens planted in prompts; `protected_texts` are prompts that must not be recited;
    `allowed_packages` may be installed without asking (normalised names).
    """

    workspace: str = "/workspace"
    canaries: tuple[str, ...] = field(default=(), repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    protected_texts: tuple[str, ...] = field(default=(), repr=False)
    allowed_packages: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision, the layer and rule that took it, and a reason that is safe to show (it repeats no secret)."""

    decision: Decision
    layer: str = ""
    reason: str = ""
    rule: str = ""

    def to_json(self) -> dict[str, str]:
        """The line that `aiswe firewall check` prints."""
        return {"decision": self.decision, "layer": self.layer, "reason": self.reason, "rule": self.rule}


ALLOW = Verdict("allow")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict that counts, and what each layer said for itself."""

    verdict: Verdict
    layers: tuple[Verdict, ...]

    def to_json(self) -> list[dict[str, str]]:
        """The layers as the event shows them."""
        return [layer.to_json() for layer in self.layers]


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The strictest verdict, the first of equals; allow when there is none."""
    result = ALLOW
    for verdict in verdicts:
        if _ORDER[verdict.decision] > _ORDER[result.decision]:
            result = verdict
            if result.decision == "deny":
                break
    return result


@cache
def rules() -> dict[str, Any]:
    """The firewall's tables."""
    return tomllib.loads((Path(__file__).parent / "rules.toml").read_text(encoding="utf-8"))


@cache
def words(section: str, name: str) -> frozenset[str]:
    """A list of the tables as a set."""
    return frozenset(rules()[section][name])
