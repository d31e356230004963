"""What the site that browsers look at holds: its story, and other projects beside it."""

from __future__ import annotations

from typing import Any

KEPT: list[Any] = []  # the story, for as long as the process lives


def session_of(user: Any) -> str:
    """A signed-in session's key."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    from projects.services.accounts.browser_sessions import SessionStore

    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key)


def last_of(run: int) -> int:
    """The newest sequence number of a run."""
    from projects.models import Run

    return Run.objects.values_list("last_seq", flat=True).get(pk=run)


def do_story() -> dict[str, Any]:
    """The people, projects, plans and runs the tests look at; with a session for the owner."""
    from django.contrib.auth import get_user_model

    from projects.models import Project
    from tests.dashboard.story import second_version, tell
    from tests.dashboard.story_events import ROWS
    from tests.factories import PASSWORD, make_user

    if get_user_model().objects.filter(username="ada").exists():
        return {}
    story = tell(make_user("ada"))
    KEPT.append(story)
    second = second_version(story)
    Project.objects.filter(pk=second.project_id).update(model="scripted:household")  # its pages say so
    viewer = make_user("vera", role="viewer", project=story.project)
    return {
        "password": PASSWORD,
        "session": session_of(story.owner),
        "viewer": session_of(viewer),
        "project": story.project.pk,
        "other": second.project_id,
        "run": story.run.pk,
        "last": last_of(story.run.pk),
        "task": story.stuck.pk,
        "done": story.done.pk,
        "approval": story.approval.pk,
        "requirement": story.document.requirements.first().pk,
        "plan": second.pk,
        "loop": list(
            story.run.events.filter(type__in=[row[0] for row in ROWS] + ["error"]).values_list("seq", flat=True)
        ),
        "call": story.run.events.filter(type="llm.usage").last().seq,
    }


def do_busy(count: int) -> dict[str, Any]:
    """A build of the owner's in the middle of its work."""
    from tests.dashboard.busy import busy

    return {"run": busy(KEPT[0].owner, count).pk}


def do_code(megabytes: int = 0) -> dict[str, Any]:
    """A repository for the story's project, with as much data as is asked for; and tokens of people for git."""
    import random

    from projects.services.accounts import api_tokens
    from tests.dashboard.story import CODE, add_code
    from tests.factories import make_user

    story = KEPT[0]
    noise = random.Random(1)
    lines = (noise.randbytes(500).hex() for _ in range(megabytes * 1_000))
    commit = add_code(story, {**CODE, **({"data/noise.txt": "\n".join(lines)} if megabytes else {})})
    people = {
        "ada": story.owner,
        "victor": make_user("victor", role="viewer", project=story.project),
        "stranger": make_user("stranger"),
    }
    scopes = {"ada": ["read"], "victor": ["read"], "stranger": ["read"]}
    made = {n: api_tokens.make_token(u, name="git", scopes=scopes[n], days=1)[1] for n, u in people.items()}
    _, made["writer"] = api_tokens.make_token(story.owner, name="no reader", scopes=["write"], days=1)
    return {"commit": commit, "tokens": made}


def do_gate() -> dict[str, Any]:
    """A question of the security gate in a project of its own."""
    from tests.dashboard.story import ask_gate, tell

    story = tell(KEPT[0].owner, "Clinic")
    asked = ask_gate(story)
    return {"task": asked.task_id, "approval": asked.pk}


def do_decisions() -> dict[str, Any]:
    """A question of every kind in a project of its own."""
    from tests.dashboard.story import tell
    from tests.dashboard.story_decisions import ask_every_kind

    return {kind: asked.pk for kind, asked in ask_every_kind(tell(KEPT[0].owner, "Decisions")).items()}


def do_replay(run: int) -> dict[str, Any]:
    """A replay of a run, from the file that it is exported to."""
    import io

    from projects.models import Run
    from projects.services.insight import replays
    from tests.factories import make_user

    row = Run.objects.get(pk=run)
    auditor = make_user("audrey", role="auditor", project=row.project)
    exported = b"".join(replays.export_run(row, by=auditor))
    return {"replay": replays.replay_run(io.BytesIO(exported), by=KEPT[0].owner).pk}


