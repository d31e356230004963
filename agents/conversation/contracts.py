"""What a conversation needs from outside: the files it works on, the person it is held with, and its clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from agents.conversation.state import ChatPlan, ChatState, Command, FileChange, ToolResult
from agents.conversation.web_search import OFF, NoSearch, WebSearch
from agents.engine.contracts import ModelContext, Supply
from agents.firewall.guard import Guard
from agents.replies.keeping import Keeping
from sandbox.base import Backend, ExecResult
from sandbox.test_setup import TestSetup

Leave = Literal["no", "once", "session"]
HOW = (
    "Change the file with EDIT, or WRITE each changed definition whole, inside its class; what WRITE does not hold "
    "stays."
)


@dataclass(frozen=True)
class PermissionRequest:
    """What a person is asked before it is done.

    `why` is a reason for care ("" when there is none), `detail` what it is about in full, `changes` the files that it
    would change. Where `each_time`, leave for the session is not offered.
    """

    tool: str
    title: str
    why: str = ""
    detail: str = ""
    changes: Sequence[FileChange] = ()
    each_time: bool = False


class Files(Protocol):
    """The files of a conversation, as they stand now. Paths are relative, with `/`, and were checked."""

    def paths(self) -> Sequence[str]:
        """All files, in order; what the repository ignores is left out."""
        ...

    def read(self, path: str) -> str | None:
        """The text of a file; None when it is not there. Raises NotText for one that is no text."""
        ...

    def glance(self, path: str) -> str | None:
        """As `read`, for looking through many files: what is not saved in an editor yet may be missing."""
        ...

    def refusal(self, changes: Sequence[FileChange]) -> str:
        """Why such changes cannot be made here at all, "" when they can: it is asked before a person is."""
        ...

    def write(self, changes: Sequence[FileChange]) -> None:
        """Make the files so. Raises FilesRefused when that cannot be done; then nothing was done."""
        ...

    def folder(self) -> Path:
        """A folder with all of them, for a sandbox to copy."""
        ...


class NotText(Exception):
    """A file is no text; the message says what it is."""


class FilesRefused(Exception):
    """The files could not be changed; the message says why."""


class Surface(Protocol):
    """Where a person takes part: a terminal, an editor, a page.

    Questions may raise agents.engine.waiting.Waiting where nobody is there to answer: the command is done later.
    """

    def permit(self, wish: PermissionRequest) -> Leave:
        """Ask for leave; whatever is not clearly a yes is a no."""
        ...

    def confirm(self, question: str) -> bool:
        """Put the model's question; whatever is not clearly a yes is a no."""
        ...

    def approve(self, plan: ChatPlan) -> tuple[bool, str]:
        """Show a plan and ask whether it is to be followed; with a no, what is to be different ("" for nothing)."""
        ...

    def started(self, command: Command) -> None:
        """A command begins."""
        ...

    def finished(self, command: Command, result: ToolResult) -> None:
        """A command is over."""
        ...

    def progress(self, plan: ChatPlan) -> None:
        """A step of the plan changed its state."""
        ...

    def replied(self, text: str) -> None:
        """A reply of the model is complete; its words were shown while they were written."""
        ...

    def notice(self, text: str) -> None:
        """Something worth knowing."""
        ...


def no_doubts(changes: Sequence[FileChange]) -> Sequence[str]:
    """For files that are looked at again before they count: a chat's branch is checked before it is merged."""
    return ()


def in_the_sandbox(line: str) -> ExecResult | None:
    """Every command runs in the sandbox."""
    return None


@dataclass(kw_only=True)
class TalkContext(ModelContext):
    """Everything a conversation may use. Clients live here; its state is plain data."""

    conversation: ChatState
    files: Files
    surface: Surface
    backend: Callable[[], Backend]  # on use: a conversation without EXEC needs no sandbox
    supply: Supply
    save: Callable[[], None]  # keeps the conversation as it stands
    persona: str = ""  # who the model is to be, in the operator's words
    web: WebSearch = field(default_factory=lambda: NoSearch(OFF))
    guard: Guard | None = None
    keeping: Keeping = field(default_factory=lambda: Keeping(how=HOW, named="WRITE"))
    label: str = "chat"  # of its sandboxes
    test_setup: TestSetup = field(default_factory=TestSetup)  # how this repository's tests are run
    test_packages: tuple[str, ...] = ()  # what they need: every command has it
    following: bool = False  # an approved plan is being followed: what it writes and runs needs no further leave
    waited: float = 0.0  # seconds that a person took to answer; no command is charged with them
    # What speaks against changes; with a doubt a person is asked, whatever was allowed before.
    doubts: Callable[[Sequence[FileChange]], Sequence[str]] = no_doubts
    # Runs a command where the person chose to instead of the sandbox; None where they did not choose so this time.
    elsewhere: Callable[[str], ExecResult | None] = in_the_sandbox
