"""What the firewall is asked and what it answers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial, reduce
from operator import getitem
from pathlib import Path
from typing import Any, Literal

Kind = Literal["command", "code", "output", "path"]
Decision = Literal["allow", "approve", "deny"]
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
class FirewallVerdict:
    """The decision, the layer and rule that took it, and a reason that is safe to show (it repeats no secret)."""

    decision: Decision
    layer: str = ""
    reason: str = ""
    rule: str = ""

    def to_json(self) -> dict[str, str]:
        """The line that `aiswe firewall check` prints."""
        return {"decision": self.decision, "layer": self.layer, "reason": self.reason, "rule": self.rule}


ALLOW = FirewallVerdict("allow")
Decide = Callable[[str, str], FirewallVerdict]


def layer_verdicts(layer: str, prefix: str = "") -> tuple[Decide, Decide]:
    """How a layer denies and how it asks a person: functions of a rule's name and a reason."""

    def decide(decision: Decision, rule: str, reason: str) -> FirewallVerdict:
        return FirewallVerdict(decision, layer, reason, f"{layer}.{prefix}{rule}")

    return partial(decide, "deny"), partial(decide, "approve")


@dataclass(frozen=True, slots=True)
class FirewallJudgement:
    """The verdict that counts, and what each layer said for itself."""

    verdict: FirewallVerdict
    layers: tuple[FirewallVerdict, ...]

    def to_json(self) -> list[dict[str, str]]:
        """The layers as the event shows them."""
        return [layer.to_json() for layer in self.layers]


@dataclass(frozen=True, slots=True)
class CodeJudges:
    """Who judges code that a command hands to an interpreter, by language."""

    python: Callable[[str, FirewallContext], FirewallVerdict]
    javascript: Callable[[str, FirewallContext], FirewallVerdict]


def worst(verdicts: Iterable[FirewallVerdict]) -> FirewallVerdict:
    """The strictest verdict, the first of equals; allow when there is none."""
    result = ALLOW
    for verdict in verdicts:
        if _ORDER[verdict.decision] > _ORDER[result.decision]:
            result = verdict
            if result.decision == "deny":
                break
    return result


@cache
def table(file: str) -> dict[str, Any]:
    """A TOML file of this package, read once."""
    return tomllib.loads((Path(__file__).parent / file).read_text(encoding="utf-8"))


@cache
def names_in(file: str, *keys: str) -> frozenset[str]:
    """A list of a table as a set."""
    return frozenset(reduce(getitem, keys, table(file)))  # type: ignore[arg-type]  # a list, by the table's layout


@cache
def pattern_in(file: str, *keys: str) -> re.Pattern[str]:
    """An expression of a table; a list of them is one that matches any."""
    found: Any = reduce(getitem, keys, table(file))
    return re.compile(found if isinstance(found, str) else "|".join(f"(?:{one})" for one in found))
