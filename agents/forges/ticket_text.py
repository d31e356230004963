"""What of a ticket becomes a document of requirements.

Title, text, criteria and files are other people's words: they are quoted as a document like any other.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence

from agents.forges.contract import Attachment, ForgeRefused, Ticket
from agents.requirements.documents import Document, DocumentRefused
from agents.requirements.extract import extract
from agents.requirements.gherkin import has_scenario

MOST_FILES, MOST_FILE_BYTES = 8, 2_000_000
FILES_SECONDS = 60.0  # after which no further file is begun: a person waits
MOST_TEXT = 3_000_000  # characters of a ticket's own text
MOST_TOLD = 1_500  # characters of its text that are said with its title
_CRITERIA = r"acceptance (?:criteria|criterion|tests?)|definition of done|ac"
_LABEL = re.compile(
    rf"(?:\*\*|__|#+\s+)?\s*({_CRITERIA}|(?:steps to )?reproduc\w+|steps|environment)\s*:?\s*(?:\*\*|__)?\s*:?",
    re.IGNORECASE,
)
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(?=\S)")
_TASK = re.compile(r"\s*[-*+]\s+\[[ xX]\]\s+\S")
_STEP = re.compile(r"\s*(?:[-*+]\s+)?\*{0,2}(given|when|then|and|but)\*{0,2}\s", re.IGNORECASE)


def as_markdown(ticket: Ticket, files: Iterable[tuple[str, str]] = ()) -> str:
    """The ticket as a document whose requirements the usual rules find.

    What its text asks for stays as it stands. Where that is nothing of its own, its title with its text is the
    requirement, and its criteria, checklist and scenarios are that requirement's criteria.
    """
    body = _labelled(ticket.text[:MOST_TEXT])
    rest, criteria = _split(body)
    title = f"{ticket.key}: {' '.join(ticket.title.split())}"
    parts = [f"# {title}"]
    if _asks(title, rest):
        parts.append(body)
    else:
        said, left = _prose(rest)
        words = " ".join([title if title.endswith((".", "!", "?")) else f"{title}.", *said])
        under = ["", "  Acceptance criteria:", "", *(f"  - {one}" for one in criteria)] if criteria else []
        parts += ["## Requirements", "\n".join([f"- {words[:MOST_TOLD]}", *under])]
        if left or len(words) > MOST_TOLD:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", rest)), default=0))
            parts += ["## Background", f"{fence}text\n{rest.strip()}\n{fence}"]
    for name, text in files:
        parts += [f"## {' '.join(name.split())}", text]
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join(filter(None, (part.strip("\n") for part in parts)))) + "\n"


def about(ticket: Ticket, unread: Sequence[str]) -> list[str]:
    """What a person should know of a ticket that its text does not say."""
    labels = f" Labels: {', '.join(ticket.labels)}." if ticket.labels else ""
    left = [f"Not read: {'; '.join(unread)}."] if unread else []
    return [f"By {ticket.author.login or 'an unknown account'}, {ticket.state}.{labels}", *left, *ticket.notes]


def _asks(title: str, text: str) -> bool:
    """Whether a text states requirements of its own, more than what a bug's reporter expected."""
    # Beside a criterion the rules take prose for a requirement only where its words say so.
    found = extract(f"# {title}\n\n{text}\n\n## Acceptance criteria\n\n- It works.\n").requirements
    stated = (one for one in found if one.kind != "acceptance")
    return any(not re.match(r"expect|actual|observ", (one.section or ("",))[-1], re.IGNORECASE) for one in stated)


