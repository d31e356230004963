"""A forge in memory: what a project's pull request looks like there, for tests of what we do about it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from agents.forges.contract import Comment, ForgeRefused, ForgeRequest, Person
from projects.models import ForgeLink, PullRequest, Run
from projects.services.audit.sealing import seal

US, ADA, STRANGER, BOT = Person("1", "aiswe"), Person("10", "ada"), Person("66", "mallory"), Person("9", "ci", True)
SECRET = "the secret of the hook"
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class MemoryForge:
    """One request of one repository. `down` makes it refuse everything, `asked` counts how often it was looked at.

    `refusals` are what the next answers come to; one without a status is written all the same.
    """

    head: str
    state: Any = "open"
    written: list[Comment] = field(default_factory=list)
    replies: list[tuple[str, str]] = field(default_factory=list)
    down: str = ""
    refusals: list[ForgeRefused] = field(default_factory=list)
    asked: int = 0
    _idents: Iterator[int] = field(default_factory=lambda: count(100))

    def _up(self) -> None:
        if self.down:
            raise ForgeRefused(self.down)

    def me(self) -> Person:
        return US

    def request(self, number: int) -> ForgeRequest:
        self.asked += 1
        self._up()
        return ForgeRequest(number, "T", "", US, self.state, "https://f/7", "aiswe", self.head, "main", "")

    def comments(self, number: int) -> Iterator[Comment]:
        yield from self.written

    def reply(self, number: int, to: Comment, text: str) -> Comment:
        self._up()
        refused = self.refusals.pop(0) if self.refusals else None
        if refused is not None and refused.status:
            raise refused
        self.replies.append((to.ident, text))
        made = self.write(US, text, reply_to=to.ident)
        if refused is not None:
            raise refused
        return made

    def write(self, author: Person, text: str, **more: Any) -> Comment:
        made = Comment(str(next(self._idents)), more.pop("place", "conversation"), author, text, AT, **more)
        self.written.append(made)
        return made

    def edit(self, one: Comment, text: str) -> None:
        self.written[self.written.index(one)] = replace(one, text=text)


def linked(run: Run, commit: str, **settings: Any) -> PullRequest:
    """The pull request of a run, number 7 of ada/shop, with a webhook that has SECRET."""
    link = ForgeLink.objects.create(
        project=run.project,
        kind="github",
        host="github.com",
        path="ada/shop",
        secret=seal(SECRET.encode()).decode(),
        **{"takes_requests": True, **settings},
    )
    return PullRequest.objects.create(
        link=link, run=run, number=7, branch="aiswe/work", base="main", commit=commit, web_address="https://f/7"
    )
