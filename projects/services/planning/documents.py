"""Documents and requirements: stored, read by agents/requirements/extract.py, confirmed for projects/jobs/runs.py."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from agents.requirements.documents import Document
from agents.requirements.extract import extract, lines_of
from agents.requirements.hints import Hint, hints_for
from agents.requirements.implicit import imply
from agents.requirements.passages import passages_text
from agents.requirements.readers.folders import specifications
from agents.secrets.redaction import redact
from projects.errors import BadInput, IllegalMove, NotAllowed
from projects.models import Project, Requirement, RequirementDocument, Run
from projects.models.project import NO_APPROVAL
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_json, clean_line, clean_text
from projects.services.planning.keys import manual_key, number_on, said_of
from projects.services.planning.overtaken import end_overtaken, leave_out_overtaken, lock_planning, open_build
from projects.services.planning.reading import fields_of, read_bytes
from projects.services.work.locks import lock_project, lock_run
from projects.storage.paths import repository_of
from projects.workers.queue import enqueue

MAX_REQUIREMENTS = 2_000
REPLACES, ADDS = "replaces", "adds"  # what a new document is to the earlier ones


def preview(document: Document) -> dict[str, Any]:
    """What the rules find in it, stored nowhere: {filename, notes, lines, requirements, implied, unmapped, …}."""
    found = extract(document)
    return {
        "filename": document.name,
        "notes": document.notes,
        "lines": len(document.lines),
        "mapped": found.mapped_paragraphs,
        "paragraphs": found.paragraphs,
        "implied": [implied.to_json() for implied in imply(found.requirements)],
        **found.to_json(),
    }


def extract_written(document: RequirementDocument) -> RequirementDocument:
    """Store what the rules find in a fresh document and what that implies; one that was read before stays as it is.

    No model is asked: a planning run that starts before the requirements are confirmed adds what a model infers.
    """
    if document.status != RequirementDocument.Status.UPLOADED:
        return document
    read = extract(document.text)
    found = read.to_json()
    rows = [*found["requirements"], *(implied.to_row() for implied in imply(read.requirements))]
    return record_extraction(document, rows, found["unmapped"], found["questions"])


def hints(document: RequirementDocument) -> list[Hint]:
    """What its author may want to say more precisely, and what contradicts another document in force, with its line."""
    in_force = document.project.documents.filter(replaced_by=None)
    chain = [document.pk, *(one.pk for one in document.replaced())]
    others = Requirement.objects.wanted().filter(status=Requirement.Status.ACCEPTED, document__in=in_force)
    beside = list(others.exclude(document__in=chain).select_related("document"))
    own = list(document.requirements.exclude(status=Requirement.Status.REJECTED))
    said = {row.key: row for row in [*own, *beside]}
    known = {row.key for row in own}

    def told(hint: Hint) -> Hint:
        foreign = [said[key] for key in hint.keys if key not in known]
        where = [f"{row.key}, {row.document} line {row.line_start}: “{clean_line(row.text, 120)}”" for row in foreign]
        return replace(hint, why=" ".join([hint.why, *where]))

    return [told(hint) for hint in hints_for(own, beside, document.text)]


def upload_document(
    project: Project, data: bytes, filename: str, *, by: User, relation: str = ""
) -> RequirementDocument:
    """Store a PRD as the project's next version; the same bytes as a document in force return that one.

    Raises NotAllowed, and BadInput (empty, binary, too large, unreadable) with what to do about it.
    """
    require(by, project, "document.upload")
    return store_document(project, read_bytes(data, filename), by=by, relation=relation)


def store_document(
    project: Project, document: Document, place: str = "", background: str = "", *, by: User, relation: str = ""
) -> RequirementDocument:
    """Store what was read as the project's next version; of a specification its place and what stands beside it.

    The planning of a document that it replaces ends.

    `relation` is REPLACES (the document in force of the same name, else the newest one), ADDS, or "": REPLACES where a
    document in force has its name. A specification's name is its place. Raises NotAllowed, and BadInput when there is
    nothing to replace.
    """
    require(by, project, "document.upload")
    place, background = clean_line(place, 400), clean_text(str(redact(background)))
    with transaction.atomic():
        planning = lock_planning(project)  # a run is locked before its project
        lock_project(project.pk)
        in_force = project.documents.filter(replaced_by=None, place=place)
        if (same := in_force.filter(sha256=document.sha256, background=background).first()) is not None:
            return same
        fields = fields_of(document)
        named = in_force.filter(**({} if place else {"filename": fields["filename"]})).first()
        if relation == REPLACES and not (named := named or in_force.first()):
            raise BadInput(f"{project.name} has no document that this one could replace.")
        every = RequirementDocument.every.filter(project=project)
        last = every.aggregate(last=Max("version"))["last"] or 0
        made = RequirementDocument.objects.create(
            project=project,
            version=last + 1,
            place=place,
            background=background,
            replaces=None if relation == ADDS else named,
            created_by=by,
            **fields,
        )
        end_overtaken(planning, made, by=by)
        return made


def import_specifications(project: Project, head: str, *, by: User) -> list[str]:
    """Make a document of each specification in the project's repository; what a person should know of that."""
    repository = repository_of(project)
    blobs = repository.blobs(head)
    above = f"{project.subfolder}/" if project.subfolder else ""
    paths = [path for path in blobs if path.endswith(".md") and path.startswith(above)]
    found, problems = specifications(paths, lambda path: repository.contents([blobs[path].hash])[blobs[path].hash])
    for one in found:
        try:
            extract_written(store_document(project, one.document, one.place, one.background, by=by))
        except BadInput as refused:
            problems.append(f"{one.place}: {refused}")
    shown = ", ".join(one.place for one in found[:10])
    return [*([f"Specifications that became documents: {len(found)} ({shown})."] if found else []), *problems[:5]]


