"""What the planner is shown beside the requirements, and its one look at files and documentation before it decides."""

from __future__ import annotations

from difflib import get_close_matches

from agents.context.documents import sections
from agents.context.files import part_of
from agents.context.meaning import Asking
from agents.context.questions import chunks_of
from agents.context.retrieval import LIBRARY, Chunk, retrieve
from agents.engine.nodes.common import lessons_text
from agents.engine.planner_context import PlanContext
from agents.events.effects import SystemNotice
from agents.events.reasoning import LessonsRecalled
from agents.llm.tokens import count_tokens
from agents.memory.choosing import find_lessons
from agents.planning.lookups import Lookups
from agents.prompts.provenance import Material, Source, joined, label

TOKENS = 6_000  # of all that is shown in answer
CHARS_PER_TOKEN = 3
FILE_CHARS = 6_000  # of one file: what the document names, or else what fits its words
QUESTION_CHARS, PLACES = 2_000, 3  # of one question
NAMED_DOCS = 20


def lessons_for(ctx: PlanContext, about: str) -> Material:
    """What earlier repairs in this project taught about such work; put on record."""
    found = find_lessons(ctx.lessons, project=ctx.project, text=about, across=ctx.lessons_across_projects)
    if not found:
        return Material("", ())
    rows = [one.to_json() for one in found]
    summary = f"Recalled for the plan: {found[0].lesson.cause}"
    recalled = LessonsRecalled(summary=summary, error_signature="", lessons=rows)
    ctx.event_log.emit(recalled, key=ctx.key("plan/recall"))
    return lessons_text(rows)


def documents_named(ctx: PlanContext) -> Material:
    """Which documentation of libraries can be searched, by file."""
    docs = ctx.knowledge.docs
    paths = dict.fromkeys(chunk.path for chunk in sections(docs, ctx.project)) if docs is not None else {}
    return label(", ".join(list(paths)[:NAMED_DOCS]), Source.PACKAGE)


def offered(ctx: PlanContext) -> bool:
    """Whether there is anything to look at: code, or documentation that the operator provides."""
    return bool(ctx.code and ctx.repository is not None) or bool(documents_named(ctx))


def looked_up(ctx: PlanContext, wanted: Lookups) -> Material:
    """The files and sections that were asked for, in at most TOKENS; what is not there is said. Raises GitError."""
    left, rest = TOKENS * CHARS_PER_TOKEN, len(wanted.files)
    left -= min(left // 2, QUESTION_CHARS * len(wanted.questions))
    paths = list(ctx.repository.blobs(ctx.commit)) if ctx.repository is not None else []
    parts: list[str] = []
    for path in wanted.files:
        text = (ctx.repository.read(ctx.commit, path) if ctx.repository and path in paths else None) or ""
        if ctx.repository is None or not text or "\0" in text:
            close = get_close_matches(path, paths, n=3)
            known = f" Near: {', '.join(close)}." if close and path not in paths else ""
            what = "holds no text" if path in paths else "is not in the repository"
            parts.append(label(f"{path} {what}.{known}", Source.REPOSITORY))
        else:
            room = max(400, min(FILE_CHARS, left // rest))
            shown = part_of(ctx.repository, ctx.commit, path, text, about=ctx.text, chars=room)
            left -= len(shown)
            parts.append(label(shown, Source.REPOSITORY, f"path={path}"))
        rest -= 1
    parts += [part for question in wanted.questions for part in _sections(ctx, question)]
    notice = SystemNotice(
        summary=f"The planner read {len(wanted.files)} files and looked up {len(wanted.questions)} questions",
        role="planner",
        text="\n".join([*wanted.files, *wanted.questions]),
        details={"read_file": list(wanted.files), "search_docs": list(wanted.questions)},
    )
    ctx.event_log.emit(notice, key=ctx.key("plan/lookups"))
    return joined(_within(parts))


def _sections(ctx: PlanContext, question: str) -> list[Material]:
    """Sections of documentation and pieces of the repository that fit a question."""
    known, chunks = ctx.knowledge, list[Chunk]()
    if known.docs is not None and ctx.repository is not None:
        chunks = chunks_of(ctx.repository, ctx.commit, known.docs, ctx.project)
    elif known.docs is not None:
        chunks = sections(known.docs, ctx.project)
    near = Asking(known.meaning) if known.meaning is not None and chunks else None
    found = retrieve(question, chunks, limit=PLACES, chars=QUESTION_CHARS, near=near)
    if not found:
        return [label(f"Nothing found for: {question}", Source.MODEL)]
    whose = {LIBRARY: Source.PACKAGE}
    return [label(one.text, whose.get(one.kind, Source.REPOSITORY), f"path={one.path}") for one in found]


def _within(parts: list[str]) -> list[str]:
    """As many parts from the front as fit: texts without spaces cost more than their length says."""
    kept, left = list[str](), TOKENS
    for part in parts:
        left -= count_tokens(part)
        if left < 0:
            kept.append("(More was found; there is no room for it.)")
            break
        kept.append(part)
    return kept
