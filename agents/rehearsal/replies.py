"""A recording of a model that knows upstream's change: it plans it, writes its tests and code, and approves.

Nothing is left that a model could get wrong, so whatever is not merged at the first try is a fault of the product.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from agents.languages.registry import language_of
from agents.planning.model import PlanTask
from agents.rehearsal.upstream import PastCommit
from agents.replies.edit import EditRefused, apply_edit
from agents.replies.types import EditBlock

LONGEST_WHOLE = 300  # lines of a file that is sent whole, as the coder is asked to; of a longer one what changes
TASK = "T-01"
_SCENARIO = """name = "upstream"
title = "Upstream's own change"
description = "What the maintainers of this repository committed, as a model's replies."
model = "upstream"
note = "No model wrote this: the replies are upstream's own change."
"""
_VERDICT = "Verdict: neither\nReason: the code and the tests are upstream's own.\n"
_DIAGNOSIS = (
    "## Diagnosis\nCause: none that is in the code.\nEvidence: upstream's change is complete.\n"
    "Hypothesis: none.\nPlan: send the same change again.\n\n"
)
# Steps that a change meets only when something went wrong before; each is answered with upstream's files once more.
_LATER_STEPS = ("repair", "repair-2", "rejected", "findings", "again", "code-2", "code-a2")

Text = Callable[[str, str], str | None]  # of a file, by commit and path


def write_replies(folder: Path, change: PastCommit, keys: Sequence[str], text: Text) -> None:
    """Write the recording of a change into a folder; `keys` are those of the requirements that its task serves."""
    tests = "The tests.\n\n" + "".join(_block(change, path, text) for path in change.tests)
    code = "The change.\n\n" + "".join(_block(change, path, text) for path in change.code)
    task = PlanTask(
        TASK,
        change.wish[:80],
        description=(change.story or change.wish)[:600],
        expects=change.wish[:200],
        requirements=tuple(keys),
        files=(*change.code, *change.tests),
        minutes=30,
    )
    approval = json.dumps({"wrong_tests": [], "approved": True, "reasons": ["It is the change that is asked for."]})
    replies = {
        "plan/planner-infer": json.dumps({"pieces": {}, "requirements": []}),
        "plan/planner-plan": "One task: the change is small.",
        "plan/planner-structure": json.dumps({"tasks": [task.to_json()], "notes": ""}),
        f"{TASK}/coder-code": code,
        **{f"{TASK}/coder-{step}": _DIAGNOSIS + code for step in _LATER_STEPS},
        **{f"{TASK}/tester-{step}": tests for step in ("tests", "tests-2", "tests-a2", "unproven")},
        f"{TASK}/tester-adjudicate": _VERDICT,
        **{f"{TASK}/reviewer-{step}": approval for step in ("review", "review-2", "review-3")},
    }
    for name, reply in {**{f"{name}.md": reply for name, reply in replies.items()}, "scenario.toml": _SCENARIO}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(reply.encode("utf-8", "surrogateescape"))


def _block(change: PastCommit, path: str, text: Text) -> str:
    old, new = text(change.parent, path), text(change.sha, path) or ""
    spoken = language_of(path)
    body = new if old is None or old.count("\n") <= LONGEST_WHOLE else _edits(old, new)
    fence = "`" * max(3, *(len(run) + 1 for run in _runs(body, "`")), 3)
    return f"{fence}{spoken.labels[0] if spoken else 'text'} path={path}\n{body.rstrip(chr(10))}\n{fence}\n\n"


def _runs(text: str, mark: str) -> Iterator[str]:
    """The runs of a mark that begin a line."""
    for line in text.splitlines():
        rest = line.lstrip()
        if rest.startswith(mark):
            yield rest[: len(rest) - len(rest.lstrip(mark))]


def _edits(old: str, new: str) -> str:
    """SEARCH/REPLACE blocks that turn one text into the other; the new text where there are none."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    spans = list[_Span]()
    for tag, *place in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            span = _Span(*place)
            while not span.is_telling(before) and (span.low > 0 or span.high < len(before)):
                span = span.wider(len(before))
            spans += [spans.pop().joined(span)] if spans and span.low <= spans[-1].high else [span]
    whole = [spans[0].joined(spans[-1])] if spans else []  # one block, where what one leaves would mislead the next
    for chosen in (spans, whole):
        edits = [
            EditBlock("", "".join(before[span.low : span.high]), "".join(after[span.new_low : span.new_high]))
            for span in chosen
        ]
        with suppress(EditRefused):
            if reduce(apply_edit, edits, old) == new:
                return "".join(_written(edit) for edit in edits)
    return new


def _written(edit: EditBlock) -> str:
    quoted, put = (text.removesuffix("\n") for text in (edit.search, edit.replace))
    return f"<<<<<<< SEARCH\n{quoted}\n=======\n{put}\n>>>>>>> REPLACE\n"


class _Span(NamedTuple):
    """Lines of the old text, and those of the new one in their place."""

    low: int
    high: int
    new_low: int
    new_high: int

    def wider(self, last: int) -> _Span:
        """With the line before and the line behind it, as far as there are any."""
        up, down = min(1, self.low), min(1, last - self.high)
        return _Span(self.low - up, self.high + down, self.new_low - up, self.new_high + down)

    def joined(self, later: _Span) -> _Span:
        """From the beginning of this one to the end of a later one."""
        return _Span(self.low, max(self.high, later.high), self.new_low, max(self.new_high, later.new_high))

    def is_telling(self, lines: Sequence[str]) -> bool:
        """Whether its old lines begin and end with words, stand together only once, and leave some in their place."""
        quoted = lines[self.low : self.high]
        if not quoted or not (quoted[0].strip() and quoted[-1].strip()) or self.new_low == self.new_high:
            return False
        return sum(lines[at : at + len(quoted)] == quoted for at in range(len(lines))) == 1
