"""The semantic firewall: every command, path, piece of code and reply of an agent is judged before it has an effect."""

from agents.firewall.base import FirewallContext, FirewallJudgement, FirewallVerdict, Kind
from agents.firewall.guard import Guard, ModelGuard
from agents.firewall.judge import check_lines, inspect, judge

__all__ = [
    "FirewallContext",
    "FirewallJudgement",
    "FirewallVerdict",
    "Guard",
    "Kind",
    "ModelGuard",
    "check_lines",
    "inspect",
    "judge",
]