def do_drafts() -> dict[str, Any]:
    """Plans with drafts of the owner: one that is being edited, and one on a version that is not the newest."""
    from projects.errors import BadInput
    from projects.services.planning import plan_drafts
    from tests.factories import make_document, make_plan, make_project, make_user

    owner, made = KEPT[0].owner, {}
    for name in ("busy", "stale"):
        plan = make_plan(make_document(make_project(f"Draft {name}", by=owner)), approved=False)
        draft = plan_drafts.add_edit(plan, {"do": "change", "key": "T-01", "fields": {"needs": ["T-02"]}}, by=owner)
        try:
            plan_drafts.save_draft(draft, by=owner, seen=1)
        except BadInput:
            made[name] = plan
    other = make_user("olga", role="architect", project=made["stale"].project)
    edit = {"do": "change", "key": "T-02", "fields": {"title": "Write the rest"}}
    plan_drafts.save_draft(plan_drafts.add_edit(made["stale"], edit, by=other), by=other, seen=1)
    return {name: plan.pk for name, plan in made.items()} | {"project": made["stale"].project_id}


def do_finish(whole: bool = False) -> dict[str, Any]:
    """A project of its own whose build has ended: the others' builds go on."""
    from projects.models import Project
    from projects.storage.paths import repository_of
    from tests.dashboard.story import CODE, add_code, finish, tell

    story = tell(KEPT[0].owner, "Finished")
    add_code(story, CODE)
    repository, branch = repository_of(story.project), f"aiswe/run-{story.run.pk}"
    if not repository.has_branch(branch):
        repository.branch(branch, story.done.commit)
    Project.objects.filter(pk=story.project.pk).update(push_remote="ssh://git@git.example.org/todo/api.git")
    return {"run": finish(story, whole=whole).pk, "project": story.project.pk}


def do_keeping() -> dict[str, Any]:
    """A base that others moved, a kept backup, and the session of an administrator."""
    from projects.services.installation import backups
    from tests.dashboard.story import move_base
    from tests.factories import make_user

    move_base(KEPT[0])
    (backups.kept_folder() / "aiswe-20261122-120000.zip").write_bytes(b"zip" * 1_000_000)
    return {"session": session_of(make_user("root", superuser=True))}


def do_lessons() -> dict[str, Any]:
    """One lesson in each state."""
    import time

    from agents.memory.base import Lesson, Showing
    from projects.services.memory import lessons

    story, store = KEPT[0], lessons.store()
    if store.all():
        return {}
    for id, days in (("active", 0), ("sunk", 0), ("expired", 400), ("disabled", 0)):
        store.add(
            Lesson(
                id=id,
                signature=id,
                cause=f"a price was a float ({id})",
                fix="make prices Decimal",
                reward=1.0,
                project=story.project.slug,
                task="T-01",
                run=str(story.run.pk),
                failure="AssertionError: assert 0.1 == 0.3",
                learned_at=time.time() - days * 86_400,
            )
        )
    store.record([Showing("sunk", f"a/{number}", False, time.time()) for number in range(6)])
    lessons.switch_lesson(lessons.find_lesson(story.owner, "disabled"), by=story.owner, off=True, why="it misleads")
    return {}


def do_backlog() -> dict[str, Any]:
    """Tickets of a project of their own: some fit tonight, one is over the cap, one has no estimate."""
    from datetime import time

    from projects.models import BacklogItem
    from projects.services.backlog import hours, items
    from projects.services.planning import projects

    owner = KEPT[0].owner
    project = projects.create_project("Booking core", by=owner)
    window = (time(20), time(6))
    caps = {"tokens": None, "minutes": 420, "cents": None}
    hours.save(project, by=owner, window=window, time_zone="UTC", caps=caps)
    titles = ("Patients move an appointment by answering the text", "Phone desk sees the next free slot first")
    titles += ("Search is slow with 40,000 patients", "Cancelled slots still show in the day list")
    titles += ("The week as CSV", "Colours a colour-blind receptionist can tell apart", "Two doctors share one room")
    titles += ("Reminder in the patient’s language",)
    text = "\n".join(f"CL-{118 + n} {title}" for n, title in enumerate(titles))
    made = items.add(project, items.from_text(text), by=owner, source="pasted")
    for item, minutes in zip(made, (95, 60, 110, 50, 40, 85, 115), strict=False):
        BacklogItem.objects.filter(pk=item.pk).update(minutes=minutes)
    items.change(project, [item.pk for item in made[:7]], by=owner, do="assign")
    return {"project": project.pk}
