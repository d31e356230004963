"""The permission table: every address of the site, every method it takes, and who gets what there.

Written by hand, not derived from the code: a change of rights must be made here too, on purpose.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.urls import URLResolver, get_resolver

ROLES = ("viewer", "auditor", "security", "developer", "architect", "manager")
# ada made the projects: architect, manager and developer. root is a superuser who is no member of anything.
PERSONS = ("anonymous", "stranger", *ROLES, "ada", "root")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

SIGNED_IN = frozenset(PERSONS) - {"anonymous"}
MEMBERS = SIGNED_IN - {"stranger"}
RUNNERS = frozenset({"developer", "architect", "manager", "ada", "root"})
ARCHITECTS = frozenset({"architect", "ada", "root"})
MANAGERS = frozenset({"manager", "ada", "root"})
DEVELOPERS = frozenset({"developer", "ada", "root"})
DECIDERS = RUNNERS | {"security"}
SETTERS = ARCHITECTS | MANAGERS
ROOT = frozenset({"root"})
NO_ROOT = dict.fromkeys(SIGNED_IN - ROOT, 403)
AUDITORS = frozenset({"security", "auditor", "root"})
NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Row:
    """One thing that can be asked for: where, how, with what, and who gets `ok`.

    Everybody else gets: anonymous the sign-in (401 from the API and for git), a stranger 404, a member whose role does
    not reach 403. `but` names the exceptions.
    """

    name: str
    method: str
    who: frozenset[str]
    ok: int = 200
    args: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    but: dict[str, int] = field(default_factory=dict)

    def expected(self, person: str) -> int:
        """The status this person is answered with."""
        if person in self.but:
            return self.but[person]
        if person in self.who:
            return self.ok
        if person == "anonymous":
            return 401 if self.by_token else 302
        return 404 if person == "stranger" else 403

    @property
    def by_token(self) -> bool:
        """Whether programs ask for it, with a token: the API, and git."""
        return self.name.startswith(("api-", "git-")) and self.name not in ("api-openapi", "api-nothing")

    def __str__(self) -> str:
        return f"{self.method} {self.name} {' '.join(self.args)} {sorted(self.data)}"


def _open(name: str, method: str, ok: int = 200, **more: Any) -> Row:
    return Row(name, method, frozenset(PERSONS), ok, **more)


def _any(name: str, method: str = "GET", ok: int = 200, **more: Any) -> Row:
    return Row(name, method, SIGNED_IN, ok, **more)


def _see(name: str, *args: str) -> Row:
    return Row(name, "GET", MEMBERS, 200, args)


def _do(name: str, who: frozenset[str], *args: str, ok: int = 302, **data: Any) -> Row:
    return Row(name, "POST", who, ok, args, data)


MORE = {"text": "More.", "kind": "functional"}
FRIDAYS = {"weekday": "4", "hour": "17", "time_zone": "UTC", "recipients": "a@example.org"}
TASK = {"title": "A", "agent": "coder", "minutes": "5", "requirements": ["FR-01", "FR-02"]}
SPLIT = {"title": "A", "minutes": "5", "second_title": "B", "second_minutes": "5"}
SETTINGS = {"max_retries": "3", "autonomy": "plan_gates"}
DISPOSED = {"disposition": "accepted", "reason": "known", "days": "7"}
NOT_MINE = dict.fromkeys(MEMBERS - {"ada"}, 404)
NO_LESSON = dict.fromkeys(SIGNED_IN, 404)
IN = dict.fromkeys(SIGNED_IN, 302)  # somebody signed in needs no sign-in

TABLE: list[Row] = [
    _open("alive", "GET"),
    _open("sign-in", "GET", but=IN),
    _open("sign-in", "POST", but=IN, data={"username": "x", "password": "y"}),
    _open("sign-in-code", "GET", 302),
    _open("sign-in-code", "POST", 302, data={"code": "123456"}),
    _open("setup", "GET", 404),
    _open("setup", "POST", 404),
    _open("demo-entry", "GET", 404),
    _open("demo-entry", "POST", 404),
    _open("preferences", "POST", 302, data={"theme": "dark"}),
    _open("back-office-door", "GET", 403, but={"anonymous": 302}),
    _any("back-office-password"),
    _any("sign-out", "POST", 302),
    _any("account"),
    _any("account-password", "POST", 422),
    _any("notices"),
    _any("notices", "POST", 422),
    _any("notices-test", "POST", 302),
    _any("notices-news"),
    _any("second-factor"),
    _any("second-factor", "POST", 422, data={"password": "x", "code": "000000"}),
    _any("second-factor-change", "POST", 302),
    _any("sign-out-everywhere", "POST", 302),
    _any("token-make", "POST", 422),
    Row("token-revoke", "POST", frozenset({"ada"}), 302, ("token",), but=NOT_MINE),
    _any("projects"),
    _any("keys"),
    _any("find"),
    _any("preview", "POST", data={"text": "# A\n\nThe API shall add."}),
    _any("project-new"),
    _any("project-new", "POST", 422),
    _any("project-import"),
    _any("project-import", "POST", 422),
    _any("runs"),
    _any("approvals"),
    _any("approvals-together", args=("package",)),
    _any("approvals-together", "POST", 422, args=("package",), data={"answer": "yes"}),
    _any("audit"),
    _any("reports"),
    _any("report-weekly"),
    _any("report-csv"),
    _any("report-mail", "POST", 302, data={"week": "2026-W48"}),
    Row("report-schedule", "POST", MANAGERS, 302, data=FRIDAYS, but=dict.fromkeys(SIGNED_IN - MANAGERS, 403)),
    _any("memory"),
    # tests/dashboard/test_memory.py has a lesson that there is.
    Row("lesson-switch", "POST", NOBODY, 404, ("no-such-lesson",), {"to": "off"}, but=NO_LESSON),
    _any("system"),
    _any("system", "POST", 302),
    _any("sandbox-image"),
    Row("sandbox-image", "POST", ROOT, 302, but=dict.fromkeys(SIGNED_IN - ROOT, 403)),
    _any("demo", "POST", 422),
    _see("project", "project"),
    _see("baseline", "project"),
    _do("baseline", SETTERS, "project"),
    _do("baseline-accept", SETTERS, "project", ok=422),
    _see("deployments", "project"),
    Row("target-add", "POST", SETTERS, 302, ("project",), {"name": "real", "kind": "sandbox"}),
    _do("target", SETTERS, "target", command="python app.py"),
    _do("target-act", RUNNERS, "target", "deploy"),
    _do("target-act", RUNNERS, "target", "back"),
    _do("target-act", RUNNERS, "target", "restart"),
    _do("target-act", RUNNERS, "target", "stop"),
    Row("target-act", "POST", SETTERS, 302, ("idle_target", "forget")),
    _see("deployment", "deployment"),
    _any("incidents"),
    _see("incident", "incident"),
    _do("incident", RUNNERS, "incident", reason="switched off"),
    _do("incident", RUNNERS, "incident", retry="1"),
    _see("backlog", "project"),
    _do("backlog-add", SETTERS, "project", text="A-1 Do it"),
    _do("backlog-import", SETTERS, "project", ok=422, where="x"),
    _do("backlog-fix", RUNNERS, "project", ok=422, pasted="all is well"),
    _do("backlog-items", SETTERS, "project", ok=422, do="assign"),
    _do("backlog-hours", SETTERS, "project", time_zone="UTC"),
    _do("backlog-tonight", SETTERS, "project", ok=422),
    _do("project-settings", SETTERS, "project", **SETTINGS),
    _do("project-archive", SETTERS, "project"),
    Row("project-delete", "POST", ROOT, 409, ("project",), {"named": "todo-api"}),  # its run is open
    _do("project-members", MANAGERS, "project", username="viewer", role="auditor"),
    _do("project-member-remove", MANAGERS, "project", user="VIEWER", role="viewer"),
    _do("project-upload", ARCHITECTS, "project", text="# B\n\nThe API shall add."),
    _see("requirements", "project"),
    _see("trace", "project"),
    _see("trace-csv", "project"),
    _see("plan", "project"),
    _see("document-original", "document"),
    _do("requirements-confirm", ARCHITECTS, "document"),
    Row("requirements-accept-read", "POST", ARCHITECTS, 409, ("document",)),  # it is confirmed
    Row("document-withdraw", "POST", ARCHITECTS, 409, ("document",)),  # something was built from it
    _do("requirement-add", ARCHITECTS, "document", **MORE),
    _do("planning-start", RUNNERS, "document"),
    _do("planning-sample", RUNNERS, "document"),
    _see("requirement", "requirement"),
    _do("requirement", ARCHITECTS, "requirement", status="rejected"),
    _do("requirement", ARCHITECTS, "requirement", **MORE),
    _do("plan-approve", ARCHITECTS, "waiting_plan", hash="HASH"),
    _do("plan-changes", ARCHITECTS, "waiting_plan", comment="smaller"),
    _do("plan-build", RUNNERS, "plan"),
    _do("plan-variant", ARCHITECTS, "waiting_plan", hash="HASH"),
    _see("plan-task", "plan", "T-01"),
    _do("plan-task", ARCHITECTS, "waiting_plan", "T-01", **TASK, hash="HASH"),
    Row("plan-restore", "POST", ARCHITECTS, 422, ("waiting_plan",)),  # it is the newest
    _see("plan-draft", "plan"),
    _do("plan-draft", ARCHITECTS, "waiting_plan", do="remove", key="T-02"),
    _see("plan-add", "plan"),
    _do("plan-add", ARCHITECTS, "waiting_plan", title="More", minutes="5"),
    _see("plan-split", "plan", "T-01"),
    _do("plan-split", ARCHITECTS, "waiting_plan", "T-01", **SPLIT),
    _see("rehearsals", "project"),
    _see("project-ask", "project"),
    _do("project-ask", MEMBERS, "project", ok=200, q="todos"),
    _do("project-index", SETTERS, "project"),
    Row("files", "GET", MEMBERS, 302, ("project",)),
    _see("project-files", "project", "main"),
    _see("project-files", "project", "main/app/todos.py"),
    _see("project-raw", "project", "main/app/todos.py"),
    _see("project-download", "project", "zip"),
    _see("project-download", "project", "tar.gz"),
    _see("project-download", "project", "bundle"),
    _see("project-download", "project", "cdx.json"),
    _see("run", "run"),
    _see("run-event", "run", "1"),
    _see("run-chunk", "run", "0"),
    _see("run-inspect", "run", "1"),
    _see("run-rows", "run"),
    Row("run-seek", "GET", MEMBERS, 302, ("run",)),
    _see("run-next", "run"),
    _see("run-track", "run"),
    _any("run-replay", "POST", 422),
    _see("run-result", "run"),
    Row("run-ticket", "POST", DECIDERS, 422, ("run",), {"confirm": "on"}),  # it was for none
    Row("run-request", "POST", DECIDERS, 422, ("run",), {"confirm": "on"}),  # it is linked to no forge
    Row("run-request-look", "POST", MEMBERS, 422, ("run",)),  # it has no pull request
    Row("project-forge", "POST", SETTERS, 422, ("project",)),  # it was not imported from an address
    Row("run-push", "POST", DECIDERS, 422, ("run",), {"confirm": "on"}),  # no remote is set
    _do("run-take-in", RUNNERS, "run"),
    _do("run-control", RUNNERS, "run", "pause"),
    _do("run-control", RUNNERS, "run", "stop"),
    _do("run-say", RUNNERS, "run", text="hello"),
    _do("chat-new", RUNNERS, "project"),
    _see("run-turns", "chat"),
    _do("chat-answer", RUNNERS, "chat", "chat_question", leave="no"),
    _see("run-tokens", "run"),
    _see("call", "run", "34"),
    _see("task-tokens", "stuck"),
    _see("task", "stuck"),
    _see("task-best", "stuck"),
    _see("task-patch", "done"),
    _do("task-limit", SETTERS, "stuck", limit="max_retries", value="7"),
    _do("task-retry", DEVELOPERS, "stuck", note="again"),
    _do("task-skip", DEVELOPERS, "stuck", reason="later"),
    _do("comment-add", DEVELOPERS, "stuck", path="app/run.py", line="4", text="Use a list."),
    _do("comments-send", DEVELOPERS, "stuck", ok=422),  # nothing is written
    Row("comment-discard", "POST", NOBODY, 404, ("stuck",), {"comment": "9"}, but=dict.fromkeys(SIGNED_IN, 404)),
    Row("file-reviewed", "POST", NOBODY, 409, ("stuck",), {"path": "app/run.py"}, but=dict.fromkeys(MEMBERS, 409)),
    _see("gate", "stuck"),
    _do("gate", DEVELOPERS, "stuck", note="again"),
    _do("finding-dispose", frozenset({"security", "root"}), "finding", **DISPOSED),  # a HIGH one
    _see("approval", "approval"),
    _do("approval", DECIDERS, "approval", answer="yes"),
    _do("approval", DECIDERS, "approval", answer="no", reason="not that one"),
    _do("approval", ARCHITECTS, "plan_approval", answer="yes"),
    _do("approval", frozenset({"security", "root"}), "override", answer="yes"),
    _see("audit-run", "run"),
    _do("audit-verify", MEMBERS, "run", ok=200),
    Row("audit-export", "GET", AUDITORS, 200, ("run", "csv")),
    Row("run-export", "GET", AUDITORS, 200, ("run",)),
    Row("audit-export", "GET", AUDITORS, 200, ("run", "jsonl")),
    Row("audit-signed", "GET", AUDITORS, 200, ("run", "jsonl")),
    _any("audit-key"),
    Row("backups", "GET", ROOT, but=NO_ROOT),
    Row("backups", "POST", ROOT, 302, but=NO_ROOT),
    Row("backup", "GET", ROOT, 404, ("none.zip",), but=NO_ROOT),
    Row("audit-site", "GET", ROOT, but=NO_ROOT),
    Row("audit-site-verify", "POST", ROOT, but=NO_ROOT),
    Row("audit-site-export", "GET", ROOT, args=("csv",), but=NO_ROOT),
    Row("audit-site-signed", "GET", ROOT, args=("jsonl",), but=NO_ROOT),
    # --- for forges: without a session, and for a made-up address one answer to everybody ---
    Row("forge-webhook", "POST", frozenset(PERSONS), 404, ("made-up",)),
    # --- git, with a token as the password ---
    Row("git-refs", "GET", MEMBERS, args=("project",), data={"service": "git-upload-pack"}),
    Row("git-upload-pack", "POST", MEMBERS, args=("project",)),
    # --- the API, with a token of that person that has every scope ---
    _open("api-openapi", "GET"),
    _open("api-nothing", "GET", 404),
    _any("api-who_am_i"),
    _any("api-event_kinds"),
    _any("api-list_projects"),
    _any("api-list_projects", "POST", 201, data={"name": "By a program"}),
    _see("api-show_project", "project"),
    _see("api-project_state", "project"),
    Row("api-ask_code", "GET", MEMBERS, args=("project",), data={"question": "where are to-dos added"}),
    _see("api-list_documents", "project"),
    _do("api-list_documents", ARCHITECTS, "project", ok=201, filename="a.md", text="# B\n\nThe API shall add."),
    _see("api-show_document", "project", "document"),
    _see("api-list_requirements", "project"),
    _do("api-confirm_requirements", ARCHITECTS, "project", "document", ok=200),
    _see("api-show_plan", "project"),
    _do("api-propose_plan", RUNNERS, "project", ok=201),
    _any("api-list_plans"),
    _see("api-read_plan", "plan"),
    _do("api-approve_plan", ARCHITECTS, "waiting_plan", ok=200, hash="HASH"),
    _do("api-request_changes", ARCHITECTS, "waiting_plan", ok=200, comment="Split it."),
    _do("api-start_run", RUNNERS, "plan", ok=201),
    _any("api-list_runs"),
    _see("api-run_status", "run"),
    _see("api-run_events", "run"),
    Row("api-run_stream", "GET", MEMBERS, args=("run",), data={"limit": 1}),
    _do("api-pause_run", RUNNERS, "run", ok=200),
    _do("api-resume_run", RUNNERS, "run", ok=409),
    _do("api-cancel_run", RUNNERS, "run", ok=200),
    _do("api-say_to_run", RUNNERS, "run", ok=201, text="hello"),
    _see("api-run_findings", "run"),
    _see("api-run_result", "run"),
    _see("api-run_diff", "run"),
    _see("api-task_evidence", "run", "T-01"),
    _do("api-retry_task", DEVELOPERS, "run", "STUCK", ok=200),
    _see("api-verify_trail", "run"),
    Row("api-export_trail", "GET", AUDITORS, args=("run",)),
    _any("api-list_approvals"),
    _see("api-show_approval", "approval"),
    _do("api-show_approval", DECIDERS, "approval", ok=200, answer="yes", subject="httpx"),
    _do("api-show_approval", ARCHITECTS, "plan_approval", ok=200, answer="yes", subject="HASH"),
    _do("api-show_approval", NOBODY, "override", answer="yes", subject="g" * 64),  # a second person is a person
    _see("api-list_backlog", "project"),
    _do("api-list_backlog", SETTERS, "project", ok=201, text="Fix the list"),
    _do("api-assign_tickets", SETTERS, "project", ok=404, keys=["B-9"]),  # there is none
    _any("api-weekly_report"),
]

# The back office: what a superuser may do with each kind of row. Nobody else comes in at all.
BACK_OFFICE: dict[str, frozenset[str]] = {
    "auth_user": frozenset({"changelist", "add", "history", "delete", "change", "password_change"}),
    "auth_group": frozenset({"changelist", "add", "history", "delete", "change"}),
    "projects_project": frozenset({"changelist", "add", "history", "change"}),
    **{
        f"projects_{evidence}": frozenset({"changelist", "history", "change"})  # "change" shows it and has no button
        for evidence in ("event", "siteevent", "transition", "run", "task", "plan", "approval")
    },
}
BACK_OFFICE_PAGES = {"index": 200, "jsi18n": 200, "app_list": 200, "password_change_done": 200, "autocomplete": 403}
# Shadowed by our own, or leading nowhere for everybody: its sign-in, its password page, its sign-out, "view on site".
BACK_OFFICE_REST = {"login", "password_change", "logout", "view_on_site", "None"}


def routes(resolver: Any = None, space: str = "") -> Iterator[tuple[str, Any]]:
    """Every address of the site by its whole name."""
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, space + (f"{pattern.namespace}:" if pattern.namespace else ""))
        else:
            yield space + str(pattern.name), pattern
