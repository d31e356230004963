"""The semantic firewall: every command, path, piece of code and output of an agent is judged before it has an effect."""

from agents.firewall.base import FirewallContext, Kind, Verdict
from agents.firewall.wall import check_lines, inspect

__all__ = ["FirewallContext", "Kind", "Verdict", "check_lines", "inspect"]
