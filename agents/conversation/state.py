"""A conversation as plain data: what is remembered of it, and the turn that is under way.

It is stored after every step, so a process that dies in between loses at most the step it was in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

Mode = Literal["chat", "todo", "review"]
TodoPhase = Literal["plan", "approve", "work", "judge", "choose", "confirm", "more", "over"]
StepState = Literal["pending", "in_progress", "done", "failed", "skipped"]
KEPT_LATENCIES = 200


@dataclass
class Command:
    """What a reply asks to have done. `problem` says why it cannot be, as it is written; it is meant for the model."""

    tool: str
    argument: str = ""
    body: str = ""
    problem: str = ""

    @property
    def title(self) -> str:
        """The command in one line."""
        first, _, more = self.argument.strip().partition("\n")
        return f"{self.tool} {' '.join(first.split())[:200]}{' …' if more else ''}".strip()


@dataclass
class FileChange:
    """A file before and after; None where it is not there."""

    path: str
    old: str | None
    new: str | None

    @property
    def word(self) -> str:
        """What happened to it."""
        return "created" if self.old is None else "deleted" if self.new is None else "changed"


@dataclass
class Excerpt:
    """Lines of a file, from number `first` on, of `total`."""

    path: str
    first: int
    total: int
    rows: list[str]


@dataclass
class ToolResult:
    """What came of a command: `output` is for the model and for people; `next_steps` can be taken after a failure.

    `source` is where the output comes from (agents.prompts.provenance.Source), `seconds` how long it took without the
    person's answers.
    """

    tool: str
    title: str
    ok: bool
    output: str
    source: str = "product"
    next_steps: list[str] = field(default_factory=list)
    changes: list[FileChange] = field(default_factory=list)
    seconds: float = 0.0
    refused: bool = False  # by the person
    excerpt: Excerpt | None = None  # of a file that was read

    @property
    def line(self) -> str:
        """What came of it, in one line, as it is remembered."""
        return f"{self.title}: {'ok' if self.ok else self.output.splitlines()[0][:160]}"


@dataclass
class HalfDone:
    """A command that ran, whose changed files nobody has decided on yet; it is not run again for that."""

    output: str
    ok: bool
    changes: list[FileChange] = field(default_factory=list)


@dataclass
class Exchange:
    """A prompt and the replies to it, with one line for each thing that was done.

    `response` is what people see of the replies; `replies` is how the model is shown them again.
    """

    prompt: str
    response: str
    done: list[str] = field(default_factory=list)
    failed: bool = False  # the newest command of it did
    trouble: str = ""  # what that command said
    replies: list[str] = field(default_factory=list)


@dataclass
class PlanStep:
    """A step of a plan, or a TODO: what is to be done and what is expected of it."""

    number: int
    description: str
    expected: str = ""
    state: StepState = "pending"
    note: str = ""  # of a failure, or of what is to be done differently


@dataclass
class ChatPlan:
    """What a goal was broken into; nothing is done before a person `approved` it."""

    goal: str
    steps: list[PlanStep] = field(default_factory=list)
    approved: bool = False
    over: bool = False
    question: str = ""  # what a person is asked about it; "" for whether it is to be followed
    choices: list[str] = field(default_factory=list)  # with a question: what yes, no with words, and plain no mean

    @property
    def current(self) -> PlanStep | None:
        """The first step that is not settled."""
        return next((step for step in self.steps if step.state in ("pending", "in_progress")), None)


@dataclass
class TodoWork:
    """Where TODO mode stands; its TODOs are the steps of the conversation's plan.

    `rounds`, `tries` and `seen` (what its tools gave, the oldest first) are of the TODO that is worked on.
    """

    phase: TodoPhase = "plan"
    asked: int = 0  # questions to the model
    rounds: int = 0
    tries: int = 0  # results that were not accepted
    unusable: int = 0  # replies in a row
    problem: str = ""  # of the newest reply, in words for the model
    message: str = ""  # of the newest reply
    same: int = 0  # replies in a row that ask for the same
    newest: str = ""  # what the newest reply asks for
    claimed: bool = False  # the model says that the result is there
    more: int = 0  # times that TODOs were added at the end
    retries: int = 0  # that a person asked for without a word
    back: TodoPhase = "work"  # where a person's choice leads back to
    wishes: list[str] = field(default_factory=list)  # a person's words about how it is to be done
    seen: list[ToolResult] = field(default_factory=list)


@dataclass
class Turn:
    """One prompt and all that follows from it, until the model asks for nothing more.

    `pending` are the commands of the newest reply that are still to be done, `results` what came of those before.
    """

    number: int
    prompt: str
    messages: list[dict[str, Any]] = field(default_factory=list)  # agents.llm.base.Message
    rounds: int = 0
    pending: list[Command] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # the model's replies, with the commands as people see them
    done: list[str] = field(default_factory=list)  # a line for each command
    failed: bool = False  # the newest command of it did
    trouble: str = ""
    changes: list[FileChange] = field(default_factory=list)
    model_seconds: float = 0.0
    todo: TodoWork | None = None  # in TODO mode
    step: int = 0  # of the plan that is followed; 0 for a prompt of the person's
    half_done: HalfDone | None = None  # the first of the pending commands


@dataclass
class ChatState:
    """Everything that is kept of a conversation from one prompt, and one process, to the next."""

    mode: Mode = "chat"
    number: int = 0  # of the newest turn
    exchanges: list[Exchange] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)  # a line for each exchange that is no longer remembered whole
    granted: list[str] = field(default_factory=list)  # tools that need no question for the rest of the session
    granted_in: str = ""  # whose session that is
    packages: list[str] = field(default_factory=list)  # of the sandbox
    turn: Turn | None = None
    plan: ChatPlan | None = None
    latencies: list[float] = field(default_factory=list)  # seconds from a prompt to the end of its answer
    search_tokens: int = 0  # of web pages that were put into prompts

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return dict(_ADAPTER.dump_python(self, mode="json"))

    def time_taken(self, seconds: float) -> None:
        """Remember how long an answer took."""
        self.latencies = [*self.latencies, round(seconds, 3)][-KEPT_LATENCIES:]


_ADAPTER = TypeAdapter(ChatState)


def chat_state_from(stored: Any) -> ChatState:
    """A conversation as it was stored; what cannot be read is a new one."""
    try:
        return _ADAPTER.validate_python(stored or {})
    except ValueError:
        return ChatState()
