"""What every forge offers, whoever makes it: repositories, issues, pull requests, comments, statuses.

All texts are other people's words: data with an author, never instructions to the product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Kind = Literal["github", "forgejo", "gitlab"]
State = Literal["open", "closed", "merged"]
StatusState = Literal["pending", "success", "failure", "error"]
About = Literal["issue", "request"]
Place = Literal["conversation", "review", "line"]  # where a comment stands


class ForgeRefused(Exception):
    """The forge cannot be asked, or says no; the text says why and what to do, and holds no credential.

    `wait` is how many seconds it wants to be left alone, where it said so; `status` that of its answer, 0 without one.
    """

    def __init__(self, text: str, wait: float | None = None, status: int = 0) -> None:
        super().__init__(text)
        self.wait, self.status = wait, status

    @property
    def definite(self) -> bool:
        """Whether it was heard and will be refused again: no limit, no credential to set right, no trouble there."""
        return 400 <= self.status < 500 and self.status not in (401, 408, 429) and self.wait is None


class NotThere(ForgeRefused):
    """There is no such repository, issue or request, or the token may not see it."""


@dataclass(frozen=True)
class Person:
    """An account on the forge. Names change hands; `ident`, the forge's own number for it, does not."""

    ident: str
    login: str
    is_bot: bool = False


@dataclass(frozen=True)
class ForgeRepository:
    """A repository: its path (`owner/name`), what git fetches from, its default branch."""

    path: str
    clone_address: str
    default_branch: str
    web_address: str
    private: bool = False


@dataclass(frozen=True)
class Attachment:
    """A file that belongs to an issue; `address` is on the forge's own host."""

    name: str
    address: str
    size: int | None = None


@dataclass(frozen=True)
class Ticket:
    """An issue of a forge or of a ticket server; `key` names it there: "12", "SHOP-12". Text is Markdown."""

    key: str
    title: str
    text: str
    author: Person
    state: State
    web_address: str
    labels: Sequence[str] = ()
    updated_at: datetime | None = None
    attachments: Sequence[Attachment] = ()
    minutes: int | None = None  # estimated, where the server keeps estimates
    notes: Sequence[str] = ()  # what a person should know of how it was read


@dataclass(frozen=True)
class ForgeRequest:
    """A request to merge `head` into `base`. `head_commit` is what it stands at now."""

    number: int
    title: str
    text: str
    author: Person
    state: State
    web_address: str
    head: str
    head_commit: str
    base: str
    base_commit: str
    from_fork: bool = False
    draft: bool = False
    merge_commit: str = ""


@dataclass(frozen=True)
class Comment:
    """What somebody wrote on a request; `ident` is unique on the forge together with `place`.

    One on a line has `path` and `line` of the new side, and the `commit` that it was written on.
    """

    ident: str
    place: Place
    author: Person
    text: str
    at: datetime
    path: str = ""
    line: int | None = None
    commit: str = ""
    reply_to: str = ""
    thread: str = ""  # where the forge wants answers to it, if it keeps threads
    # When it was changed last, where that tells of its words: of one on a line it also tells when a draft was sent.
    edited_at: datetime | None = None


@dataclass(frozen=True)
class Remark:
    """A remark of a review on a line of the new side."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Status:
    """What a check says of a commit; `name` identifies the check, a newer one of that name replaces it."""

    name: str
    state: StatusState
    text: str = ""
    address: str = ""


@dataclass(frozen=True)
class Delivery:
    """A webhook that was received and whose signature holds, in the product's words.

    `ident` is the forge's own name for the delivery, the same when it is sent again. `number` is the pull request or
    issue that it is about, None for others. What it carries is not relied on: the forge is asked for how things are.
    """

    ident: str
    event: Literal["comment", "review", "request", "issue", "status", "push", "build", "other"]
    repository: str
    number: int | None = None
    commit: str = ""
    action: str = ""
    build: str = ""  # of a failed build: what build_log() takes


class Forge(Protocol):
    """One repository on one forge, with one credential. Every method may raise ForgeRefused."""

    kind: Kind
    path: str

    def me(self) -> Person:
        """Whose credential this is: its own comments are never requests."""

    def person(self, login: str) -> Person:
        """The account of that name now."""

    def repository(self) -> ForgeRepository:
        """The repository, as the forge tells it."""

    def issue(self, number: int) -> Ticket:
        """One issue, never a pull request."""

    def issues(self, query: str = "", *, most: int = 100) -> Sequence[Ticket]:
        """Issues that fit a query in the forge's own words (labels, state); "" means the open ones."""

    def attachment(self, one: Attachment, most_bytes: int) -> bytes:
        """A file of an issue."""

    def comment(self, number: int, text: str, *, about: About = "request") -> Comment:
        """Write on an issue or request; a forge may number the two apart."""

    def reply(self, number: int, to: Comment, text: str) -> Comment:
        """Answer below a comment where the forge can, else write on the request and quote it."""

    def close_issue(self, number: int) -> None:
        """Close an issue."""

    def open_request(self, *, head: str, base: str, title: str, text: str, draft: bool = False) -> ForgeRequest:
        """Ask to merge a branch that was pushed. The open one of that branch, when there is one already."""

    def edit_request(self, number: int, *, title: str = "", text: str = "") -> ForgeRequest:
        """Give a request other words; "" leaves them."""

    def request(self, number: int) -> ForgeRequest:
        """A request as it is now."""

    def requests(self, *, most: int = 100) -> Sequence[ForgeRequest]:
        """The open requests, the newest first."""

    def comments(self, number: int) -> Iterator[Comment]:
        """All comments of a request, on lines and reviews too, the oldest first."""

    def review(self, number: int, commit: str, text: str, remarks: Sequence[Remark]) -> str:
        """Write a review that neither approves nor refuses; its address. A remark whose line is not in the diff goes
        into the text.
        """

    def set_status(self, commit: str, status: Status) -> None:
        """Say what a check found of a commit."""

    def statuses(self, commit: str) -> Sequence[Status]:
        """What checks say of a commit, the newest of each name."""

    def build_log(self, build: str, most_bytes: int) -> str:
        """The end of a failed build's log."""


@dataclass(frozen=True)
class ForgeAddress:
    """Where a forge's API is asked: `https://host[:port]`, and the path of the repository there."""

    kind: Kind
    host: str
    path: str
    port: int = 443
    number: int | None = None  # when the address named an issue or a request
    about: About | None = None
