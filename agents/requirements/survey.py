"""What can be said of a whole document before it is read block by block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from agents.requirements.blocks import DocumentBlock
from agents.requirements.languages import is_open, says
from agents.requirements.sections import heading_role
from agents.requirements.sentences import is_modal, label_of, user_story

# "### Requirement: Login" of OpenSpec, which has names for ids.
NAMED = re.compile(r"^Requirement\s{0,2}[:\uff1a]\s*(?=\S)")
_ENDPOINT = re.compile(r"^[*_`]{0,3}(?:GET|POST|PUT|PATCH|DELETE|HEAD)[*_`]{0,3}\s+[*_`]{0,3}/")
_TITLE = 80
_SENTENCE_ENDS = ".!;。\uff01\uff1b"


def id_families(blocks: Sequence[DocumentBlock]) -> frozenset[str]:
    """Unknown prefixes that define at least two different ids: PAY-1, PAY-2."""
    found: Counter[str] = Counter()
    for key, prefix in {(m.key, m.prefix) for b in blocks if (m := b.defines) and not m.known}:
        if key:
            found[prefix] += 1
    return frozenset(prefix for prefix, count in found.items() if count > 1)


def has_ids(blocks: Sequence[DocumentBlock], families: frozenset[str]) -> bool:
    """Whether the author numbers the requirements."""
    for block in blocks:
        found = block.defines
        if found and (found.certain or found.prefix in families):
            return True
        if block.kind == "heading" and NAMED.match(block.text):
            return True
        if block.table and block.table.id_column() >= 0:
            return True
    return False


def is_design_document(blocks: Sequence[DocumentBlock]) -> bool:
    """A specification without a section of requirements: its architecture is what it demands."""
    headings = [b for b in blocks if b.kind == "heading"]
    top = min((b.level for b in headings), default=0)
    wanted = ("functional", "non_functional", "story", "acceptance")
    return not any(heading_role(b.text) in wanted for b in headings if b.level <= top + 1 or b.level == 8)


def title_line(blocks: Sequence[DocumentBlock], *, least: int = 3) -> int:
    """The line of the heading that names the whole document of at least so many headings; 0 when there is none."""
    headings = [b for b in blocks if b.kind == "heading"]
    if len(headings) < least or any(b.level <= headings[0].level for b in headings[1:]):
        return 0
    words = headings[0].text
    return headings[0].a if " " in words.strip() or (not words.isascii() and len(words) > 4) else 0


def is_specification(blocks: Sequence[DocumentBlock]) -> bool:
    """Whether the document calls itself one in its title, the first line of a plain text."""
    line = title_line(blocks) or (blocks[0].a if blocks and blocks[0].kind == "para" else 0)
    title = next((b.text for b in blocks if b.a == line), "")
    return len(title) <= _TITLE and title[-1:] not in _SENTENCE_ENDS + ":" and says("document", title)


def delimits(blocks: Sequence[DocumentBlock]) -> bool:
    """Whether headings say what is excluded or open and none says what is required: the other parts are."""
    roles = {heading_role(block.text) for block in blocks if block.kind == "heading" and block.a != title_line(blocks)}
    return bool(roles & {"non_goal", "question"}) and not roles & {"functional", "story", "acceptance", "design"}


def is_talk(blocks: Sequence[DocumentBlock]) -> bool:
    """Mail or minutes: what is wanted stands in sentences, among others that want nothing."""
    if any(block.aside and not block.text.startswith("#") for block in blocks if block.kind == "para"):
        return True
    return sum(1 for b in blocks if b.kind == "para" and says("decided", label_of(b.text)[0] or "-")) > 1


def is_bare(blocks: Sequence[DocumentBlock]) -> bool:
    """No heading below the title says what stands under it."""
    title = title_line(blocks)
    return not any(heading_role(b.text) for b in blocks if b.kind == "heading" and b.a != title)


def is_one_wish(blocks: Sequence[DocumentBlock]) -> bool:
    """A document of a sentence or two, and no question."""
    if len(blocks) != 1 or blocks[0].kind not in ("para", "item", "heading") or blocks[0].defines:
        return False
    words = blocks[0].text.strip()
    return (
        len(words) <= 300
        and not is_open(words)
        and (len(words.split()) > 1 or (not words.isascii() and len(words) > 3))
    )


def title_items(blocks: Sequence[DocumentBlock]) -> frozenset[int]:
    """Indexes of list items that are only the title of the items below them."""
    below: dict[int, list[int]] = {}
    open_items: list[int] = []
    for index, block in enumerate(blocks):
        if block.kind == "heading":
            open_items.clear()
        if block.kind != "item":
            continue
        while open_items and blocks[open_items[-1]].indent >= block.indent:
            open_items.pop()
        if open_items:
            below.setdefault(open_items[-1], []).append(index)
        open_items.append(index)
    return frozenset(index for index, inner in below.items() if _is_title(blocks, index, inner, below))


def _is_title(blocks: Sequence[DocumentBlock], index: int, inner: list[int], below: dict[int, list[int]]) -> bool:
    block = blocks[index]
    text = block.text.strip()
    bare = text.strip("*_`:\uff1a ")
    if block.defines or not bare or bare[-1] in _SENTENCE_ENDS or label_of(text)[1] or is_modal(text):
        return False
    if text.startswith("[") or len(bare.split()) > 5 or (not bare.isascii() and len(bare) > 40):
        return False
    if any(child in below for child in inner):
        return True
    # Fields, values and cases are named in a word or two, or in lower case; statements are longer.
    texts = [blocks[child].text.strip("*_`~ ") for child in inner]
    return sum(_states(words) for words in texts) * 2 > len(texts) - (text[-1] in "?\uff1f")


def _states(text: str) -> bool:
    if not text or text[0].islower() or text[0] in "\"“'`":
        return False
    return len(text.split()) >= 3 if text.isascii() or " " in text else len(text) >= 7


def is_named(heading: str) -> bool:
    """Whether a heading is a requirement by its form: the name of one, or an endpoint of an API."""
    return bool(NAMED.match(heading) or _ENDPOINT.match(heading))


def story_headings(blocks: Sequence[DocumentBlock]) -> frozenset[int]:
    """Indexes of headings whose section begins with a user story: cards of a workshop."""
    return frozenset(
        index
        for index, block in enumerate(blocks[:-1])
        if block.kind == "heading"
        and heading_role(block.text) != "story"
        and blocks[index + 1].kind == "para"
        and _is_card(blocks[index + 1].text)
    )


def _is_card(text: str) -> bool:
    story = user_story(text)
    return bool(story) and text.startswith(story)