def record_extraction(
    document: RequirementDocument,
    requirements: Iterable[Mapping[str, Any]],
    unmapped: Iterable[Mapping[str, Any]],
    questions: Iterable[Mapping[str, Any]] = (),
) -> RequirementDocument:
    """Store what was read from the document; running it again replaces what nobody has touched yet.

    Each requirement is {key, author_key, text, kind, lines: [a, b], acceptance, passages: [[a, b], …], origin,
    reason}; keys that another document of the project uses are numbered on. A question is {text, lines}. Raises
    IllegalMove once a person confirmed the document and BadInput for an unknown kind, origin or repeated key.
    """
    rows = [_row(document, ordinal, item) for ordinal, item in enumerate(requirements, start=1)]
    if len(rows) > MAX_REQUIREMENTS:
        raise BadInput(f"{len(rows)} requirements in one document: split it, {MAX_REQUIREMENTS} is the most.")
    repeated = [key for key, times in Counter(row.key for row in rows).items() if times > 1]
    if repeated:
        raise BadInput(f"Two requirements are called {repeated[0]}.")
    with transaction.atomic():
        lock_project(document.project_id)
        document.refresh_from_db()
        if document.status in (RequirementDocument.Status.CONFIRMED, RequirementDocument.Status.WITHDRAWN):
            raise IllegalMove(f"{document} is {document.status}; upload a new version to extract again.")
        untouched = document.requirements.filter(status=Requirement.Status.PROPOSED).exclude(
            origin=Requirement.Origin.MANUAL
        )
        kept = set(document.requirements.exclude(pk__in=untouched).values_list("key", flat=True))
        untouched.delete()
        number_on(rows, document)
        rows += _decided_before(rows, document)
        Requirement.objects.bulk_create([row for row in rows if row.key not in kept])
        document.unmapped = clean_json(redact(clean_json(list(unmapped))))
        document.questions = clean_json(redact(clean_json(list(questions))))
        document.status = RequirementDocument.Status.EXTRACTED
        document.problem = ""
        document.save(update_fields=["unmapped", "questions", "status", "problem"])
    return document


def _decided_before(rows: Sequence[Requirement], document: RequirementDocument) -> list[Requirement]:
    """Apply to the rows what people decided in the document that this one replaces; what they added or accepted there
    beyond its own words, as further rows."""
    if document.replaces is None:
        return []
    by_key, more = {row.key: row for row in rows}, list[Requirement]()
    for old in document.replaces.requirements.exclude(status=Requirement.Status.PROPOSED):
        row = by_key.get(old.key)
        if row is not None and said_of(row).words == said_of(old).words:
            if old.status == Requirement.Status.REJECTED or old.origin in Requirement.SUGGESTED:
                row.status = old.status
        elif row is None and old.origin != Requirement.Origin.EXPLICIT:
            old.pk, old.document, old.line_start, old.line_end = None, document, 0, 0
            old.ordinal = len(rows) + len(more) + 1
            more.append(old)
    return more


