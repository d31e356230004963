"""The stand-in agent, as an administrator would name it."""

import json
import sys
from pathlib import Path
from typing import Any

from agents.outside.table import OutsideAgent

PROGRAM = Path(__file__).with_name("stand_in_agent.py")


def stand_in(*turns: list[list[Any]], **fields: Any) -> OutsideAgent:
    """An agent that follows this script: a list of steps for each turn, the last one for all that come after."""
    folders = {Path(sys.prefix), Path(sys.base_prefix), PROGRAM.parent}
    return OutsideAgent(
        name="stand-in",
        command=(sys.executable, str(PROGRAM)),
        folders=tuple(sorted(folder for folder in folders if not folder.is_relative_to("/usr"))),
        variables=(("AGENT_SCRIPT", json.dumps(turns)), *fields.pop("variables", ())),
        **fields,
    )
