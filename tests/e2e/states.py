"""Three states of the site, and every page there is in one: found in the table of addresses, not listed by hand."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, reverse

from tests.e2e import happenings, scenes, talks
from tests.e2e.server import ROOT

# Whose number `pk` is, by the first word of an address.
NUMBERED = {"p": "project", "runs": "run", "audit": "run", "tasks": "task", "approvals": "approval", "plans": "plan"}
NUMBERED |= {"documents": "document", "requirements": "requirement", "findings": "finding", "targets": "target"}
NUMBERED |= {"deployments": "deployment", "incidents": "incident"}
VALUES = {"key": "T-01", "where": "main", "kind": "package", "n": 0, "fmt": "csv", "form": "zip", "verb": "stop"}
VALUES |= {"id": "none", "name": "none", "question": 1}
# What more an address shows by its query: the page's name, the address's name, the query.
VIEWS = (
    ("project-ask-found", "project-ask", "?q=todos"),
    ("find-found", "find", "?q=todo"),
    ("find-nothing", "find", "?q=zzzz"),
    ("plan-variants", "plan", "?variants=1"),
    ("reports-by-week", "reports", "?by=week"),
    ("report-quiet", "report-weekly", "?week=2020-W05"),
    ("run-errors", "run", "?preset=errors"),
    ("run-time", "run", "?view=time"),
    ("run-list", "run", "?view=list"),
    ("run-past", "run", "?at=15"),
    ("task-comment", "task", "?comment=1.3"),
    ("trace-gaps", "trace", "?gap=1"),
)


def do_state(state: str) -> dict[str, Any]:
    """Bring the new site into a state; returns its pages by name, each with an address and a session, or as text."""
    from projects.services.accounts.users import DEMO_VIEWER
    from tests.factories import PRD, make_user

    stranger, owner = client(), client()
    texts = {"setup": stranger.get(reverse("setup"))}
    person = make_user("ada", superuser=True)
    make_user(DEMO_VIEWER)
    owner.force_login(person)
    texts["first-run"] = owner.get(reverse("projects"))
    there = {"empty": empty, "busy": busy, "finished": finished}[state](person)
    texts["preview"] = owner.post(reverse("preview"), {"text": PRD})
    texts["refused"] = owner.post(reverse("run-control", args=[there["run"], "resume"]))
    if "plan" in there:
        texts["plan-conflict"] = owner.post(reverse("plan-approve", args=[there["plan"]]), {"hash": "0"})
    texts |= accounts()
    pages = {name: {"html": answer.content.decode()} for name, answer in texts.items()}
    pages |= {name: {"html": html} for name, html in errors().items()}
    return {"pages": pages | addresses(there, owner, awaits_code())}


def client(user: Any = None) -> Client:
    """A browser on this machine, signed in on request."""
    made = Client(SERVER_NAME="127.0.0.1")
    if user is not None:
        made.force_login(user)
    return made


def addresses(there: dict[str, Any], *people: Client) -> dict[str, dict[str, str]]:
    """Every address that answers one of these people with a page; those of what is not there are left out."""
    from dashboard.urls import urlpatterns

    paths = {}
    for one in (one for one in urlpatterns if isinstance(one, URLPattern)):
        values = {
            **VALUES,
            "seq": there.get("call", 1),
            "pk": there.get(NUMBERED.get(str(one.pattern).strip("^").partition("/")[0])),
        }
        needs = {name: values[name] for name in one.pattern.regex.groupindex}
        if None not in needs.values():
            paths[one.name] = reverse(str(one.name), kwargs=needs)
    paths |= {name: paths[of] + query for name, of, query in VIEWS if of in paths} | there.get("more", {})
    found: dict[str, dict[str, str]] = {}
    for name, path in paths.items():
        for somebody in people:
            answer: Any = somebody.get(path)
            if answer.status_code == 200 and not answer.streaming and b"<html" in answer.content[:200]:
                found[name] = {"path": path, "session": somebody.cookies["aiswe_session"].value}
                break
    return found


def awaits_code() -> Client:
    """Somebody whose password was right and whose code is still to come."""
    from tests.factories import PASSWORD

    happenings.do_person("grace", factor=True)
    grace = client()
    grace.post(reverse("sign-in"), {"username": "grace", "password": PASSWORD})
    return grace


def accounts() -> dict[str, HttpResponse]:
    """The pages that show a secret once."""
    import pyotp

    from dashboard.views.account import OFFERED
    from tests.factories import PASSWORD, make_user

    joan = client(make_user("joan"))
    joan.get(reverse("second-factor"))
    code = pyotp.TOTP(joan.session[OFFERED]).now()
    wish = {"tok-name": "CI", "tok-scopes": "read", "tok-days": 30, "tok-password": PASSWORD}
    return {
        "token": joan.post(reverse("token-make"), wish),
        "recovery-codes": joan.post(reverse("second-factor"), {"password": PASSWORD, "code": code}),
    }


def errors() -> dict[str, str]:
    """The pages that say what went wrong; their templates are found by their names."""
    from django.template.loader import render_to_string

    return {one.stem: render_to_string(one.name) for one in sorted((ROOT / "templates").glob("[45]??*.html"))}


def empty(person: Any) -> dict[str, Any]:
    """A project in which nothing was done, and a run without an event."""
    from tests.factories import bare_run, make_project

    project = make_project("Bakery", by=person)
    return {"project": project.pk, "run": bare_run(project).pk}


def busy(person: Any) -> dict[str, Any]:
    """Everything at work: builds, questions of every kind, tickets, lessons, an incident."""
    from tests.dashboard.story import add_code, ask_gate, second_version, tell
    from tests.dashboard.story_decisions import ask_every_kind

    story = tell(person)
    scenes.KEPT.append(story)
    add_code(story)
    second = second_version(story)
    asked = ask_every_kind(tell(person, "Decisions"))
    work, tickets, drafts = scenes.do_busy(12)["run"], scenes.do_backlog()["project"], scenes.do_drafts()
    scenes.do_lessons()
    scenes.do_keeping()
    gate = ask_gate(tell(person, "Clinic"))
    more = {f"approval-{kind}": f"/approvals/{one.pk}" for kind, one in asked.items()}
    replayed = f"/runs/{scenes.do_replay(story.run.pk)['replay']}"
    more |= {"replay": replayed, "replay-past": f"{replayed}?at=15", "replay-list": f"{replayed}?view=list"}
    more |= {"replay-time": f"{replayed}?view=time", "replay-event": f"{replayed}/e/6"}
    more |= {
        "run-work": f"/runs/{work}",
        "run-work-time": f"/runs/{work}?view=time",
        "task-stuck": f"/tasks/{story.stuck.pk}",
        "gate-asks": f"/tasks/{gate.task_id}/gate",
        "backlog-full": f"/p/{tickets}/backlog",
        "plan-waits": f"/p/{second.project_id}/plan",
        "plan-drafts": f"/p/{drafts['project']}/plan",
        "plan-draft-stale": f"/plans/{drafts['stale']}/draft",
        "plan-draft-circle": f"/plans/{drafts['busy']}/draft",
        "file": f"/p/{story.project.pk}/files/main/app/todos.py",
    }
    more |= talks.chats_of(person)
    told = numbers(story, baseline="unusable")
    more |= operations(person, told["target"])
    return told | {"plan": second.pk, "more": more}


def operations(person: Any, target: int) -> dict[str, str]:
    """A question about a deployment, and an incident of the installation."""
    from projects.models import Approval, Incident, Target
    from projects.services.operations import incidents, releases

    live = Target.objects.get(pk=target)
    live.is_production = True
    live.save()
    releases.deploy(live, releases.newest_commit(live.project), by=person, reason="merged by run 1")
    asked = Approval.objects.filter(kind=Approval.Kind.DEPLOY).latest("pk")
    cause = "0.4 GB free for /srv/aiswe; 2 GB are required"
    incident, _ = incidents.report(
        None, kind=Incident.Kind.PRODUCT, signature="Disk", title=f"Disk: {cause}, and 3 wait for it", cause=cause
    )
    said = "Leftovers of dead workers were removed. The largest in /srv/aiswe: repositories 31.2 GB, chroma 2.0 GB."
    incidents.step(incident, f"{said} What a person can do: Free some space.", status=Incident.Status.NEEDS_YOU)
    return {"approval-deploy": f"/approvals/{asked.pk}", "incident-installation": f"/incidents/{incident.pk}"}


def finished(person: Any) -> dict[str, Any]:
    """One build that ended with all its tasks, deployed."""
    from tests.dashboard.story import add_code, finish, tell

    story = tell(person)
    scenes.KEPT.append(story)
    add_code(story)
    finish(story, whole=True)
    left = scenes.do_finish()["run"]
    more = {"run-left-out": f"/runs/{left}", "result-left-out": f"/runs/{left}/result"}
    return numbers(story, baseline="ready") | {"more": more}


def numbers(story: Any, baseline: str) -> dict[str, Any]:
    """The rows that addresses of the story name, with where it is deployed and how its tests stood."""
    from projects.models import Baseline
    from tests.dashboard.operated import operated
    from tests.dashboard.rehearsed import every_outcome

    every_outcome(story.project)
    target, deployment, incident = operated(story.project)
    failing = {"tests/test_old.py::test_prices": "AssertionError: assert 0.1 == 0.3"}
    tests = {
        "passed": 3,
        "failed": 1,
        "errors": 0,
        "skipped": 2,
        "failing": failing,
        "flickering": ["tests/test_old.py::test_now"],
    }
    layout = {"language": "python", "style": "src", "test_paths": ["tests"], "conftests": [], "helpers": []}
    problem = "pytest cannot be installed." if baseline == "unusable" else ""
    Baseline.objects.create(
        project=story.project, commit="a" * 40, status=baseline, tests=tests, layout=layout, problem=problem
    )
    return {
        "project": story.project.pk,
        "run": story.run.pk,
        "task": story.done.pk,
        "approval": story.approval.pk,
        "document": story.document.pk,
        "requirement": story.document.requirements.first().pk,
        "finding": story.finding.pk,
        "plan": story.plan.pk,
        "call": story.run.events.filter(type="llm.usage").last().seq,
        "target": target.pk,
        "deployment": deployment.pk,
        "incident": incident.pk,
    }
