"""The semantic firewall: every command, path, piece of code and output of an agent is judged before it has an effect."""

from agents.firewall.base import FirewallContext, Judgement, Kind, Verdict
from agents.firewall.guard import Guard, ModelGuard
from agents.firewall.wall import check_lines, inspect, judge

__all__ = ["FirewallContext", "Guard", "Judgement", "Kind", "ModelGuard", "Verdict", "check_lines", "inspect", "judge"]
