"""Questions about a project: where its code, documents or libraries answer them, in which order, and a model's answer.

Vectors belong to the process that owns the memory; any other reads a copy of them, and makes none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from agents.context.knowledge import DOCS
from agents.context.meaning import meaning_of
from agents.context.ordering import CANDIDATES, SCHEMA, TOKENS, in_order, order_turn, read_order
from agents.context.questions import PLACES, FoundPlace, chunks_of, find_places, places_of, texts_of
from agents.context.retrieval import LIBRARY, Chunk
from agents.context.vectors import VectorStore
from agents.firewall.trifecta import without_secrets
from agents.llm.base import Cancelled, Completion, LLMError, Message, Provider
from agents.llm.scripted_server.scenario import ScenarioError
from agents.memory.folder import ChromaFolder, copied
from agents.prompts.provenance import Source, as_turn, joined, label, render
from agents.workspace.git import GitError
from projects.engine.model_clients import parallel, provider_for, runner
from projects.errors import BadInput, NotFound
from projects.models import Project, Run
from projects.services.accounts import rights
from projects.services.accounts.rights import Person
from projects.services.audit.sitelog import note
from projects.services.delivery.downloads import branches
from projects.services.memory.lessons import embedder, store
from projects.storage.paths import home, repository_of
from projects.workers.queue import enqueue

LONGEST = 200  # characters of a question
ANSWER_TOKENS, ANSWER_SECONDS = 400, 60.0
ORDER_SECONDS = 45.0  # the search's own order is there already
INDEX_SECONDS = 3_600.0  # of a job; what is left then is made by the next
ASKED_SECONDS = 5.0  # for vectors that a question finds missing
VERB = "run.start"  # asking a model costs what a run costs


@dataclass(frozen=True)
class CodePlace:
    """A piece of a file; `in_repository` is False for documentation that the operator provides."""

    path: str
    line: int
    end: int
    symbol: str
    kind: str  # code, document, library
    score: float  # orders the places of one question and means nothing else
    text: str

    @property
    def in_repository(self) -> bool:
        """Whether the file browser has it."""
        return self.kind != LIBRARY


@dataclass
class FoundAnswer:
    """Places that fit a question, best first; `notes` say what made the search weaker, and why there is no answer.

    `finds` are more than the places, in the search's order; `first` are the positions of those that a model put first.
    """

    commit: str
    places: Sequence[CodePlace]
    finds: Sequence[FoundPlace] = ()
    first: Sequence[int] = ()
    order: str = "Ordered by words and vectors."  # who ordered the places, and why nobody better
    answer: str | None = None
    notes: list[str] = field(default_factory=list)
    to_index: bool = False  # a person has to have it indexed again


def index_project(project: Project, commit: str = "", *, again: bool = False, seconds: float = INDEX_SECONDS) -> str:
    """Make the vectors that a commit lacks, the newest by default; returns why some are missing, "" when none is.

    What another embedding has indexed is replaced only with `again`. Raises GitError.
    """
    made, at = VectorStore(store().folder, project.slug, embedder().label), commit or _newest(project)
    if not at:
        return ""
    if not again and (why := _stale(made, project)):
        return why
    chunks = _chunks(project, at)
    left, why = meaning_of(made, embedder()).learn(texts_of(chunks), seconds)
    if not made.folder.problem:
        made.describe(places_of(chunks, embedder(), at))
    return f"{left} pieces have no vector yet: {why}" if left else made.folder.problem


def _stale(made: VectorStore, project: Project) -> str:
    if other := made.other_embedding():
        return (
            f"The code was indexed with {other}, and {embedder().name} is in use now: it has to be indexed "
            f"again (`aiswe project index {project.slug}`)."
        )
    return ""


def _newest(project: Project) -> str:
    """The commit of the base branch, else of the newest branch; "" without code."""
    known = branches(project)
    return str(known.get(project.base_branch) or next(iter(known.values()), ""))


def _chunks(project: Project, commit: str) -> list[Chunk]:
    return chunks_of(repository_of(project), commit, home() / DOCS, project.slug)


def search(project: Project, question: str, *, seconds: float = ASKED_SECONDS, borrows: bool = False) -> FoundAnswer:
    """The places of the newest code that fit a question. Raises BadInput, and NotFound without code.

    A process that `borrows` reads a copy of the vectors and never owns them, so that a server may start beside it.
    """
    question = " ".join(question.split())
    if not question or len(question) > LONGEST:
        raise BadInput(f"Ask a question of at most {LONGEST} characters.")
    try:
        commit = _newest(project)
        chunks = _chunks(project, commit) if commit else []
    except GitError as broken:
        raise NotFound(f"{project.name}: {broken}.") from None
    if not commit:
        raise NotFound(f"{project.name} has no code yet.")
    found = FoundAnswer(commit, [])
    with _vectors(project, borrows=borrows) as (made, why):
        if made is not None and not why:
            why = _stale(made, project)
            found.to_index = bool(why)
        if made is not None and not why and made.folder is store().folder:
            left, missing = meaning_of(made, embedder()).learn(texts_of(chunks), seconds)
            if left:
                found.notes.append(f"{left} parts of the code are found by words alone: {missing}.")
                enqueue("projects.jobs.index_project", project.pk)
        found.finds, problem = find_places(
            question, chunks, store=None if why else made, embedder=None if why else embedder(), limit=CANDIDATES
        )
        found.places = [_place(one) for one in found.finds[:PLACES]]
    if why or problem:
        found.order = "Ordered by words."
        found.notes.append(f"Found by words alone: {why or problem}")
    return found


def _place(found: FoundPlace) -> CodePlace:
    chunk, piece = found.chunk, found.chunk.piece
    return CodePlace(chunk.path, piece.line, piece.end, chunk.name, chunk.kind, found.score, chunk.text)


@contextmanager
def _vectors(project: Project, *, borrows: bool) -> Iterator[tuple[VectorStore | None, str]]:
    """The vectors of a project, its own or a copy; or why there are none."""
    folder: ChromaFolder = store().folder
    if borrows and not folder.path.exists():
        yield None, "no vectors have been made yet"
        return
    if (
        not settings.REDIS_URL and not borrows
    ):  # else the workers own it: a page that took it would leave them without memory
        folder.client()
        if not folder.taken:
            yield VectorStore(folder, project.slug, embedder().label), folder.problem
            return
    try:
        with copied(folder.path) as copy:
            yield VectorStore(copy, project.slug, embedder().label), ""
    except OSError as error:
        yield None, f"the memory cannot be read: {error}"


def may_order(project: Project, found: FoundAnswer, *, by: Person) -> bool:
    """Whether a model can be asked for the order of these finds; a recording has no reply to it."""
    return len(found.finds) > 1 and not project.is_recording and rights.can(by, project, VERB)


def order(project: Project, question: str, found: FoundAnswer, *, by: Person) -> None:
    """Have the project's model put the best finds first; without a usable reply in time the search's order stays."""
    if not may_order(project, found, by=by):
        return
    try:
        provider = provider_for(project, "reviewer")
        if _is_busy(provider):
            found.order = f"The model is busy with a run. {found.order}"
            return
        turn, options = order_turn(question, found.finds), {"schema": SCHEMA, "max_tokens": TOKENS}
        done = _complete(provider, turn, options, ORDER_SECONDS, record=("question.ordered", project, by))
    except (LLMError, ScenarioError) as trouble:
        found.order = f"The model did not respond ({_why(trouble, ORDER_SECONDS)}). {found.order}"
        return
    if first := read_order(done.text, len(found.finds)):
        put_first(found, first, f"Ordered by {done.usage.model}.")
    else:
        found.order = f"The model's reply names no place. {found.order}"


def put_first(found: FoundAnswer, first: Sequence[int], order: str) -> None:
    """Show the finds at these positions before the others; positions that do not exist change nothing."""
    found.first = [at for at in dict.fromkeys(first) if 0 <= at < len(found.finds)][:PLACES]
    if found.first:
        found.places = [_place(one) for one in in_order(found.finds, found.first)[:PLACES]]
        found.order = order


def _is_busy(provider: Provider) -> bool:
    """Whether runs keep the server busy: a question would hold them up, and cost them the server's cache."""
    working = 0
    for run in Run.objects.filter(status=Run.Status.RUNNING, wait_reason="").select_related("project"):
        try:
            working += provider_for(run.project).server == provider.server
        except (LLMError, ScenarioError):
            continue  # it asks no server
    return working >= parallel(provider.server)


