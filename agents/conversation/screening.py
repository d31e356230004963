"""What the firewall says of changes to files, however they came about: by WRITE, or by a command that ran on a copy."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.conversation.contracts import TalkContext
from agents.conversation.state import FileChange
from agents.engine.nodes.firewall_check import judged_file
from agents.firewall import FirewallJudgement, Guard


@dataclass
class Screened:
    """Why a change may not be made at all, or what speaks against it; `each_time` is asked whatever was allowed."""

    denied: FirewallJudgement | None = None
    doubts: list[str] = field(default_factory=list)
    each_time: bool = False


def screen(ctx: TalkContext, change: FileChange, guard: Guard | None = None) -> Screened:
    """Judge a change by its path, its text and its code. Files that steer machinery and secrets are asked each time."""
    found, base = Screened(), {change.path: change.old or ""}
    for kind, judged in judged_file(change.path, change.new or "", base, canary=ctx.canary, guard=guard):
        if judged.verdict.decision == "deny":
            found.denied = judged
            return found
        found.doubts.append(judged.verdict.reason.rstrip("."))
        found.each_time = found.each_time or kind != "code"
    return found
