"""Replies of a model that works through TODOs, as JSON."""

import json
from typing import Any

TASK = "Greet everybody: a script hello.py, and a line about it in README.md"


def said(message: str, **more: Any) -> str:
    return json.dumps({"message": message, **more})


def todo(description: str, expected: str = "It is there") -> dict[str, str]:
    return {"description": description, "expected": expected, "status": "pending"}


def tool(name: str, message: str = "Working.", **given: Any) -> str:
    return said(message, tool={"name": name, "input": given})


def judged(accepted: bool, feedback: str = "As expected.") -> str:
    return said("I compare.", judgement={"accepted": accepted, "feedback": feedback})


SCRIPT = "hello.py"
ONE = said("One step.", todos=[todo("Write the script", "It prints a greeting")])
WRITE = f'{said("I write it.")}\n<<WRITE: {SCRIPT}>>\nprint("Hello")\n<</WRITE>>'
DONE, END = said("It is there.", complete=True), said("Everybody is greeted.", complete=True)
RIGHT = judged(True)