def _complete(
    provider: Provider,
    turn: Message,
    options: Mapping[str, Any],
    seconds: float,
    *,
    record: tuple[str, Project, Person],
) -> Completion:
    """One call, with its tokens in the site's trail because it belongs to no run. Raises LLMError."""
    start, (action, project, by) = time.monotonic(), record
    done = runner().complete(
        provider,
        without_secrets([turn]),
        temperature=0.0,
        cancelled=lambda: time.monotonic() > start + seconds,
        **options,
    )
    note(
        by,
        action,
        project.slug,
        {
            "model": done.usage.model,
            "prompt_tokens": done.usage.prompt_tokens,
            "completion_tokens": done.usage.completion_tokens,
            "ms": round(1000 * (time.monotonic() - start)),
        },
    )
    return done


def _why(trouble: Exception, seconds: float) -> str:
    return f"no reply within {seconds:.0f} s" if isinstance(trouble, Cancelled) else str(trouble).rstrip(".")


def answer(project: Project, question: str, found: FoundAnswer, *, by: Person) -> None:
    """Ask the project's model for an answer from these places; without one `notes` say why."""
    if not rights.can(by, project, VERB):
        who = ", ".join(rights.roles_that_may(VERB))
        found.notes.append(f"No model was asked: your role does not include {VERB}. Who may: {who}.")
        return
    if not found.places:
        found.notes.append("No model was asked: no place fits the question.")
        return
    blocks = [
        label(
            one.text,
            Source.REPOSITORY if one.in_repository else Source.PACKAGE,
            f"place={number} path={one.path} lines={one.line}-{one.end}",
        )
        for number, one in enumerate(found.places, 1)
    ]
    turn = as_turn("user", render("question", question=" ".join(question.split()), places=joined(blocks)))
    try:
        provider, options = provider_for(project, "reviewer"), {"max_tokens": ANSWER_TOKENS}
        done = _complete(provider, turn, options, ANSWER_SECONDS, record=("question.answered", project, by))
    except (LLMError, ScenarioError) as trouble:
        found.notes.append(f"No model answered: {_why(trouble, ANSWER_SECONDS)}.")
        return
    found.answer = done.text.strip() or None
    if found.answer is None:
        found.notes.append("The model's answer was empty.")
