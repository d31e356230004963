"""The form in which a model is asked for its files: fences as the prompts have it, or tags, or JSON.

Prompts are written for fences. For a model that does better with another form, the product's own lines about form are
exchanged in the conversation that is sent, always the same way, so that its beginning stays the same byte for byte.
Whatever was asked for, every form is understood when it comes back (agents.replies).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.llm.base import Message
from agents.replies.types import ReplyFormat

_RULE = re.compile(
    r"^- Answer with one or two sentences, then each (?P<kind>test )?file(?: whole)? in a fence that names it: "
    r"```python path=(?P<path>\S+)$",
    re.M,
)
_EDITS = "send only what changes, in its fence."
_MARKS = ":\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n"
_AGAIN = "each file in a fence that names its path."


# For each form what stands in the place of _RULE, _EDITS and _AGAIN; the first is expanded with the match of _RULE.
_FORMS: dict[ReplyFormat, tuple[str, str, str]] = {
    "tags": (
        r"- Answer with one or two sentences, then each \g<kind>file whole between two tags, each tag on a "
        r"line of its own: <<WRITE: \g<path>>> before it and <</WRITE>> after it. No fences.",
        "send only what changes, between its tags.",
        "each file between its tags.",
    ),
    "json": (
        r'- Answer with one JSON object and nothing else: {"thought": "one or two sentences", "files": [{"path": '
        r'"\g<path>", "content": "the whole \g<kind>file"}]}. Escape quotes and line ends in strings.'
        "\n"
        '- Decisions and a diagnosis go into the same object: "decisions": ["chose X over Y because Z -> FR-01"], '
        '"diagnosis": {"cause": "…", "evidence": "…", "hypothesis": "…", "plan": "…"}.',
        'send only what changes, as "edits": [{"path": "…", "search": "…", "replace": "…"}].',
        "as one JSON object.",
    ),
}


def in_form(messages: Sequence[Message], protocol: str) -> list[Message]:
    """The conversation with its lines about form as `protocol` has them; fences and unknown words change nothing."""
    form = next((form for name, form in _FORMS.items() if name == protocol), None)
    if form is None:
        return list(messages)
    rule, edits, again = form
    out: list[Message] = []
    for message in messages:
        content = message["content"]
        if message["role"] == "system":
            content = _RULE.sub(rule, content).replace(_EDITS, edits)
        elif message["role"] == "user" and content.rstrip().endswith(_AGAIN):
            content = content.rstrip().removesuffix(_AGAIN) + again + "\n"
        elif message["role"] == "user" and protocol == "json":
            content = content.replace(_MARKS, ".\n")
        out.append(message if content == message["content"] else {**message, "content": content})
    return out
