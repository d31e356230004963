"""What a browser would act on in a page, and pages with a stranger's words in every place they can come to."""

import hashlib
import json
from html.parser import HTMLParser

from django.urls import reverse

from projects.models import Attempt, Finding, Plan, Project, Requirement, RequirementDocument, Run, Task
from tests.dashboard.hostile import MARK
from tests.dashboard.story import Story

BANNED = {"iframe", "object", "embed", "base", "style", "math", "template", "hx-partial", "img"}


class Reader(HTMLParser):
    """Notes what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BANNED:
            self.found.append(f"<{tag}>")
        given = dict(attrs)
        if tag == "script" and not (given.get("src") or "").startswith("/static/"):
            self.found.append("<script> that is not ours")
        if tag == "link" and not (given.get("href") or "").startswith("/static/"):
            self.found.append("<link> that is not ours")
        if tag == "form" and not (given.get("action") or "/").startswith("/"):
            self.found.append(f"<form> to {given['action']}")
        for name, value in attrs:
            if name.startswith("on") or name == "style" or name.startswith(("hx-on", "data-hx")):
                self.found.append(f"{tag} {name}")
            live = name in ("href", "src", "action", "hx-get", "hx-post")
            if live and (value or "").lower().startswith(("javascript:", "data:", "vbscript:")):
                self.found.append(f"{name}={value}")
            harmless = name.startswith("data-") or name in (
                "value",
                "href",
                "title",
                "aria-label",
                "aria-valuetext",
                "datetime",
            )
            if MARK in (value or "") and not harmless:
                self.found.append(f"{name}={value}")
        if MARK in tag:
            self.found.append(f"<{tag}>")


def acts(html: str) -> list[str]:
    """Everything in the markup that is more than text."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.found


def attributes(html: str) -> set[str]:
    """Names of all attributes in the markup."""
    names: set[str] = set()
    reader = Reader()
    reader.handle_starttag = lambda tag, attrs: names.update(name for name, _ in attrs)  # type: ignore[method-assign]
    reader.feed(html)
    return names


def put_everywhere(story: Story, words: str) -> None:
    """The same string in every text a page shows, past the services that would clean it."""
    short = words[:100].replace("\x00", "")
    whole = words.replace("\x00", "")
    Project.objects.filter(pk=story.project.pk).update(name=short or "x", house_rules=whole)
    text = f"{whole}\n\n{whole}"
    RequirementDocument.objects.filter(pk=story.document.pk).update(
        filename=short or "x",
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),  # what is counted in a text is remembered by its hash
        problem=whole,
        unmapped=[{"lines": [1, 1], "text": whole}],
    )
    Requirement.objects.filter(document=story.document, key="FR-01").update(
        text=whole, reason=whole, acceptance=[whole]
    )
    Run.objects.filter(pk=story.run.pk).update(why_detail=whole[:300])
    Task.objects.filter(run=story.run).update(
        title=short, description=whole, expects=whole, why_detail=whole[:300], escalation=whole, note=whole
    )
    Attempt.objects.filter(task=story.stuck).update(
        diagnosis={"cause": whole, "hypothesis": whole, "plan": whole},
        tests={"passed": 1, "failed": 1, "failures": [{"nodeid": whole, "message": whole}]},
        diff=f"--- a/{short}\n+++ b/{short}\n@@ -1 +1 @@\n+{whole}",
    )
    Finding.objects.filter(task=story.stuck).update(message=whole, remediation=whole, path=short, rule=short)
    story.project.approvals.update(title=short or "x", why=whole, on_yes=whole[:300], payload={"a": whole, short: 1})
    for plan in (story.plan, story.waiting_plan):
        content = json.loads(json.dumps(plan.content))
        content["tasks"][0] |= {"title": whole, "description": whole, "expects": whole, "agent": short}
        content["notes"] = whole
        problems = [{"code": "x", "message": whole, "tasks": [short], "severity": "error"}]
        Plan.objects.filter(pk=plan.pk).update(content=content, problems=problems, comment=whole)


def pages_of(story: Story) -> list[str]:
    """Every page that shows such words."""
    return [
        "/",
        reverse("project", args=[story.project.pk]),
        reverse("requirements", args=[story.project.pk]),
        reverse("requirement", args=[story.document.requirements.first().pk]),
        reverse("plan", args=[story.waiting_plan.project_id]),
        reverse("plan-task", args=[story.waiting_plan.pk, "T-01"]),
        "/runs",
        reverse("run", args=[story.run.pk]),
        reverse("task", args=[story.stuck.pk]),
        reverse("task-tokens", args=[story.stuck.pk]),
        reverse("run-tokens", args=[story.run.pk]),
        reverse("call", args=[story.run.pk, story.run.events.filter(type="llm.usage").first().seq]),
        reverse("gate", args=[story.stuck.pk]),
        "/approvals",
        reverse("approval", args=[story.approval.pk]),
        "/audit",
        reverse("audit-run", args=[story.run.pk]),
    ]
