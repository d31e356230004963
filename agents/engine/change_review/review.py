"""Review a change: run what can be run, ask the model piece by piece, prove or doubt each remark, tell the few left."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.context.brief import without_docstring
from agents.context.calls import around
from agents.context.index import shared
from agents.context.retrieval import Chunk, Piece, shortened
from agents.context.view import in_classes
from agents.engine.ask import ask, question_of
from agents.engine.change_review.findings import ChangeReview, ReviewFinding, merged, read_remark, told
from agents.engine.change_review.runs import (
    Runner,
    Suites,
    new_errors,
    new_findings,
    of_suites,
    packages_of,
    run_suites_at_both,
)
from agents.engine.change_review.units import ChangedPiece, DiffRow, pieces_of_change, rows_of
from agents.engine.contracts import TaskContext
from agents.engine.nodes.common import one_line, request_files, system_turn
from agents.engine.nodes.removals import free_name, tests_folder
from agents.engine.state import TaskState, start_state, updated
from agents.events.effects import ChangeRemarked, SystemNotice
from agents.languages.base import Language
from agents.languages.registry import is_test, language, language_of, language_of_task, main_language, owner_of
from agents.llm.base import Message, ReplyTooLong
from agents.personas import REVIEWER, TESTER
from agents.prompts.provenance import Material, Source, as_turn, joined, label, render
from agents.repair.feedback import clip, trace_text
from agents.replies.jsonish import parse_json
from agents.requirements.injection_hints import odd
from agents.workspace.worktree import changes_between
from sandbox.base import PackageRefused

MOST_PIECES = 30  # that the model is asked about
MOST_CHECKED, MOST_PROVED = 12, 6  # remarks that are asked about again, and that a test is written for
CONTEXT_CHARS, CHUNK_CHARS, ABOUT_CHARS, TRACE_CHARS = 3_000, 900, 800, 2_000
WHOLE_FILE = 1_000_000  # lines around a change
_ADDRESSED = re.compile(r"\b(?:review\w*|ai|llms?|assistants?|agents?|models?|instructions?|rules?|prompts?)\b", re.I)
_REMARKS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "change": {"type": "string"},
        "remarks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "line": {"type": "integer"},
                    "quote": {"type": "string"},
                    "kind": {"type": "string", "enum": ["bug", "security", "performance", "rule"]},
                    "problem": {"type": "string"},
                    "example": {"type": "string"},
                },
                "required": ["line", "quote", "kind", "problem"],
            },
        },
    },
    "required": ["change", "remarks"],
}
_CHECKED: dict[str, Any] = {
    "type": "object",
    "properties": {"because": {"type": "string"}, "true": {"type": "boolean"}},
    "required": ["because", "true"],
}


@dataclass
class _Work:
    """A review while it is made."""

    ctx: TaskContext
    review: ChangeReview
    about: str
    rows: dict[str, list[DiffRow]]
    chunks: list[Chunk]
    beside: Mapping[str, Sequence[Piece]]  # imports and constants of each file
    runner: Runner | None = None  # None where nothing can be run
    suites: Suites | None = None
    blamed: ReviewFinding | None = None  # where the tests that the change breaks say that the fault is

    @property
    def head(self) -> str:
        return self.review.head


def review_change(ctx: TaskContext, base: str, head: str, *, about: str = "", run_suites: bool = True) -> ChangeReview:
    """Review what `head` changes against `base`; `about` is what its author says of it, quoted to the model.

    Nothing in the change decides how it is reviewed. Raises GitError, and what asking and running raise (LLMError,
    OverBudget, Stopped, SandboxError).
    """
    repository = ctx.repository
    changes = changes_between(repository.store, base, head, lines=WHOLE_FILE)
    rows = {one.path: lines for one in changes if (lines := rows_of(one.diff))}
    index = shared.index(repository, head)
    chunks = [Chunk(path, piece) for path in index.pieces if not is_test(path) for piece in index.pieces[path]]
    review = ChangeReview(base, head, files=len(changes))
    review.unread = [one.path for one in changes if one.path not in rows]
    work = _Work(ctx, review, about, rows, chunks, index.beside)
    found, problem = new_findings(ctx, base, head, work.rows)
    if problem:
        review.notes.append(problem)
    spoken = main_language(repository.files(head))
    if spoken:
        runner = Runner(ctx, language(spoken), packages_of(ctx, language(spoken), base, head))
        try:
            if runner.packages:
                ctx.sandbox(runner.packages)
            work.runner = runner
        except PackageRefused as refused:
            review.notes.append(f"Nothing was run: it wants a package that cannot be had, {refused}.")
    if run_suites and work.runner:
        work.suites = run_suites_at_both(work.runner, base, head)
        told_by_tests = of_suites(work.runner, head, work.suites, work.rows)
        work.blamed = next((one for one in told_by_tests if one.line), None)
        found += told_by_tests
        if work.suites.problem:
            review.notes.append(f"Its tests say nothing: {one_line(work.suites.problem)}.")
    for path in work.rows:
        found += new_errors(repository, base, path, repository.read(head, path) or "", work.rows[path])
    found += _addressed(work)
    found += _asked(work)
    review.findings, left = told(merged(found))
    if left:
        review.dropped["there are surer ones"] = left
    for number, one in enumerate(review.findings):
        ctx.event_log.emit(_event(one), key=f"review/remark/{number}")
    return review


def _event(one: ReviewFinding) -> ChangeRemarked:
    return ChangeRemarked(
        summary=f"{one.where}: {one.text}"[:300],
        path=one.path,
        line=one.line,
        quote=one.quote,
        kind=one.kind,
        text=one.text,
        strength=one.strength,
        evidence=list(one.evidence),
        removed=one.removed,
        test=one.test,
    )


def _addressed(work: _Work) -> list[ReviewFinding]:
    """Added lines that speak to whoever reviews by machine: put on record, and told. They change nothing."""
    made = []
    for path, rows in work.rows.items():
        code = language_of(path) is not None and not is_test(path)  # of the rest the model sees nothing
        for row in rows:
            if row.mark == "+" and code and _ADDRESSED.search(row.text) and (why := odd(row.text)):
                said = f"A line {why}. It was read as text and changed nothing in this review."
                made.append(ReviewFinding(path, row.line, row.text.strip()[:300], "security", said, "found"))
    texts = [f"{one.where}: {one.quote}" for one in made]
    if why := odd(work.about):
        texts.append(f"the description {why}")
        work.review.notes.append(f"The description of the change {why}; it was read as text.")
    for number, text in enumerate(texts):
        notice = SystemNotice(summary=f"Words to the reviewer in the change, not obeyed: {text}"[:300], text=text)
        work.ctx.event_log.emit(notice, key=f"review/addressed/{number}")
    return made


def _asked(work: _Work) -> list[ReviewFinding]:
    """What the model says of the code in the change, after its remarks were doubted and put to the test."""
    pieces = _pieces(work)
    raised: list[tuple[ReviewFinding, ChangedPiece]] = []
    for number, piece in enumerate(pieces):
        for said in _said_of(work, piece, f"review/piece/{number}").get("remarks", ())[: 2 * len(piece.changed)]:
            remark, why = read_remark(said, piece) if isinstance(said, dict) else (None, "it cannot be read")
            if remark is None:
                work.review.drop(why)
            elif any((remark.path, remark.line) == (one.path, one.line) for one, _ in raised):
                work.review.drop("it is said already")
            else:
                raised.append((remark, piece))
    work.review.pieces = len(pieces)
    kept = []
    for number, (remark, piece) in enumerate(raised):
        if number >= MOST_CHECKED:
            work.review.drop("there are too many")
            continue
        checked = _checked(work, remark, piece, f"review/check/{number}")
        if checked is not None:
            kept.append((checked, piece))
    return [
        proved
        for number, (remark, piece) in enumerate(kept)
        if (proved := _proved(work, remark, piece, number) if number < MOST_PROVED else remark)
    ]


def _pieces(work: _Work) -> list[ChangedPiece]:
    """The parts of the change that are code, those first that hold most of it; the rest is named as unread."""
    pieces = []
    for path, rows in work.rows.items():
        spoken = language_of(path)
        if spoken is None or is_test(path):
            continue
        old, new = ("\n".join(row.text for row in rows if row.mark != mark) for mark in "+-")
        normal = spoken.normal(new)
        if any(row.mark == "+" for row in rows) and normal is not None and normal == spoken.normal(old):
            continue  # comments and layout alone
        pieces += pieces_of_change(path, rows) if new.strip() else []
    pieces.sort(key=lambda piece: -len(piece.changed))
    work.review.unread += list(dict.fromkeys(piece.path for piece in pieces[MOST_PIECES:]))
    return pieces[:MOST_PIECES]


def _facts(work: _Work, piece: ChangedPiece) -> dict[str, Any]:
    return {
        "project": work.ctx.project,
        "path": piece.path,
        "piece": label(piece.text(), Source.REPOSITORY, "diff"),
        "context": _context(work, piece),
        "failures": _failures(work, piece),
    }


def _failures(work: _Work, piece: ChangedPiece) -> Material:
    """The tests that the change breaks, where this piece is to blame or nobody knows which one is."""
    broken = work.suites.broken[:2] if work.suites else ()
    blamed = work.blamed
    if not broken or (blamed and (blamed.path != piece.path or blamed.line not in {row.line for row in piece.changed})):
        return Material("", ())
    text = trace_text({"failures": [one.__dict__ for one in broken]})
    return label(clip(text, TRACE_CHARS), Source.TESTS)


def _context(work: _Work, piece: ChangedPiece) -> Material:
    """What the piece calls and what calls it, in short, and how its file begins where that is not shown."""
    first = [one for one in work.chunks if one.path == piece.path and one.name in piece.names]
    shown = {row.text.strip() for row in piece.rows if row is not None}
    blocks, left = list[Material](), CONTEXT_CHARS
    by_path: dict[str, list[Chunk]] = {}
    for one in around(first, work.chunks) if first else ():
        text = shortened(without_docstring(one.text), CHUNK_CHARS)
        if len(text) <= left and not {line.strip() for line in text.split("\n")} <= shown:
            by_path.setdefault(one.path, []).append(replace(one, piece=replace(one.piece, text=text)))
            left -= len(text)
    begins = next((one.text for one in work.beside.get(piece.path, ())), "")
    if not {line.strip() for line in begins.split("\n")} <= shown:
        blocks.append(label(shortened(without_docstring(begins), CHUNK_CHARS), Source.REPOSITORY, f"path={piece.path}"))
    for path, chunks in by_path.items():
        inside = sorted((one.piece for one in chunks), key=lambda each: each.line)
        blocks.append(label(in_classes(inside), Source.REPOSITORY, f"path={path}"))
    return joined(blocks)


def _system(work: _Work) -> Message:
    rules = render("system.change_reviewer", house_rules=work.ctx.house_rules)
    return as_turn("system", rules, persona=REVIEWER.name)


def _said_of(work: _Work, piece: ChangedPiece, key: str) -> dict[str, Any]:
    prompt = render(
        "review.piece",
        **_facts(work, piece),
        about=label(clip(work.about, ABOUT_CHARS), Source.UNKNOWN),
        rules=bool(work.ctx.house_rules),
    )
    return _json(work, [_system(work), as_turn("user", prompt, step="piece")], "piece", key, _REMARKS)


def _json(work: _Work, messages: list[Message], step: str, key: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The model's object; {} when it cannot be read: nothing is told that nobody said."""
    try:
        text = ask(question_of(work.ctx, REVIEWER, messages, step=step, key=key, schema=schema)).text
    except ReplyTooLong:
        text = ""
    value, problems = parse_json(text, schema)
    if isinstance(value, dict) and (step != "check" or not problems):
        return value
    work.review.drop("the reply could not be read")
    return {}


