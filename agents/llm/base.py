"""The contract with a model: text in, deltas and one completion out, and errors a person can read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Protocol, TypedDict

MAX_REPLY_BYTES = 2_000_000  # no step of ours asks for more than a few files; beyond this a model is looping
DEFAULT_WINDOW = 32_768  # tokens; one value per model, because a changed window makes the server load it again

Stage = Literal["connect", "first_token", "idle", "total"]


class TurnLabel(TypedDict, total=False):
    """What a turn is, for code that reads conversations."""

    persona: str  # of a system prompt
    task: str  # of an opening: the task's key
    approach: int  # of an opening: 1, 2, …
    step: str  # what a question asks for


class Message(TypedDict):
    """One turn of a conversation. Models get role and content alone; the rest is kept with the turn."""

    role: Literal["system", "user", "assistant"]
    content: str
    sources: NotRequired[list[str]]  # who wrote it (agents.prompts.provenance)
    label: NotRequired[TurnLabel]


def step_of(message: Message) -> str:
    """What a turn asks for; empty for a turn without a label."""
    return message.get("label", {}).get("step", "")


@dataclass(frozen=True)
class TokenUsage:
    """What one call cost. `reused_tokens` is None when the server does not say what its cache saved.

    `estimated` is true when the server did not count and the tokens are our own estimate.
    """

    prompt_tokens: int
    completion_tokens: int
    prompt_eval_s: float
    eval_s: float
    model: str
    reused_tokens: int | None = None
    estimated: bool = False

    @property
    def tokens_per_s(self) -> float:
        """Speed of writing, 0.0 when nothing was measured."""
        return self.completion_tokens / self.eval_s if self.eval_s > 0 else 0.0


@dataclass(frozen=True)
class Delta:
    """A piece of text as it is written."""

    text: str


@dataclass(frozen=True)
class Completion:
    """The whole reply. `done_reason` "length" means that it was cut; `recorded` that no model was thinking.

    `instead_of` says of each model that was to answer before this one why it did not. `thought` is what a thinking
    model wrote apart from its answer.
    """

    text: str
    usage: TokenUsage
    done_reason: str
    recorded: bool = False
    instead_of: tuple[str, ...] = ()
    thought: str = ""

    @property
    def truncated(self) -> bool:
        """True when the reply stopped at a limit instead of at its end."""
        return self.done_reason == "length"


@dataclass(frozen=True)
class Timeouts:
    """Seconds a call may take: to connect, to the first token (prefill), between tokens, and in all."""

    connect: float = 2.0
    first_token: float = 120.0
    idle: float = 60.0
    total: float = 900.0


@dataclass(frozen=True)
class Health:
    """What a server says of itself; `problem` and `hint` are empty when all is well."""

    ok: bool
    version: str = ""
    problem: str = ""
    hint: str = ""
    models: tuple[str, ...] = ()
    context_length: int | None = None
    recorded: bool = False


class LLMError(Exception):
    """Talking to the model failed; the text is safe to show to a person."""


class ModelUnavailable(LLMError):
    """The server does not answer, is busy, or hung up. Waiting helps; `retry_after` is in seconds, if known."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelTimeout(LLMError):
    """The server took longer than `seconds` in one stage of the call."""

    _WORDS = {
        "connect": "did not accept a connection",
        "first_token": "gave no first token",
        "idle": "went silent in the middle of its reply",
        "total": "did not finish its reply",
    }

    def __init__(self, stage: Stage, seconds: float) -> None:
        super().__init__(f"The model server {self._WORDS[stage]} within {seconds:g} s.")
        self.stage: Stage = stage
        self.seconds = seconds


class ModelMissing(LLMError):
    """The server is there, the model is not."""

    def __init__(self, model: str, hint: str) -> None:
        super().__init__(f"The model {model} is not on this server. {hint}".rstrip())
        self.model, self.hint = model, hint


class ContextTooLong(LLMError):
    """The conversation does not fit the model's window, so older parts would be lost in silence."""

    def __init__(self, tokens: int, window: int) -> None:
        super().__init__(
            f"The conversation needs about {tokens} tokens and the model's window holds {window}: shorten it first."
        )
        self.tokens, self.window = tokens, window


class ModelRefused(LLMError):
    """The server answered with an error that trying again will not cure."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ReplyTooLong(LLMError):
    """The reply passed the size limit; nothing of it is used."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The model's reply passed {limit} bytes and was stopped; it was probably repeating itself.")
        self.limit = limit


class Cancelled(LLMError):
    """Somebody stopped the call."""

    def __init__(self, message: str = "The call to the model was stopped.") -> None:
        super().__init__(message)


class Provider(Protocol):
    """A kind of model server. Raises only the `LLMError` tree; foreign errors stop here.

    `server` names the machine behind it (calls to one server share a circuit breaker), `window` is in tokens,
    `recorded` is true when replies come from a recording rather than from a model.
    """

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def server(self) -> str: ...
    @property
    def window(self) -> int: ...
    @property
    def recorded(self) -> bool: ...
    @property
    def timeouts(self) -> Timeouts: ...

    def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        temperature: float = 0.2,
        seed: int | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[Delta | Completion]:
        """Ask the model; the last item is the `Completion`, all before it are `Delta`s."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Turn texts into vectors, in the order given."""
        ...

    async def aclose(self) -> None:
        """Close the connections of the running event loop; the provider can be used again."""
        ...

    def health(self) -> Health:
        """Look at the server without raising; returns within a few seconds."""
        ...
