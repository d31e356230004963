"""What a repository holds, by hash: listings of commits, contents of files, and new trees and commits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agents.secrets.redaction import redact
from agents.workspace.git import AUTHOR, CommitSettings, GitError, git, out, raw, read_blobs, trailers_text
from agents.workspace.objects import NAME, Remembered, loose_blob, object_name, write_object

FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
_GAP = "\N{ZERO WIDTH SPACE}"
# What a forge acts on in the message of a pushed commit: @name, #1, !2, GH-3, an issue's address, [skip ci].
_ACTIVE = re.compile(
    r"(?<!\w)@(?=\w)|#(?=\w)|!(?=\d)|\bGH(?=-\d)|:(?=//\S+/(?:issues|pulls?|merge_requests|work_items)/\d)"
    r"|\[(?=(?:skip|no|ci|actions)[ _-](?:ci|skip|actions)\])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Entry:
    """A path of a tree; `size` in bytes, 0 for a submodule."""

    mode: str
    hash: str
    size: int = 0

    @property
    def is_file(self) -> bool:
        """True for a regular file: neither a link nor a submodule."""
        return self.mode.startswith("100")


Entries = Mapping[str, Entry]


@dataclass(frozen=True)
class Listing:
    """All of a commit: its entries by path, the hash of its tree, and those of the folders in it."""

    entries: Entries
    tree: str
    trees: frozenset[str]


# Objects never change, so they are cached per repository folder for all tasks of this process.
_listings: Remembered[Listing] = Remembered(400_000, lambda listing: 1 + len(listing.entries))
_contents: Remembered[bytes | None] = Remembered(16_000_000, lambda content: 200 + len(content or b""))


class Store:
    """The objects of the repository at `root`, a folder with git's own files."""

    def __init__(self, root: Path, settings: CommitSettings = AUTHOR) -> None:
        self.root, self.settings = root, settings

    def listing(self, sha: str) -> Listing:
        """All of a commit; raises GitError when there is no such commit.

        Names that are not UTF-8 keep their bytes as surrogates.
        """
        if not NAME.fullmatch(sha):
            return self._listed(sha)
        return _listings.get((str(self.root), sha), lambda: self._listed(sha))

    def _listed(self, sha: str) -> Listing:
        entries, trees = {}, set()
        for row in raw(self.root, "ls-tree", "-r", "-t", "-z", "-l", sha).split(b"\0"):
            facts, _, name = row.partition(b"\t")
            words = facts.decode("ascii").split()
            if len(words) == 4 and words[1] == "tree":
                trees.add(words[2])
            elif len(words) == 4:
                size = int(words[3]) if words[3].isdigit() else 0
                entries[name.decode("utf-8", "surrogateescape")] = Entry(words[0], words[2], size)
        return Listing(entries, tree_name(entries), frozenset(trees))

    def contents(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """Contents of files by hash; what does not lie loose is read in one call of git, what is absent left out."""
        wanted = list(dict.fromkeys(hashes))
        root = str(self.root)
        found = {
            name: content
            for name in wanted
            if (content := _contents.get((root, name), partial(loose_blob, self.root, name))) is not None
        }
        return found | read_blobs(self.root, [name for name in wanted if name not in found])

    def write_blobs(self, contents: Iterable[bytes]) -> None:
        """Store files byte for byte."""
        for content in contents:
            write_object(self.root, "blob", content)

    def write_tree(self, entries: Entries, known: Listing | None = None) -> str:
        """Store the tree of these entries, except what is in `known`; its hash. Raises GitError as tree_name does."""
        return tree_name(entries, self, known.trees if known else frozenset())

    def commit(self, tree: str, parent: str, message: str) -> str:
        """Make a commit of a tree, with the project's author and signature; nothing points at it yet."""
        signed = self.settings.signing_key
        options = ("-c", "gpg.format=ssh", "-c", f"user.signingKey={signed}") if signed else ()
        argv = ["commit-tree", tree, "-F", "-", *(("-p", parent) if parent else ()), *(("-S",) if signed else ())]
        made = git(self.root, *argv, text=message, author=self.settings, options=options)
        return made.stdout.strip()

    def message(self, title: str, body: str, trailers: Mapping[str, str]) -> str:
        """A commit's text without secrets: title, body, and the block of trailers.

        Models write the first two, after documents and tickets: a space without width parts what a forge would act on.
        """
        by = self.settings
        signed_off = {"Signed-off-by": f"{by.author_name} <{by.author_email}>"} if by.sign_off else {}
        said = "\n\n".join([title, *filter(None, [body.strip()])])
        said = _ACTIVE.sub(lambda found: found[0] + _GAP, str(redact(said)))
        ends = str(redact(trailers_text({**trailers, **signed_off})))
        return "\n\n".join([said, *filter(None, [ends])]) + "\n"

    def parent(self, sha: str) -> str:
        """The commit's first parent."""
        return out(self.root, "rev-parse", f"{sha}^")


_Folder = dict[str, "Entry | _Folder"]


def tree_name(entries: Entries, store: Store | None = None, known: frozenset[str] = frozenset()) -> str:
    """The hash of the tree that holds exactly these entries; with `store` the trees not in `known` are stored too.

    Raises GitError for a name that is a file and a folder at once.
    """
    top: _Folder = {}
    for path, entry in entries.items():
        *above, last = path.split("/")
        folder = top
        for part in above:
            below = folder.setdefault(part, {})
            if isinstance(below, Entry):
                raise GitError(f"{path}: {part} is a file, so nothing can be below it")
            folder = below
        if last in folder:
            raise GitError(f"{path} is a file and a folder at once")
        folder[last] = entry
    return _named(top, store, known)


def _named(folder: _Folder, store: Store | None, known: frozenset[str]) -> str:
    rows = []
    for name, below in folder.items():
        plain = name.encode("utf-8", "surrogateescape")
        if isinstance(below, Entry):
            rows.append((plain, below.mode.lstrip("0").encode() + b" " + plain + b"\0" + bytes.fromhex(below.hash)))
        else:  # git sorts a folder as if its name ended with a slash
            sha = bytes.fromhex(_named(below, store, known))
            rows.append((plain + b"/", b"40000 " + plain + b"\0" + sha))
    content = b"".join(row for _, row in sorted(rows))
    name = object_name("tree", content)
    if store is not None and name not in known:
        write_object(store.root, "tree", content)
    return name
