"""Variables that steer what later programs run, where they connect to, or what is recorded of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.firewall.base import FirewallVerdict
from agents.firewall.shell.file_effects import approve
from agents.firewall.shell.tables import pattern, rules


def dangerous_assignment(assigned: str) -> Iterator[FirewallVerdict]:
    """Judge a variable that steers later programs."""
    name, joint, value = assigned.partition("=")
    name = name.removesuffix("+")
    if not joint or not pattern("env", "steering").fullmatch(name):
        return
    for variables, values in rules()["env"]["values"].items():
        if re.fullmatch(variables, name) and (
            not re.search(values.get("when", ""), value) or re.search(values.get("unless", "(?!)"), value)
        ):
            return
    yield approve("environment", f"Setting {name} changes what later programs run or record.")