def _row(document: RequirementDocument, ordinal: int, item: Mapping[str, Any]) -> Requirement:
    key = clean_line(str(item.get("key", "")), 60)
    kind, origin = str(item.get("kind", "")), str(item.get("origin", Requirement.Origin.EXPLICIT))
    if not key:
        raise BadInput(f"Requirement {ordinal} has no key.")
    _known(kind, Requirement.Kind.values, f"{key}: kind")
    _known(origin, Requirement.Origin.values, f"{key}: origin")
    lines = [int(number) for number in item.get("lines") or (0, 0)]
    return Requirement(
        document=document,
        ordinal=ordinal,
        key=key,
        author_key=clean_line(str(item.get("author_key", "")), 60),
        text=_text(str(item.get("text", "")), key),
        kind=kind,
        line_start=max(0, lines[0]),
        line_end=max(0, lines[-1]),
        acceptance=_acceptance(item.get("acceptance") or ()),
        passages=[[int(number) for number in lines] for lines in item.get("passages") or ()],
        origin=origin,
        reason=clean_text(str(redact(str(item.get("reason", "")))), 2_000),
    )


def _known(value: str, known: Sequence[str], what: str) -> None:
    if value not in known:
        raise BadInput(f"{what} {value!r} is unknown: choose one of {', '.join(known)}.")


def _text(text: str, key: str) -> str:
    cleaned = clean_text(str(redact(text.strip())), 20_000)
    if not cleaned:
        raise BadInput(f"{key}: a requirement needs a text.")
    return cleaned


def _acceptance(lines: Any) -> list[str]:
    if isinstance(lines, str):
        lines = lines.splitlines()
    return [clean_text(str(redact(str(line).strip())), 2_000) for line in lines if str(line).strip()][:100]


def fail_document(document: RequirementDocument, problem: str) -> None:
    """Note that extraction failed and why, so that the page can say it. A confirmed document stays as it is."""
    rows = RequirementDocument.objects.filter(pk=document.pk).exclude(status=RequirementDocument.Status.CONFIRMED)
    rows.update(status=RequirementDocument.Status.FAILED, problem=clean_text(str(redact(problem)), 4_000))
    document.refresh_from_db()


def confirm_requirements(document: RequirementDocument, *, by: User | None, small: bool = False) -> RequirementDocument:
    """Confirm the list for planning: what the document says is accepted; suggestions stay suggestions.

    `by` is None when the engine goes on by itself: in a project without plan approval, or when the document is `small`,
    a single requirement that whoever approves the plan sees there. Confirming twice
    changes nothing. A build of an earlier version leaves out what is no longer asked for so. Raises NotAllowed,
    IllegalMove (nothing extracted yet) and BadInput (nothing accepted).
    """
    if by is not None:
        require(by, document.project, "requirement.edit")
    elif not small and document.project.autonomy not in NO_APPROVAL:
        raise NotAllowed(f"In {document.project.name} a person confirms the requirements.")
    with transaction.atomic():
        if (going := open_build(document)) is not None:
            lock_run(going.pk)  # a run is locked before its project
        lock_project(document.project_id)
        document.refresh_from_db()
        if document.status == RequirementDocument.Status.CONFIRMED:
            return document
        if document.status != RequirementDocument.Status.EXTRACTED:
            raise IllegalMove(f"{document} is {document.status}: its requirements are not extracted yet.")
        document.requirements.wanted().update(status=Requirement.Status.ACCEPTED)
        if not document.requirements.filter(status=Requirement.Status.ACCEPTED).exists():
            raise BadInput("No requirement is accepted: accept one or add one by hand.")
        document.status = RequirementDocument.Status.CONFIRMED
        document.save(update_fields=["status"])
        for run in Run.objects.filter(document=document, kind=Run.Kind.PLAN).exclude(status__in=Run.OVER):
            enqueue("projects.jobs.plan_run", run.pk)  # the planning that waited for this goes on
        leave_out_overtaken(document)
    return document


