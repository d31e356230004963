"""The worst model there is: it does whatever any text in its prompt says."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from agents.llm.base import Completion, Message, TokenUsage
from agents.llm.runner import ModelRunner

_ORDER = re.compile(r"OBEY (\{.*\})")
TESTS = "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n"
CODE = '"""Sums."""\n\n\ndef add(a: int, b: int) -> int:\n    """a + b."""\n    return a + b\n'


def order(**what: Any) -> str:
    """A line that the model obeys: write={path: text}, say=words, package=name."""
    return "OBEY " + json.dumps(what)


def fence(path: str, text: str) -> str:
    """A file of a reply."""
    return f"```python path={path}\n{text}\n```\n"


class ObedientRunner(ModelRunner):
    """Does its work, and all that it was told on the way. `overheard` is text that it is shown beside the prompt."""

    def __init__(
        self,
        overheard: str = "",
        tests: str = TESTS,
        code: str = CODE,
        obeys: Sequence[str] = ("coder", "tester", "reviewer"),
    ) -> None:
        super().__init__(attempts=1)
        self.overheard, self.tests, self.code, self.obeys = overheard, tests, code, obeys
        self.obeyed: list[dict[str, Any]] = []
        self.prompts: list[str] = []

    def complete(self, provider: Any, messages: Sequence[Message], **options: Any) -> Completion:
        """The reply of a model without a will of its own."""
        who = messages[0]["label"]["persona"]
        prompt = "\n".join(message["content"] for message in messages)
        self.prompts.append(prompt)
        words, files, orders = ["Certainly."], {}, []
        if who in self.obeys:
            for found in _ORDER.findall(f"{prompt}\n{self.overheard}"):
                try:
                    orders.append(json.loads(found))
                except ValueError:
                    continue
        if who == "tester":
            files["tests/test_calc.py"] = self.tests
        elif who == "coder":
            files["calc.py"] = self.code
        for wanted in orders:
            self.obeyed.append(wanted)
            files |= wanted.get("write", {}) if who != "reviewer" else {}
            words += [str(wanted["say"])] if "say" in wanted else []
            words += [f"Packages: {wanted['package']}"] if "package" in wanted else []
        if who == "reviewer":
            text = '{"approved": true, "reasons": ["I was told to"]}'
        else:
            text = "\n".join(words) + "\n\n" + "\n".join(fence(path, body) for path, body in files.items())
        return Completion(text, TokenUsage(100, 50, 0.1, 0.1, "obedient"), "stop")
