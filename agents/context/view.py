"""What is shown of a repository, written as blocks under headings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agents.context.retrieval import Chunk, Piece
from agents.prompts.provenance import Material, Source, joined, label
from agents.replies.licence import without_licence

LISTED = 80  # names of files that are not shown
BEGINS = "How a test file here begins:"
BESIDE = 8  # beside a task's own files
LICENCE_LEFT_OUT = "Licence header left out, it stays in the file:"


@dataclass(frozen=True)
class View:
    """Texts by path, in the order in which they are shown.

    `own` are a task's files, `parts` pieces of those of them that are too long, of which `texts` are the whole; `tests`
    are tests of them that exist, `begins` tells how one begins, `imports` are signatures of what they import. Then come
    `others` whole, `pieces` of more files, a map (`drawn`), and the names of what is `left_out`.
    """

    own: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, str] = field(default_factory=dict)
    imports: str = ""
    others: Mapping[str, str] = field(default_factory=dict)
    pieces: Sequence[Chunk] = ()
    drawn: str = ""
    left_out: Sequence[str] = ()
    begins: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> Material:
        """All of it under headings."""
        whole = {**self.own, **self.texts, **self.tests, **self.others}
        named = [path for path, text in whole.items() if without_licence(text) != text]
        blocks: list[str] = [f"{LICENCE_LEFT_OUT} {', '.join(named)}"] if named else []
        blocks += _files(self.own)
        for path, text in self.parts.items():
            lines = len(self.texts[path].splitlines())
            blocks += [f"Parts of {path}, a file of {lines} lines; … marks what is not shown:", *_files({path: text})]
        if self.tests:
            blocks += ["Existing tests of these files:", *_files(self.tests)]
        if self.begins:
            blocks += [BEGINS, *_files(self.begins)]
        if self.imports:
            blocks += ["What these files import (signatures):", label(self.imports, Source.REPOSITORY)]
        if self.others:
            blocks += [*(["Other files:"] if self.own or self.parts or self.tests else []), *_files(self.others)]
        if self.pieces:
            blocks.append("Code of other files that fits the task:")
            for path in dict.fromkeys(one.path for one in self.pieces):
                pieces = sorted((one.piece for one in self.pieces if one.path == path), key=lambda piece: piece.line)
                at = ",".join(f"{piece.line}-{piece.end}" for piece in pieces)
                blocks.append(label(in_classes(pieces), Source.REPOSITORY, f"path={path} lines={at}"))
        if self.drawn:
            heading = "Map of the rest (signatures):" if self.own else "Map (signatures):"
            blocks += [heading, label(self.drawn, Source.REPOSITORY)]
        if self.left_out:
            blocks += [label("Also there: " + ", ".join(_listed(self.left_out)[:LISTED]), Source.REPOSITORY)]
        return joined(blocks)


def in_classes(pieces: Sequence[Piece]) -> str:
    """Pieces of one file in their order; methods below the name of their class."""
    texts, last = list[str](), ""
    for piece in pieces:
        inside = piece.name.rpartition(".")[0]
        texts += [f"… in {inside}:", piece.text] if inside not in ("", last) else [piece.text]
        last = inside
    return "\n\n".join(texts)


def _files(files: Mapping[str, str]) -> list[Material]:
    return [label(without_licence(text) or " \n", Source.REPOSITORY, f"path={path}") for path, text in files.items()]


def near_first(paths: Sequence[str], own: Sequence[str]) -> list[str]:
    """The paths in the folders of the task's own files, if they are few; of the others the folder at the top."""
    folders = {path.rpartition("/")[0] for path in own}
    beside = [path for path in paths if path.rpartition("/")[0] in folders]
    near = beside if len(beside) <= BESIDE else []
    far = Counter(path.partition("/")[0] for path in paths if path not in near and "/" in path)
    top = len(beside) - len(near) if "" in folders else 0
    return [
        *near,
        *([f"{top} more beside them"] if top else []),
        *(f"{a}/ ({n} files)" for a, n in sorted(far.items())),
    ]


def _listed(paths: Sequence[str]) -> list[str]:
    """The paths; when they are too many, a folder with all that is below it as one, from the deepest on."""
    rows = list(paths)
    for depth in range(max((path.count("/") for path in paths), default=0), 0, -1):
        if len(rows) <= LISTED:
            break
        below = defaultdict[str, list[str]](list)
        for path in paths:
            below["/".join(path.split("/")[:depth])].append(path)
        rows = [one[0] if len(one) == 1 else f"{folder}/ ({len(one)} files)" for folder, one in sorted(below.items())]
    return rows
