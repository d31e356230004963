"""What must hold for the extraction of any text."""

import re

from agents.requirements.model import KINDS, Extraction

_WORD = re.compile(r"[^\W_]+")


def check(text: str, found: Extraction) -> None:
    """Keys are unique, spans lie in the text, no word is invented, and no line of words is lost."""
    lines = [line.replace("\u200b", "") for line in re.split(r"\r\n|\r|\n", text)]  # the parser drops it in words too
    keys = [r.key for r in found.requirements]
    assert len(set(keys)) == len(keys)
    covered: set[int] = set()
    for requirement in found.requirements:
        a, b = requirement.lines
        assert 1 <= a <= b <= len(lines)
        assert requirement.kind in KINDS
        assert requirement.key
        assert len(requirement.key) <= 60
        assert requirement.text.strip()
        words = _WORD.findall(" ".join(lines[a - 1 : b]))
        known, source = set(words), " ".join(words)
        for said in (requirement.text, requirement.title, *requirement.acceptance):
            for word in _WORD.findall(said):
                assert word in known or word in source, (word, requirement)
        covered.update(range(a, b + 1))
    for paragraph in found.unmapped:
        a, b = paragraph.lines
        assert 1 <= a <= b <= len(lines)
        covered.update(range(a, b + 1))
    titles = {title for r in found.requirements for title in r.section}
    for number, line in enumerate(lines, 1):
        if number not in covered and _WORD.search(line):
            # A heading above a requirement is told by that requirement's section, a header row by its columns.
            told = any(_WORD.findall(line) == _WORD.findall(title) for title in titles)
            assert told or "|" in line or _is_header_cell(lines, number), (number, line)


def _is_header_cell(lines: list[str], number: int) -> bool:
    """Header cells of a flattened table stand in a block of short lines."""
    return len(lines[number - 1]) <= 48 and any(not line.strip() for line in lines[number : number + 8])