def with_mentioned(rows: Iterable[Mapping[str, Any]], project: Project) -> list[dict[str, Any]]:
    """The rows of requirements, each with what those that it mentions say."""
    rows = list(rows)
    known = Requirement.objects.filter(document__in=project.documents.all(), status=Requirement.Status.ACCEPTED)
    others = known.exclude(key__in=[row["key"] for row in rows]).exclude(author_key="").order_by("document__version")
    said = dict(others.values_list("author_key", "text"))
    return [{**row, "acceptance": [*row["acceptance"], *_said_in(row["text"], said)]} for row in rows]


def passages_of(requirements: Iterable[Requirement], files: Iterable[str] = ()) -> str:
    """What their documents say of requirements, and of files, besides their texts: examples, formats, paths."""
    names = "|".join(re.escape(name) for path in files for name in sorted({path, path.rpartition("/")[2]}))
    naming = re.compile(rf"(?<![\w/.-])(?:{names})(?![\w/-])") if names else None
    by_document: dict[RequirementDocument, list[Requirement]] = {}
    for row in requirements:
        by_document.setdefault(row.document, []).append(row)
    told = []
    for document, rows in by_document.items():
        places = [((row.line_start, row.line_end), row.passages) for row in rows if row.line_start]
        left = [one for one in document.unmapped if naming and naming.search(str(one.get("text", "")))]
        places.append(((0, 0), [one["lines"] for one in left if one.get("lines")]))
        told.append(passages_text(lines_of(document.text), places))
    return "\n\n".join(filter(None, told))


def _said_in(text: str, said: Mapping[str, str]) -> list[str]:
    return [f"{key} says: {words}" for key, words in said.items() if re.search(rf"\b{re.escape(key)}\b", text)]


def set_requirement(
    requirement: Requirement,
    *,
    by: User,
    status: str | None = None,
    text: str | None = None,
    kind: str | None = None,
    acceptance: Iterable[str] | None = None,
) -> Requirement:
    """Accept, reject or rewrite one requirement; what is not given stays. Raises NotAllowed and BadInput."""
    document = requirement.document
    require(by, document.project, "requirement.edit")
    changes: dict[str, Any] = {}
    if status is not None:
        _known(status, Requirement.Status.values, "status")
        changes["status"] = status
    if kind is not None:
        _known(kind, Requirement.Kind.values, "kind")
        changes["kind"] = kind
    if text is not None:
        changes["text"] = _text(text, requirement.key)
    if acceptance is not None:
        changes["acceptance"] = _acceptance(acceptance)
    with transaction.atomic():
        lock_project(document.project_id)
        if changes and "status" not in changes:
            changes["status"] = Requirement.Status.ACCEPTED  # rewriting it accepts it
        Requirement.objects.filter(pk=requirement.pk).update(**changes)
    requirement.refresh_from_db()
    return requirement


def add_requirement(
    document: RequirementDocument, *, by: User, text: str, kind: str, acceptance: Iterable[str] = ()
) -> Requirement:
    """Add an accepted requirement by hand, with the next free key MAN-01, MAN-02, …. Raises NotAllowed and BadInput."""
    require(by, document.project, "requirement.edit")
    _known(kind, Requirement.Kind.values, "kind")
    with transaction.atomic():
        lock_project(document.project_id)
        last = document.requirements.aggregate(last=Max("ordinal"))["last"] or 0
        return Requirement.objects.create(
            document=document,
            ordinal=last + 1,
            key=manual_key(document.project),
            text=_text(text, "The new requirement"),
            kind=kind,
            acceptance=_acceptance(acceptance),
            origin=Requirement.Origin.MANUAL,
            reason=f"added by {by.get_username()}",
            status=Requirement.Status.ACCEPTED,
        )


def coverage(document: RequirementDocument) -> dict[str, int]:
    """How many of the document's paragraphs (headings apart) a requirement was read from: {"mapped", "total"}."""
    total = _paragraphs(Held(document.sha256, document.text))
    return {"mapped": max(0, total - len(left_over(document))), "total": total}


def left_over(document: RequirementDocument) -> list[dict[str, Any]]:
    """The paragraphs that no requirement was read from, without headings, which need not be one."""
    return [part for part in document.unmapped if part.get("kind") != "heading"]


@dataclass(frozen=True)
class Held:
    """A text known by its hash, so that remembering what was counted does not compare megabytes."""

    sha256: str
    text: str = field(compare=False)


@lru_cache(64)
def _paragraphs(held: Held) -> int:
    return extract(held.text).paragraphs
