"""Case 20: somebody asks for what is not theirs, by number, by a forged post or by fields no form has.

The table in tests/dashboard/permissions.py is complete: an address that is not in it fails the first test. Each row is
asked for by each kind of person, and each answer is undone before the next.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as site
from django.contrib.contenttypes.models import ContentType
from django.template.backends.django import Template
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from projects.engine.chat import new_chat
from projects.models import Approval, Membership, Project
from projects.services.accounts import api_tokens, console_token
from projects.services.work import approval_requests
from tests.dashboard import permissions as table
from tests.dashboard.operated import operated
from tests.dashboard.story import Story, add_code, tell
from tests.e2e.scenes import session_of
from tests.factories import make_finding, make_user
from tests.rows import undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db
FROM_GIT = "application/x-git-upload-pack-request"


@dataclass
class World:
    """The story, its people with a session and a token each, and what rows of the table call by name."""

    story: Story
    sessions: dict[str, str]
    tokens: dict[str, str]
    rows: dict[str, Any]
    browsers: dict[bool, Client] = field(default_factory=dict)

    def client(self, person: str, enforce_csrf_checks: bool = False) -> Client:
        """A browser of that person. It is the same object for all of them: making one costs more than a page."""
        client = self.browsers.setdefault(enforce_csrf_checks, Client(enforce_csrf_checks))
        client.cookies.clear()
        if person != "anonymous":
            client.cookies[site.SESSION_COOKIE_NAME] = self.sessions[person]
        return client

    def place(self, row: table.Row, arg: str) -> Any:
        """A part of an address: a row's number; the API names projects and tasks by their short names."""
        named = {"project": self.story.project.slug, "STUCK": self.story.stuck.key} if "api-" in row.name else {}
        return named.get(arg) or (self.rows[arg].pk if arg in self.rows else arg)

    def ask(self, row: table.Row, person: str, *, method: str = "", token: str | None = None, **how: Any) -> Any:
        """What that person is answered. What the API is asked for is asked with a token."""
        args = [self.place(row, arg) for arg in row.args]
        known = {"HASH": self.story.waiting_plan.content_hash, "VIEWER": str(self.rows["viewer"].pk)}
        data = {k: known.get(v, v) if isinstance(v, str) else v for k, v in row.data.items()}
        address, verb = reverse(row.name, args=args), (method or row.method).lower()
        if not row.by_token:
            return getattr(self.client(person, **how), verb)(address, data)
        token = self.tokens.get(person, "") if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if row.name.startswith("git-"):
            headers = {"Authorization": f"Basic {b64encode(f'git:{token}'.encode()).decode()}"} if token else {}
            more = {} if verb == "get" else {"content_type": FROM_GIT}
            data = data if verb == "get" else b"0000"
            return getattr(self.client("anonymous", **how), verb)(address, data, headers=headers, **more)
        more = {} if verb == "get" else {"content_type": "application/json"}
        return getattr(self.client("anonymous", **how), verb)(address, data, headers=headers, **more)


@pytest.fixture
def world(enqueued: list[Any], settings: Any) -> World:
    settings.API_PER_MINUTE = 10**6
    story = tell()
    add_code(story)
    other = story.waiting_plan.project
    people = {"ada": story.owner, "root": make_user("root", superuser=True), "stranger": make_user("stranger")}
    for role in table.ROLES:
        people[role] = make_user(role, role=role, project=story.project)
        other.memberships.create(user=people[role], role=role)
    tokens, mine = {}, None
    for name, user in people.items():
        made, tokens[name] = api_tokens.make_token(user, name="all", scopes=list(api_tokens.SCOPES), days=1)
        mine = made if name == "ada" else mine
    severe = make_finding(story.stuck, fingerprint="g" * 64)
    first = make_user("first", role="security", project=story.project)
    override = approval_requests.ask(
        story.project,
        kind="gate",
        subject="g" * 64,
        title="Second person",
        run=story.run,
        task=story.stuck,
        payload={
            "disposition": "override",
            "finding": severe.pk,
            "first": first.pk,
            "second": None,
            "reason": "known",
            "expires_at": (timezone.now() + timedelta(days=3)).isoformat(),
        },
    )
    chat = new_chat(story.project, by=story.owner)
    rows = {
        **vars(story),
        "chat": chat,
        "chat_question": approval_requests.ask(story.project, kind="chat", subject="one", title="May it?", run=chat),
        "requirement": story.document.requirements.first(),
        **dict(zip(("target", "deployment", "incident"), operated(story.project), strict=True)),
        "idle_target": story.project.targets.create(name="idle"),
        "token": mine,
        "viewer": people["viewer"],
        "override": override,
        "plan_approval": Approval.objects.get(project=other, kind="plan", status="pending"),
    }
    return World(story, {name: session_of(user) for name, user in people.items()}, tokens, rows)


