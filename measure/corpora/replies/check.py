"""How much of what small models really send can be used, by the form it was asked for in."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from agents.replies.apply import apply_reply
from agents.replies.parse import parse_reply
from measure.corpora.replies.shapes import Files, Shape, shapes
from measure.corpora.replies.traps import SLIPS, Slip
from measure.figures import Figure, Section, Spread

TITLE = "Replies: what can be used of malformed ones"


def used(shape: Shape) -> Files:
    """The files that the product takes from a reply."""
    return dict(apply_reply(parse_reply(shape.text, truncated=shape.cut), {}).files)


def strict(shape: Shape) -> Files:
    """The files that a reader takes which knows nothing but the form that was asked for."""
    if shape.protocol == "fences":
        return dict(re.findall(r"^```python path=(\S+)\n(.*?)^```$", shape.text, re.S | re.M))
    if shape.protocol == "tags":
        return dict(re.findall(r"^<<WRITE: (\S+)>>\n(.*?)^<</WRITE>>$", shape.text, re.S | re.M))
    try:
        return {str(row["path"]): "".join(row["content"]) for row in json.loads(shape.text)["files"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def verdict(shape: Shape, got: Files) -> str:
    """right: exactly what is meant; lost: some of it; wrong: something else in a file."""
    return _judged(got, shape.meant, _bare)


def _judged(got: Files, wanted: Files, plain: Callable[[str, str], str]) -> str:
    found = {path: plain(path, text) for path, text in got.items()}
    meant = {path: plain(path, text) for path, text in wanted.items()}
    if found == meant:
        return "right"
    return "wrong" if any(text != meant.get(path) for path, text in found.items()) else "lost"


def _bare(path: str, text: str) -> str:
    """Without a comment that names the file: it may stay."""
    return text.replace("\r\n", "\n").removeprefix(f"# {path}\n").strip()


def count(read: Callable[[Shape], Files]) -> Counter[tuple[str, str]]:
    """How many replies of each form came out how."""
    return Counter((shape.protocol, verdict(shape, read(shape))) for shape in shapes())


def slip_verdict(slip: Slip) -> str:
    """What the product makes of a slip: right, lost or wrong; comments that name the file may stay."""
    reply = parse_reply(slip.text, truncated=slip.cut)
    return _judged(apply_reply(reply, slip.current).files, slip.meant, _labelless)


def _labelless(path: str, text: str) -> str:
    label = re.escape(path)
    lines = (r"# ?[-=#]{3,}\n", r"#!.*\n", r"# -\*-.*\n", rf"#+ ?(?:File: |=+ )?{label}(?: =+)?\n", rf'"""{label}"""\n')
    for line in (*lines, *lines[2:], r"# ?[-=#]{3,}\n"):
        text = re.sub(rf"\A\s*{line}", "", text)
    return text.strip()


def measure(section: Section, options: Any) -> None:
    """One figure for each form: the share that is used as meant, beside that of a strict reader."""
    began = time.perf_counter()
    ours = count(used)
    seconds = time.perf_counter() - began
    theirs = count(strict)
    total = sum(ours.values())
    for protocol in ("fences", "tags", "json"):
        replies = sum(number for (name, _), number in ours.items() if name == protocol)
        shares = [Spread.of([100 * found[protocol, "right"] / replies], "%") for found in (ours, theirs)]
        wrong = 100 * ours[protocol, "wrong"] / replies
        section.figures.append(
            Figure(
                f"{protocol}: used as meant, of {replies} replies",
                shares[0],
                shares[1],
                "a reader that knows this form alone",
                "higher",
                f"{wrong:.1f} % used otherwise than meant",
            )
        )
    slips = Counter(map(slip_verdict, SLIPS))
    section.figures.append(
        Figure(
            f"other slips and traps: used as meant, of {len(SLIPS)}",
            Spread.of([100 * slips["right"] / len(SLIPS)], "%"),
            note=f"{100 * slips['wrong'] / len(SLIPS):.1f} % used otherwise than meant",
        )
    )
    section.figures.append(Figure("time to read a reply", Spread.of([1_000 * seconds / total], "ms")))
    section.notes = ["the shapes are written down after what small models do, each slip with each kind of small talk"]
