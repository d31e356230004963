"""No definition leaves a file unseen: a whole-file block that lacks some is merged into the file or sent back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from agents.languages.base import Language
from agents.languages.definitions import CannotMerge, DefinitionSpan, dropped
from agents.languages.registry import language_of
from agents.replies.pages import with_sections
from agents.replies.types import FileBlock

MIN_LINES = 60  # of a file in which no definitions can be read: a shorter one may be rewritten
PAGES = (".md", ".markdown")
SHOWN = 12
HOW = (
    "Answer with SEARCH/REPLACE blocks, or with a block that holds each changed definition whole, inside its class; "
    "what the block does not hold stays."
)


class DropsDefinitions(Exception):
    """A block would take definitions out of a file; the text lists them for the model."""


@dataclass
class Keeping:
    """What is to stay: `base` are the files before the task, `may_go` says which names the task wants gone.

    `listed` are the definitions, by path, that the model was told its answer lacks; when it insists, they are in
    `removed` and a person decides. `merged` says of each file what was taken from a block. `how` tells the model
    what to send instead, and `named` is what the block is called there.
    """

    base: Mapping[str, str] = field(default_factory=dict)
    may_go: Callable[[str], bool] = lambda name: False
    listed: dict[str, set[str]] = field(default_factory=dict)
    removed: dict[str, list[str]] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    how: str = HOW
    named: str = "The block"

    def settled(self, path: str, before: str, content: str, others: list[FileBlock]) -> str:
        """The content that the file gets for a whole-file block. Raises DropsDefinitions."""
        self.removed.pop(path, None)
        self.merged.pop(path, None)
        language = language_of(path)
        if language is None:
            return self._without_definitions(path, before, content)
        old = before
        if language.definitions(path, before) is None and path in self.base:
            old = self.base[path]  # a broken version of this task does not hide what was there
        gone = gone_from(language, path, old, content)
        if gone is None:
            if language.definitions(path, old):
                with suppress(CannotMerge):
                    made = language.merged(path, old, content)
                    self.merged[path] = "the block holds methods without their class; they were merged into it"
                    return made
            return self._without_definitions(path, old, content)
        return self._with_definitions(language, path, old, content, others, gone)

    def _with_definitions(
        self,
        language: Language,
        path: str,
        old: str,
        content: str,
        others: list[FileBlock],
        gone: list[DefinitionSpan],
    ) -> str:
        """The content, or both texts merged, when `gone` are definitions that the block lacks."""
        gone = [one for one in gone if not self.may_go(one.name) and not _moved(language, path, one, others)]
        if not gone:
            return content
        borrowed = language.borrows(old, content)
        before_task = gone_from(language, path, self.base.get(path, ""), content) or []
        if not borrowed and not {one.name for one in gone} & {one.name for one in before_task}:
            return content  # the task's own definitions are its to take back
        titles = [one.title for one in gone]
        if not borrowed and set(titles) <= self.listed.get(path, set()):
            self.removed[path] = titles
            return content
        total = language.definitions(path, old) or []
        if borrowed or 2 * len(gone) >= len(total):
            try:
                made = language.merged(path, old, content)
            except CannotMerge as unclear:
                raise self._refusal(path, titles, f"It cannot be merged: {unclear}. ") from None
            self.merged[path] = f"what the block defines was put in; {len(titles)} other definitions stay as they are"
            return made
        raise self._refusal(path, titles, "")

    def _without_definitions(self, path: str, old: str, content: str) -> str:
        made = with_sections(old, content) if path.endswith(PAGES) else content
        if made != content:
            self.merged[path] = "the block holds some sections; the others stay as they are"
            return made
        return self._by_size(path, old, content)

    def _refusal(self, path: str, titles: list[str], why: str) -> DropsDefinitions:
        self.listed.setdefault(path, set()).update(titles)
        # The list comes last: what is to be done must not be cut off.
        return DropsDefinitions(
            f"{why}{self.how} {self.named} lacks {_listing(titles)}, which the task does not remove."
        )

    def _by_size(self, path: str, old: str, content: str) -> str:
        """The content, where no definitions can be read: most of a long file does not go at once."""
        before, after = len(old.splitlines()), len(content.splitlines())
        title = f"{before - after} of {before} lines"
        if path not in self.base or before < MIN_LINES or 2 * after >= before:
            return content
        if path in self.listed:
            self.removed[path] = [title]
            return content
        raise self._refusal(path, [title], "")


def gone_from(language: Language, path: str, old: str, new: str) -> list[DefinitionSpan] | None:
    """Definitions of the old text that the new one lacks; None when one of them cannot be read."""
    there, given = language.definitions(path, old), language.definitions(path, new)
    if there is None or given is None:
        return None
    return dropped(there, given, language.imported_names(new))


def _moved(language: Language, path: str, one: DefinitionSpan, others: list[FileBlock]) -> bool:
    """True when another file of the same reply defines it."""
    name = one.name.rpartition(".")[2]
    found = (language.definitions(file.path, file.content) or [] for file in others if file.path != path)
    return any(name == other.name.rpartition(".")[2] for row in found for other in row)


def _listing(titles: list[str]) -> str:
    more = f" and {len(titles) - SHOWN} more" if len(titles) > SHOWN else ""
    return ", ".join(titles[:SHOWN]) + more