def read_files(
    ticket: Ticket, fetch: Callable[[Attachment, int], bytes], read: Callable[[bytes, str], Document]
) -> tuple[list[tuple[str, str]], list[str]]:
    """The attachments that are documents, as name and text; and of the others the name with the reason."""
    found, left = list[tuple[str, str]](), list[str]()
    end = time.monotonic() + FILES_SECONDS
    for one in ticket.attachments:
        name = " ".join(one.name.split())[:120]
        if len(found) == MOST_FILES or time.monotonic() > end:
            left.append(f"{name} ({f'more than {MOST_FILES}' if len(found) == MOST_FILES else 'it takes too long'})")
        elif (one.size or 0) > MOST_FILE_BYTES:
            left.append(f"{name} (larger than {MOST_FILE_BYTES // 1_000_000} MB)")
        elif re.search(r"\.(?:png|jpe?g|gif|webp|svg|bmp|heic|mp4|mov|webm|mp3|zip|gz|7z)$", name, re.IGNORECASE):
            left.append(f"{name} (no text)")
        else:
            try:
                found.append((name, read(fetch(one, MOST_FILE_BYTES), name).text))
            except (DocumentRefused, ForgeRefused) as refused:
                left.append(f"{name} ({getattr(refused, 'reason', str(refused))[:160].rstrip('.')})")
    return found, left


def visible(text: str) -> tuple[str, tuple[str, ...]]:
    """Markdown as people see it on a forge: without comments of HTML, images by their words; and notes about that."""
    shown, hidden = re.subn(r"<!--.*?(?:-->|\Z)", "", text, flags=re.DOTALL)
    shown = re.sub(r"!\[([^\]\n]{0,300})\]\([^)\n]{0,2000}\)", r"(image: \1)", shown)
    shown = (
        re.sub(r"<(?=[A-Za-z/!?])", r"\\<", shown)
        if re.search(r"<(?:script|img|iframe|style|object|svg)\b", shown)
        else shown
    )
    return shown, ((f"Hidden in its text, and left out: {hidden} comments of HTML.",) if hidden else ())


def _labelled(text: str) -> str:
    """The text with a heading for each line that is nothing but a usual label, as people make them bold."""
    lines, quoted = list[str](), False
    for line in text.split("\n"):
        quoted ^= line.lstrip().startswith(("```", "~~~"))
        found = None if quoted else _LABEL.fullmatch(line.strip())
        if found and (line.strip() != found[1] or found[1].lower() != "ac"):
            name = "Acceptance criteria" if re.fullmatch(_CRITERIA, found[1], re.IGNORECASE) else found[1].capitalize()
            lines += [*([""] if lines and lines[-1].strip() else []), f"## {name}", ""]
        else:
            lines.append(line)
    return "\n".join(lines)


def _split(text: str) -> tuple[str, list[str]]:
    """The text without its criteria, and they: what stands under their heading, checklists, and scenarios."""
    rest, criteria = list[str](), list[str]()
    under = steps = quoted = titled = False
    for line in text.split("\n"):
        quoted ^= line.lstrip().startswith(("```", "~~~"))
        if _HEADING.match(line) and not quoted:
            under = line.strip("# ") == "Acceptance criteria"
            steps = False
            rest += [] if under else [line]
        elif quoted or not line.strip():
            steps = steps and quoted
            rest += [] if under and not line.strip() else [line]
        elif (step := _STEP.match(line)) or (has_scenario([line]) and not line.startswith("#")):
            opens = not titled and (step is None or step[1].lower() == "given" or not steps)
            _add(criteria, line, opens=opens)
            titled = step is None
            steps = True
        elif under or _TASK.match(line):
            _add(criteria, line, opens=not criteria or not line.startswith("  ") or bool(_ITEM.match(line)))
        else:
            rest.append(line)
    return "\n".join(rest), [one for one in criteria if one]


def _add(criteria: list[str], line: str, *, opens: bool) -> None:
    """Put a line into the last criterion, or let it open the next."""
    if opens or not criteria:
        criteria.append(_bare(line))
    if not opens:
        criteria[-1] += f" {_bare(line)}"


def _bare(line: str) -> str:
    return re.sub(r"^\*\*(\w+)\*\*", r"\1", _ITEM.sub("", line).strip())


def _prose(text: str) -> tuple[list[str], bool]:
    """Its lines of words, with headings as labels; and whether a table or code ends them."""
    said = list[str]()
    for line in map(str.strip, text.split("\n")):
        if line.startswith(("|", "```", "~~~")):
            return said, True
        words = re.sub(r"^(?:#+|>|[-*+])\s*", "", line) if re.match(r"(?:#+|>|[-*+])(?:\s|$)", line) else line
        if words:
            said.append(f"{words}:" if line.startswith("#") else words)
    return said, False