def _remark(one: ReviewFinding) -> Material:
    place = "a line that is taken away" if one.removed else f"line {one.line}"
    told = "\n".join([f"{place}: {one.quote}", one.text, *one.evidence])
    return label(told, Source.MODEL)


def _checked(work: _Work, one: ReviewFinding, piece: ChangedPiece, key: str) -> ReviewFinding | None:
    """The remark with why it is true; None when the model does not stand by it."""
    prompt = render("review.check", **_facts(work, piece), remark=_remark(one))
    said = _json(work, [_system(work), as_turn("user", prompt, step="check")], "check", key, _CHECKED)
    if said.get("true") is not True:
        if said:
            work.review.drop("asked again, it is not true")
        return None
    return replace(one, evidence=(*one.evidence, f"Asked again: {one_line(str(said['because']))}"))


def _proved(work: _Work, one: ReviewFinding, piece: ChangedPiece, number: int) -> ReviewFinding | None:
    """The remark with a test that shows it; as it was where none can; None where its own test refutes it."""
    spoken = owner_of(one.path)
    if spoken is None or not spoken.runs_tasks or work.runner is None:
        return one
    ctx, state = work.ctx, _state(work, one, number)
    folder, there = tests_folder(state, ctx), ctx.repository.files(work.head)
    example = spoken.words_for([one.path]).test_file.rpartition("/")[2].replace("name", f"review_{number + 1}")
    test_file = example if folder == "." else f"{folder}/{example}"
    test_file = free_name(test_file, frozenset(there)) if test_file in there else test_file
    state["task"]["files"].append(test_file)
    prompt = render(
        "review.proof",
        **_facts(work, piece),
        imported=spoken.import_name(one.path, test_file),
        remark=_remark(one),
        test_file=test_file,
    )
    messages = [system_turn(TESTER, ctx, state["task"]), as_turn("user", prompt, step="proof")]
    _, _, applied = request_files(
        state,
        ctx,
        TESTER,
        messages,
        step="proof",
        accept=lambda name: language_of_task(state["task"]).is_test(name) and name not in there,
        current={},
        lacks=lambda reply: "" if "NO TEST" in reply.thought.upper() else "there is neither a test nor NO TEST:",
    )
    return _put_to_the_test(work, one, piece, dict(applied.files), number) if applied.files else one


