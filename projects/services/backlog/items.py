"""Verbs on the tickets of a backlog: adding, ordering, estimating, assigning, leaving out."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from agents.secrets.redaction import redact
from projects.errors import BadInput, IllegalMove
from projects.models import BacklogItem, Project, Run
from projects.models.project import Autonomy
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.audit.sitelog import note
from projects.services.work.locks import lock_project

MOST_ITEMS = 500  # open tickets of a project
MOST_TEXT = 8_000
MOST_MINUTES = 24 * 60
KEY = re.compile(r"\[?([A-Z][A-Z0-9]{0,14}-\d{1,9})\]?[:\s]*")
LINK = re.compile(r"https?://[^\s<>\"]+")
NAMES = {  # of columns in a CSV file
    "key": ("key", "id", "issue key", "ticket"),
    "title": ("title", "summary", "name"),
    "text": ("text", "description", "body"),
    "minutes": ("minutes", "estimate"),
    "link": ("link", "url", "address"),
}


def open_items(project: Project) -> Any:
    """Tickets that are neither done nor left out, in order."""
    return project.backlog.filter(left_out="", done_at=None)


def from_text(text: str) -> Iterator[dict[str, Any]]:
    """Tickets in pasted text: a block each where there are empty lines, else a line each."""
    blocks = re.split(r"\n\s*\n", text.strip()) if re.search(r"\n\s*\n", text.strip()) else text.splitlines()
    for block in filter(str.strip, blocks):
        link = LINK.search(block)
        first, *rest = LINK.sub("", block).strip("\n").splitlines() or [""]
        first = re.sub(r"^\s*(?:(?:[-*•]|\d+[.)]|\[[ x]\])\s+)*", "", first).strip()
        in_link = re.search(r"[A-Z][A-Z0-9]{0,14}-\d{1,9}(?![\w-])", link[0]) if link else None
        key = KEY.match(first)
        yield {
            "key": key[1] if key else in_link[0] if in_link else "",
            "title": first[key.end() :] if key else first,
            "text": "\n".join(rest).strip(),
            "link": link[0] if link else "",
        }


def from_csv(data: bytes) -> Iterator[dict[str, Any]]:
    """Tickets in a CSV file with a head line. Raises BadInput."""
    try:
        text = data.decode("utf-8-sig")
        dialect = csv.Sniffer().sniff(text[:4_000].splitlines()[0] if text else "", ",;\t")
    except UnicodeDecodeError:
        raise BadInput("The file is not UTF-8 text.") from None
    except (csv.Error, IndexError):
        dialect = csv.excel
    rows = csv.DictReader(io.StringIO(text, newline=""), dialect=dialect)
    columns = {(name or "").strip().lower(): name for name in rows.fieldnames or ()}
    found = {ours: next((columns[name] for name in names if name in columns), None) for ours, names in NAMES.items()}
    if found["title"] is None:
        raise BadInput("The first line must name a column “title”; key, text, minutes and link may be others.")
    try:
        for row in rows:
            yield {ours: (row.get(name) or "").strip() for ours, name in found.items() if name is not None}
    except csv.Error as trouble:
        raise BadInput(f"Line {rows.line_num} is not valid CSV: {trouble}.") from None


def add(project: Project, given: Iterable[dict[str, Any]], *, by: User, source: str) -> list[BacklogItem]:
    """Add tickets at the end; one whose key is there already takes the new words, as long as nothing began.

    Raises NotAllowed and BadInput, and then nothing is added.
    """
    require(by, project, "backlog.edit")
    with transaction.atomic():
        lock_project(project.pk)
        known = {item.key: item for item in project.backlog.all()}
        last = project.backlog.aggregate(last=Max("position"))["last"] or 0
        added = []
        for number, row in enumerate(given, 1):
            fields = _fields(row, number)
            key = fields.pop("key") or _free_key(known)
            item = known.get(key)
            if item is None:
                item = BacklogItem(project=project, key=key, source=source, position=(last := last + 1))
            elif item.document_id is not None:
                raise BadInput(f"{key} is being worked on or done; give new work a key of its own.")
            for name, value in fields.items():
                setattr(item, name, value or getattr(item, name))
            item.left_out = ""
            item.save()
            known[key] = item
            added.append(item)
        if not added:
            raise BadInput("Paste tickets, one per line.")
        if open_items(project).filter(document=None).count() > MOST_ITEMS:
            raise BadInput(f"A backlog holds at most {MOST_ITEMS} tickets that wait.")
        note(by, "backlog.added", project.slug, {"items": [item.key for item in added]})
    return added


def _fields(row: dict[str, Any], number: int) -> dict[str, Any]:
    title = clean_line(str(redact(row.get("title", ""))), 200)
    link = str(row.get("link", ""))
    if link and (not LINK.fullmatch(link) or len(link) > 500):
        raise BadInput(f"Ticket {number}: the link is not an http address of at most 500 characters.")
    text = clean_text(str(redact(row.get("text", ""))).strip())
    if not (title or link) or len(text) > MOST_TEXT:
        raise BadInput(f"Ticket {number} needs a title, and a text of at most {MOST_TEXT:,} characters.")
    key = clean_line(str(row.get("key", "")), 40)
    minutes = minutes_of(str(row["minutes"])) if row.get("minutes") else None
    return {"key": key, "title": title, "text": text, "link": clean_line(str(redact(link)), 500), "minutes": minutes}


def minutes_of(text: str) -> int:
    """An estimate: minutes, or like "1 h 30" or "2h". Raises BadInput."""
    found = re.fullmatch(r"\s*(?:(\d{1,2})\s*h)?\s*(?:(\d{1,4})\s*(?:m|min)?)?\s*", text)
    minutes = int(found[1] or 0) * 60 + int(found[2] or 0) if found else 0
    if not 1 <= minutes <= MOST_MINUTES:
        raise BadInput(f"An estimate is minutes from 1 to {MOST_MINUTES}, or like “1 h 30”.")
    return minutes


def _free_key(known: Collection[str]) -> str:
    return next(key for number in itertools.count(len(known) + 1) if (key := f"B-{number}") not in known)


def move(item: BacklogItem, *, up: bool, by: User) -> None:
    """Change places with the ticket before or after it that also waits; at the end nothing changes."""
    require(by, item.project, "backlog.edit")
    with transaction.atomic():
        lock_project(item.project_id)
        waiting = list(open_items(item.project).filter(document=None))
        place = next((n for n, other in enumerate(waiting) if other.pk == item.pk), None)
        if place is None:
            raise IllegalMove(f"{item.key} does not wait any more.")
        target = place - 1 if up else place + 1
        if 0 <= target < len(waiting):
            other, item = waiting[target], waiting[place]
            item.position, other.position = other.position, item.position
            BacklogItem.objects.bulk_update([item, other], ["position"])
            note(by, "backlog.moved", item.project.slug, {"item": item.key, "before" if up else "after": other.key})


def change(project: Project, pks: Collection[int], *, by: User, do: str, value: str = "") -> list[BacklogItem]:
    """Do one thing to tickets that wait: assign, unassign, leave_out, take_up, estimate or autonomy (with a `value`).

    Raises NotAllowed and BadInput, and then nothing is changed.
    """
    require(by, project, "backlog.edit")
    with transaction.atomic():
        lock_project(project.pk)
        chosen = project.backlog.filter(pk__in=pks, done_at=None)
        # What has begun can still be left out: else one that nobody brings on would hold up the others for ever.
        items = list(chosen if do == "leave_out" else chosen.filter(document=None))
        if not items:
            raise BadInput("Select tickets that wait.")
        for item in items:
            _change(item, by, do, value)
        fields = ["assigned_at", "assigned_by", "left_out", "minutes", "autonomy"]
        BacklogItem.objects.bulk_update(items, fields)
        told = {"items": [item.key for item in items], **({"value": value} if value else {})}
        note(by, f"backlog.{do}", project.slug, told)
    return items


def _change(item: BacklogItem, by: User, do: str, value: str) -> None:
    if do == "assign":
        if not item.title:
            raise BadInput(f"{item.key} is a link alone, and links are not read: paste it with a sentence on it.")
        item.assigned_at, item.assigned_by, item.left_out = timezone.now(), by, ""
    elif do == "leave_out" and item.document_id is not None:
        going = Run.objects.filter(document=item.document_id).exclude(status__in=Run.OVER).first()
        if going is not None:
            raise BadInput(f"Run {going.pk} works on {item.key}: cancel it first.")
        item.left_out = f"left out by {by.get_username()}"
    elif do in ("unassign", "leave_out"):
        item.assigned_at, item.assigned_by = None, None
        item.left_out = f"left out by {by.get_username()}" if do == "leave_out" else item.left_out
    elif do == "take_up":
        item.left_out = ""
    elif do == "estimate":
        item.minutes = minutes_of(value) if value.strip() else None
    elif do == "autonomy" and value in ("", *Autonomy.values):
        item.autonomy = value
    else:
        raise BadInput("Choose what to do with the tickets.")
