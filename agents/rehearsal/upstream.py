"""Past commits of a repository that can be done again: small changes of code with tests of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agents.languages.registry import is_test, language_of
from agents.workspace.git import git, out, raw

LOOKED_AT = 5_000  # commits, the newest first
CODE_FILES, TEST_FILES = 3, 2
FEWEST_LINES, MOST_LINES = 2, 120  # of code that were added or removed
FEWEST_TEST_LINES = 3  # that were added
_PROSE = re.compile(r"(?:^|/)(?:docs?|changes|changelog|news)(?:/|[^/]*$)|\.(?:md|rst|txt|adoc)$", re.IGNORECASE)
# Code beside the product: what is changed there is not what the commit's message is about.
_ASIDE = re.compile(r"^(?:docs?|examples?|benchmarks?|tools)/")
_NUMBER = re.compile(r"\s*\(#\d+\)")
_SIGNATURE = re.compile(r"(?im)^(?:co-authored-by|signed-off-by|reviewed-by|change-id|cherry picked from)\b.*$")


@dataclass(frozen=True)
class PastCommit:
    """A commit that people made: `code`, `tests` and `pages` are paths; `lines` of code were added or removed."""

    sha: str
    parent: str
    subject: str
    body: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    pages: tuple[str, ...]
    lines: int

    @property
    def wish(self) -> str:
        """What the commit's message says that it does, without numbers of requests and signatures."""
        return _NUMBER.sub("", self.subject).strip() or self.subject

    @property
    def story(self) -> str:
        """The rest of the message."""
        return _SIGNATURE.sub("", self.body).strip()

    @property
    def document(self) -> str:
        """The message as a requirements document of one requirement."""
        return f"# Change\n\n- FR-1 {self.wish}\n" + (f"\n{self.story}\n" if self.story else "")


def suitable(git_dir: Path, branch: str = "HEAD", *, since: str = "", newest: int = LOOKED_AT) -> list[PastCommit]:
    """The suitable ones among the `newest` commits of a branch, in that order. Raises GitError.

    Such a commit has one parent and changes or adds up to three code files and up to two test files, and otherwise
    nothing but pages: what else it changed, such as settings or data, could not be told from its message.
    """
    options = [f"--since={since}"] if since else []
    form = "--format=%x01%H%x02%P%x02%s%x02%b%x03"
    text = out(
        git_dir,
        *("log", "--no-merges", f"--max-count={newest}", "--no-renames", "--numstat", form),
        *options,
        "--end-of-options",
        branch,
        "--",
    )
    changes = [_change(git_dir, part) for part in text.split("\x01")[1:]]
    return [change for change in changes if change is not None]


def _change(git_dir: Path, part: str) -> PastCommit | None:
    head, _, rows = part.partition("\x03")
    sha, parents, subject, body = head.split("\x02", 3)
    files = [row.split("\t", 2) for row in rows.splitlines() if row.count("\t") == 2]
    code, tests, pages = list[str](), list[str](), list[str]()
    lines = test_lines = 0
    for added, removed, path in files:
        if added == "-" or path.startswith('"'):  # not text, or a name that git quotes
            return None
        if language_of(path) is None or _ASIDE.search(path):
            if not _PROSE.search(path):
                return None
            pages.append(path)
        elif is_test(path):
            tests.append(path)
            test_lines += int(added)
        else:
            code.append(path)
            lines += int(added) + int(removed)
    fits = 1 <= len(code) <= CODE_FILES and 1 <= len(tests) <= TEST_FILES and test_lines >= FEWEST_TEST_LINES
    if not fits or not FEWEST_LINES <= lines <= MOST_LINES or len(parents.split()) != 1:
        return None
    if git(git_dir, "diff", "--quiet", "--diff-filter=DT", parents, sha, "--", check=False).returncode:
        return None  # a file was removed, or became a link
    return PastCommit(sha, parents, subject, body.strip(), tuple(code), tuple(tests), tuple(pages), lines)


def spread(changes: Sequence[PastCommit], most: int) -> list[PastCommit]:
    """Up to `most` of them, spread over time and over folders; the same for the same history. The order stays.

    The history is cut into as many stretches as there are to be commits; each gives the one whose folder was chosen
    least often so far.
    """
    if len(changes) <= most:
        return list(changes)
    chosen, folders = list[PastCommit](), Counter[str]()
    for number in range(most):
        stretch = changes[number * len(changes) // most : (number + 1) * len(changes) // most]
        found = min(stretch, key=lambda change: folders[_folder(change)])
        folders[_folder(found)] += 1
        chosen.append(found)
    return chosen


def _folder(change: PastCommit) -> str:
    return str(PurePosixPath(change.code[0]).parent)


def text_at(git_dir: Path, commit: str, path: str) -> str | None:
    """A file of a commit as text, with its own line ends; None where it is not there."""
    if not out(git_dir, "ls-tree", commit, "--", path):
        return None
    return raw(git_dir, "show", f"{commit}:{path}").decode("utf-8", "surrogateescape")