def _put_to_the_test(
    work: _Work, one: ReviewFinding, piece: ChangedPiece, files: dict[str, str], number: int
) -> ReviewFinding | None:
    """The remark as a test of it came out. A test of new code can only fail after the change."""
    spoken = language_of_task({"files": [one.path]})
    runner = Runner(work.ctx, spoken, work.runner.packages if work.runner else ())
    names, text = sorted(files), "\n".join(files[name] for name in sorted(files))
    after = runner.run(work.head, f"review/proof/{number}/after", files, names, [one.path])
    if after.void or (after.problem and not after.failed):
        return one
    if after.ok:
        reached = after.covered.get(one.path)
        if reached is None or not reached.lines or one.line in reached.missing:
            return one  # the test did not run the line, so it says nothing of it
        work.review.drop("its own test refutes it")
        return None
    before = runner.run(work.review.base, f"review/proof/{number}/before", files, names)
    failing = next(iter(after.failures), None)
    came = f": {one_line(failing.message)}" if failing else ""
    if before.ok:
        said = f"A test that passes before the change fails after it{came}"
        return replace(one, strength="proven", evidence=(*one.evidence, said), test=text)
    if after.failed and _is_new(work, piece, spoken):
        said = f"A test of the new code fails{came}"
        return replace(one, strength="shown", evidence=(*one.evidence, said), test=text)
    return one


def _is_new(work: _Work, piece: ChangedPiece, spoken: Language) -> bool:
    """Whether the change makes these functions, so that no test of them can pass before it."""
    before = work.ctx.repository.read(work.review.base, piece.path)
    known = {one.name for one in spoken.definitions(piece.path, before) or ()} if before else set()
    return before is None or (bool(piece.names) and known.isdisjoint(piece.names))


def _state(work: _Work, one: ReviewFinding, number: int) -> TaskState:
    task = {"key": "REVIEW", "title": one.text, "requirements": [], "files": [one.path], "generation": 1}
    task["packages"] = list(work.runner.packages) if work.runner else []
    state = start_state(task)
    state["base"] = work.head
    return updated(state, {"step": number + 1})
