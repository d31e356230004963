"""Questions about a project: where its code, documents or libraries answer them, and what a model says of these places.

Vectors belong to the process that owns the memory; any other reads a copy of them, and makes none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.conf import settings

from agents.context.knowledge import DOCS
from agents.context.meaning import meaning_of
from agents.context.questions import FoundPlace, chunks_of, find_places, places_of, texts_of
from agents.context.retrieval import LIBRARY, Chunk
from agents.context.vectors import VectorStore
from agents.firewall.trifecta import without_secrets
from agents.llm.base import LLMError
from agents.llm.scripted_server.scenario import ScenarioError
from agents.memory.folder import ChromaFolder, copied
from agents.prompts.provenance import Source, as_turn, joined, label, render
from agents.workspace.git import GitError
from projects.engine.model_clients import provider_for, runner
from projects.engine.paths import home, repository_of
from projects.errors import BadInput, NotFound
from projects.models import Project
from projects.services.accounts import rights
from projects.services.accounts.rights import Person
from projects.services.delivery.downloads import branches
from projects.services.insight.lessons import embedder, store
from projects.services.work.queue import enqueue

LONGEST = 200  # characters of a question
ANSWER_TOKENS, ANSWER_SECONDS = 400, 60.0
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
    """Places that fit a question, best first; `notes` say what made the search weaker, and why there is no answer."""

    commit: str
    places: Sequence[CodePlace]
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


def search(project: Project, question: str, *, seconds: float = ASKED_SECONDS) -> FoundAnswer:
    """The places of the newest code that fit a question. Raises BadInput, and NotFound without code."""
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
    with _vectors(project) as (made, why):
        if made is not None and not why:
            why = _stale(made, project)
            found.to_index = bool(why)
        if made is not None and not why and made.folder is store().folder:
            left, missing = meaning_of(made, embedder()).learn(texts_of(chunks), seconds)
            if left:
                found.notes.append(f"{left} parts of the code are found by words alone: {missing}.")
                enqueue("projects.jobs.index_project", project.pk)
        places, problem = find_places(
            question, chunks, store=None if why else made, embedder=None if why else embedder()
        )
        found.places = [_place(one) for one in places]
    if why or problem:
        found.notes.append(f"Found by words alone: {why or problem}")
    return found


def _place(found: FoundPlace) -> CodePlace:
    chunk, piece = found.chunk, found.chunk.piece
    return CodePlace(chunk.path, piece.line, piece.end, chunk.name, chunk.kind, found.score, chunk.text)


@contextmanager
def _vectors(project: Project) -> Iterator[tuple[VectorStore | None, str]]:
    """The vectors of a project, its own or a copy; or why there are none."""
    folder: ChromaFolder = store().folder
    if not settings.REDIS_URL:  # else the workers own it: a page that took it would leave them without memory
        folder.client()
        if not folder.taken:
            yield VectorStore(folder, project.slug, embedder().label), folder.problem
            return
    try:
        with copied(folder.path) as copy:
            yield VectorStore(copy, project.slug, embedder().label), ""
    except OSError as error:
        yield None, f"the memory of the other process cannot be read: {error}"


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
    end = time.monotonic() + ANSWER_SECONDS
    try:
        done = runner().complete(
            provider_for(project, "reviewer"),
            without_secrets([turn]),
            temperature=0.0,
            max_tokens=ANSWER_TOKENS,
            cancelled=lambda: time.monotonic() > end,
        )
    except (LLMError, ScenarioError) as trouble_with_model:
        found.notes.append(f"No model answered: {trouble_with_model}")
        return
    found.answer = done.text.strip() or None
    if found.answer is None:
        found.notes.append("The model's answer was empty.")
