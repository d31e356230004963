"""A part of a Markdown page put into the page: sections of the same heading are replaced, new ones added."""

from __future__ import annotations

import re

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def with_sections(page: str, part: str) -> str:
    """The page with the sections of `part`; `part` itself where it is rather a page of its own.

    A heading without text stands for its place; a new section follows the one before it.
    """
    there, given = _sections(page), _sections(part)
    titles = [words for _, words, _ in there[1:]]
    if _is_page(there, given):
        return part
    at = len(there)
    for level, words, text in given[1:]:
        if words in titles:
            at = next(row for row, one in enumerate(there) if one[1] == words)
            if "\n" in text.strip():
                old = there[at][2]
                there[at] = (level, words, text.rstrip() + old[len(old.rstrip()) :])
        else:
            at = next((row for row in range(at + 1, len(there)) if there[row][0] <= level), len(there))
            above = "" if at < len(there) else "\n\n"[len(page) - len(page.rstrip("\n")) :]
            there.insert(at, (level, words, above + text.rstrip() + ("\n" if above or at == len(there) else "\n\n")))
    return "".join(text for _, _, text in there)


def _is_page(there: list[tuple[int, str, str]], given: list[tuple[int, str, str]]) -> bool:
    """Whether the sections that are given are rather a page of their own, or their places are not clear."""
    titles, sent = [words for _, words, _ in there[1:]], [words for _, words, _ in given[1:]]
    if not titles or not sent or given[0][2].strip() or any(titles.count(words) > 1 for words in sent):
        return True
    known, lacking = len({*titles} & {*sent}), len({*titles} - {*sent})
    begins_inside = sent[0] != titles[0] and (sent[0] in titles or given[1][0] > there[1][0])
    return not begins_inside and (2 * lacking < len(titles) or len(sent) > 2 * known)


def _sections(page: str) -> list[tuple[int, str, str]]:
    """Level and words of each heading, with the text from it to the next."""
    found, fence = [(0, "", "")], ""
    for line in page.splitlines(keepends=True):
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        if not fence and (heading := _HEADING.match(line.rstrip())):
            found.append((len(heading[1]), heading[2], ""))
        found[-1] = (*found[-1][:2], found[-1][2] + line)
    return found