def test_the_table_names_every_address_of_the_site() -> None:
    ours = {name for name, _ in table.routes() if not name.startswith("admin:")}
    assert {row.name for row in table.TABLE} == ours
    office = {f"{kind}_{what}" for kind, pages in table.BACK_OFFICE.items() for what in pages | {"add", "delete"}}
    office |= set(table.BACK_OFFICE_PAGES) | table.BACK_OFFICE_REST
    assert office == {name.removeprefix("admin:") for name, _ in table.routes() if name.startswith("admin:")}


@pytest.mark.parametrize("person", table.PERSONS)
def test_everybody_gets_exactly_what_the_table_says(world: World, person: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Who may see a page is decided before it is drawn; what it shows depends on having all rights, some or none.
    if person not in ("ada", "stranger", "viewer", "root"):
        monkeypatch.setattr(Template, "render", lambda *_, **__: "")
    wrong = []
    for row in table.TABLE:
        with undone():
            answer = world.ask(row, person)
            if answer.status_code != row.expected(person):
                wrong.append(f"{row}: {answer.status_code}, the table says {row.expected(person)}")
            if person == "anonymous" and row.who == table.MEMBERS and not row.by_token:
                assert answer["Location"].startswith("/sign-in"), row
            if person == "stranger" and answer.status_code == 404:
                assert b"Todo API" not in answer.content, row
    assert wrong == []


def test_a_method_that_is_not_in_the_table_is_refused(world: World) -> None:
    taken: dict[str, set[str]] = {}
    for row in table.TABLE:
        taken.setdefault(row.name, set()).add(row.method)
    wrong = []
    for row in {row.name: row for row in table.TABLE if row.name != "api-nothing"}.values():
        for method in set(table.METHODS) - taken[row.name]:
            with undone():
                # Who is signed in is led away from the sign-in, however they came.
                got = world.ask(row, "anonymous" if row.name == "sign-in" else "ada", method=method).status_code
                if got != 405:
                    wrong.append(f"{method} {row.name}: {got}")
    assert wrong == []


def test_a_number_nobody_has_is_answered_like_somebody_elses(world: World) -> None:
    for row in table.TABLE:
        if row.args and row.args[0] in world.rows:
            for number in (999_999, 10**17, 10**18 - 1):
                others = [world.rows[arg].pk if arg in world.rows else arg for arg in row.args[1:]]
                address = reverse(row.name, args=[number, *others])
                how: dict[str, Any] = {}
                if row.by_token:
                    kind = (
                        "application/json" if row.name.startswith("api-") else "application/x-git-upload-pack-request"
                    )
                    how = {"headers": {"Authorization": f"Bearer {world.tokens['root']}"}}
                    how |= {"content_type": kind} if row.method == "POST" else {}
                asked = getattr(world.client("root"), row.method.lower())
                data = row.data if row.name.startswith("api-") else {}
                assert asked(address, data, **how).status_code == 404, row


def test_the_back_office_is_for_administrators(world: World) -> None:
    objects = {
        "auth_user": world.story.owner,
        "projects_project": world.story.project,
        "projects_run": world.story.run,
        "projects_task": world.story.done,
        "projects_plan": world.story.plan,
        "projects_event": world.story.run.events.first(),
        "projects_approval": world.story.approval,
    }
    helper = make_user("helper")
    helper.is_staff = True
    helper.save()
    world.sessions["helper"] = session_of(helper)
    asked = 0
    for name, _ in table.routes():
        short = name.removeprefix("admin:")
        if not name.startswith("admin:") or short in table.BACK_OFFICE_REST:
            continue
        kind, _, what = short.rpartition("_") if short not in table.BACK_OFFICE_PAGES else ("", "", short)
        if kind == "auth_user_password":
            kind, what = "auth_user", "password_change"
        needs = what in ("history", "delete", "change", "password_change")
        if needs and kind not in objects:
            continue  # no row of that kind is in the story
        args = [objects[kind].pk] if needs else ["auth"] if short == "app_list" else []
        address = reverse(name, args=args)
        for person in table.PERSONS:
            if person != "root":
                answer = world.client(person).get(address)
                assert answer.status_code == 302, (name, person)
                assert answer["Location"].startswith(("/admin/login/", "/sign-in")), (name, person)
        expected = table.BACK_OFFICE_PAGES.get(short) or (200 if what in table.BACK_OFFICE[kind] else 403)
        with undone():
            assert world.client("root").get(address).status_code == expected, name
            assert world.client("helper").get(address).status_code in ((403, 404) if kind else (200, 403, 404)), name
        asked += 1
    assert asked > 30


@each_row("kind", ["event", "siteevent", "transition", "run", "task", "plan", "approval"])
def test_evidence_is_not_changed_in_the_back_office_either(world: World, kind: str) -> None:
    model = ContentType.objects.get(app_label="projects", model=kind).model_class()
    row = model.objects.first()
    assert row is not None
    for what in ("change", "delete"):
        answer = world.client("root").post(reverse(f"admin:projects_{kind}_{what}", args=[row.pk]), {"post": "yes"})
        assert answer.status_code == 403


def test_a_post_that_no_page_of_ours_sent_is_refused(world: World) -> None:
    for row in table.TABLE:
        # What a forge sends is no page's: its signature is the only credential, and an address is not made up.
        if row.method == "POST" and not row.by_token and row.name != "forge-webhook":
            with undone():
                assert world.ask(row, "ada", enforce_csrf_checks=True).status_code == 403, row


def test_a_cookie_does_not_open_the_api(world: World) -> None:
    for row in table.TABLE:
        if row.by_token:
            args = [world.rows[arg].pk if arg in world.rows else arg for arg in row.args]
            answer = getattr(world.client("root"), row.method.lower())(reverse(row.name, args=args))
            assert answer.status_code == 401, row
            assert answer["WWW-Authenticate"].startswith("Bearer" if row.name.startswith("api-") else "Basic realm=")


@pytest.mark.parametrize("scope", list(api_tokens.SCOPES))
def test_a_token_does_what_its_scope_says_and_no_more(world: World, scope: str) -> None:
    _, token = api_tokens.make_token(world.story.owner, name="one", scopes=[scope], days=1)
    needs = dict.fromkeys(("api-list_projects", "api-list_documents", "api-list_backlog"), "write")
    deciding = ("confirm_requirements", "approve_plan", "request_changes", "show_approval")
    needs |= dict.fromkeys([f"api-{name}" for name in deciding], "approve")
    for row in table.TABLE:
        if row.by_token:
            wanted = "read" if row.method == "GET" or row.name.startswith("git-") else needs.get(row.name, "run")
            with undone():
                answer = world.ask(row, "ada", token=token)
                assert answer.status_code == (row.expected("ada") if wanted == scope else 403), row


NESTED = [
    # A part of somebody else's thing, reached through something of one's own.
    ("run-event", ("mine_run", "999999")),
    ("run-inspect", ("mine_run", "999999")),
    ("run-chunk", ("mine_run", "999999")),
    ("plan-task", ("mine_plan", "T-99")),
    ("plan-split", ("mine_plan", "T-99")),
    ("run-rows", ("run",)),
    ("audit-export", ("run", "jsonl")),
]


@each_row(("name", "args"), NESTED)
@undone()
def test_a_part_is_looked_for_inside_its_whole(world: World, name: str, args: tuple[str, ...]) -> None:
    from tests.factories import make_document, make_plan, make_project, make_run

    stranger = make_user("eve")
    plan = make_plan(make_document(make_project(by=stranger)))
    world.rows |= {"mine_run": make_run(plan), "mine_plan": plan}
    world.sessions["eve"] = session_of(stranger)
    row = table.Row(name, "GET", frozenset(), args=args)
    assert world.ask(row, "eve").status_code == 404


def test_a_message_to_a_task_of_another_run_is_not_found(world: World) -> None:
    from tests.factories import make_document, make_plan, make_project, make_run

    stranger = make_user("eve")
    run = make_run(make_plan(make_document(make_project(by=stranger))))
    world.sessions["eve"] = session_of(stranger)
    address = reverse("run-say", args=[run.pk])
    assert world.client("eve").post(address, {"text": "x", "task": "T-04"}).status_code == 404
    assert run.events.filter(type="human.message").count() == 0


def test_a_question_about_another_projects_task_is_not_reached_through_ones_own(world: World) -> None:
    from tests.factories import make_project

    mine = make_project(by=make_user("eve"))
    world.sessions["eve"] = session_of(mine.created_by)
    for row in table.TABLE:
        if row.name in ("approval", "finding-dispose", "token-revoke", "gate", "task-retry"):
            assert world.ask(row, "eve").status_code == 404, row


EXTRA = {
    "is_superuser": "on",
    "is_staff": "on",
    "user": "1",
    "by": "1",
    "project": "1",
    "project_id": "1",
    "owner": "1",
    "created_by": "1",
    "role": "manager",
    "status": "approved",
    "slug": "taken",
    "model": "scripted:household",
    "decided_by": "1",
    "limits": '{"parallel_tasks": 64}',
    "parallel_tasks": "64",
    "content_hash": "0",
    "lease_owner": "eve",
    "last_seq": "0",
    "pk": "1",
    "id": "1",
}


def test_fields_that_no_form_has_change_nothing(world: World) -> None:
    row = next(row for row in table.TABLE if row.name == "project-settings")
    more = table.Row(row.name, "POST", row.who, args=row.args, data={**EXTRA, **row.data})
    before = Project.objects.filter(pk=world.story.project.pk).values().get()
    members = sorted(Membership.objects.values_list("user", "project", "role"))
    assert world.ask(more, "architect").status_code == 302
    after = Project.objects.filter(pk=world.story.project.pk).values().get()
    assert {k for k in before if before[k] != after[k]} <= {"limits", "autonomy", "house_rules"}
    assert after["limits"] == {**before["limits"], "max_retries": 3}
    for name in (
        "requirement",
        "requirement-add",
        "plan-changes",
        "run-say",
        "approval",
        "account-password",
        "preferences",
    ):
        row = next(row for row in table.TABLE if row.name == name and row.method == "POST")
        world.ask(table.Row(name, "POST", row.who, args=row.args, data={**EXTRA, **row.data}), "ada")
    assert sorted(Membership.objects.values_list("user", "project", "role")) == members
    ada = type(world.story.owner).objects.get(pk=world.story.owner.pk)
    assert (ada.is_superuser, ada.is_staff) == (False, False)
    assert Project.objects.get(pk=world.story.project.pk).created_by_id == ada.pk


def test_a_field_the_api_does_not_know_is_refused_by_name(world: World) -> None:
    for row in table.TABLE:
        if row.name.startswith("api-") and row.method == "POST":
            more = table.Row(row.name, "POST", row.who, args=row.args, data={**row.data, "is_superuser": True})
            with undone():
                answer = world.ask(more, "root")
                wrong = {one["name"] for one in answer.json()["errors"]}
                assert (answer.status_code, "is_superuser" in wrong) == (422, True), row


def test_nobody_becomes_administrator_by_extra_fields_of_the_set_up(client: Client, django_user_model: Any) -> None:
    token = console_token.issue(console_token.SETUP)
    secret = "a long enough passphrase"
    data = {"username": "root", "password": secret, "again": secret, "token": token}
    client.post("/setup", {**data, "is_superuser": "on"})
    assert django_user_model.objects.get().username == "root"
    assert Client().post("/setup", {**data, "username": "second"}).status_code == 404
    assert django_user_model.objects.count() == 1
