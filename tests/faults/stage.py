"""What the fault tests share: a project on its way, a runner that orders faults, a sandbox that runs nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Unpack

from agents.llm.base import Completion, Timeouts
from agents.llm.runner import ModelRunner
from projects.engine import model_clients as engine_models
from projects.jobs import runs as run_jobs
from projects.jobs import upkeep
from projects.models import Approval, Event, Plan, Project, RequirementDocument, Run, Task
from projects.services.audit import chain
from projects.services.decisions import approvals
from projects.services.planning import documents, plans, runs
from sandbox.base import SandboxWish
from sandbox.test_report import Failure, TestReport
from tests.agents.llm.fake_servers import FakeModelServer
from tests.factories import PRD, make_document, make_project, owner_of
from tests.projects.jobs_driver import Driver, small_plan, small_replies, write_scenario
from tests.sandbox.fake_backend import FakeBackend, FakeSandbox, nothing_happens


class FaultyRunner(ModelRunner):
    """Orders `fault` before each call of `persona`, as often as `times` says."""

    def __init__(self) -> None:
        super().__init__(attempts=2, backoff=0.001, breaker_failures=1_000)
        self.persona, self.fault, self.times = "", {}, 0
        self.calls: list[str] = []
        self.before: Callable[[str], None] = lambda who: None
        self.spoil: Callable[[str], str] = lambda text: text

    def order(self, persona: str, times: int = 1_000, **fault: Any) -> None:
        """From now on this persona's calls go wrong."""
        self.persona, self.fault, self.times = persona, fault, times

    def complete(self, provider: Any, messages: Sequence[Any], **options: Any) -> Completion:
        """Ask; with short timeouts where a fault was ordered, so that no other call depends on the load."""
        who = messages[0]["label"]["persona"]
        self.calls.append(who)
        self.before(who)
        provider.timeouts = Timeouts(connect=10.0, first_token=60.0, idle=60.0, total=120.0)
        if who == self.persona and self.times > 0:
            provider.timeouts = Timeouts(connect=2.0, first_token=0.4, idle=0.4, total=4.0)
            self.times -= 1
            for server in _faulty_servers():
                server.faults.add(times=2, **self.fault)  # both tries of the runner
        try:
            completion = super().complete(provider, messages, **options)
            return replace(completion, text=self.spoil(completion.text))
        finally:
            for server in _faulty_servers():
                server.faults.clear()


def _faulty_servers() -> list[FakeModelServer]:
    # Another test of this process may have left a server that plays recordings only.
    return [server for server in engine_models._servers.values() if isinstance(server, FakeModelServer)]


class QuietSandbox(FakeSandbox):
    """Holds files, runs nothing."""

    def warm_up(self) -> None:
        """There is nothing to load."""


class QuietBackend(FakeBackend):
    """Makes quiet sandboxes; `broken` is raised instead of making one."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: Exception | None = None

    def open(self, **wanted: Unpack[SandboxWish]) -> FakeSandbox:
        """A sandbox, unless the engine is gone."""
        if self.broken is not None:
            raise self.broken
        self.opened.append(QuietSandbox(nothing_happens, wanted.get("packages")))
        return self.opened[-1]


def quiet_pytest(sandbox: Any, args: Sequence[str] = (), **_: Any) -> TestReport:
    """Passes when some file adds a and b, fails otherwise; a run up to the first failure notices each mutant."""
    if "-x" not in args and any(
        b"return a + b" in data for name, data in sandbox.files.items() if not name.startswith("tests/")
    ):
        return TestReport(passed=1, collected=1, exit_code=0)
    failure = Failure("tests/test_calc.py::test_sum", "assert 6 == 5", "E       assert 6 == 5")
    return TestReport(failed=1, collected=1, exit_code=1, failures=(failure,))


WITH_BACKGROUND = PRD + "\n## Background\n\nWe once forgot the milk.\n"  # which the model is asked about


class Stage:
    """A project on its way from document to merged code."""

    def __init__(self, folder: Path, driver: Driver, runner: FaultyRunner) -> None:
        self.folder, self.driver, self.runner = folder, driver, runner
        self.project: Project
        self.run: Run

    def open(self, replies: Mapping[str, str], **settings: Any) -> Project:
        """The project, played by these replies."""
        self.project = make_project("Sums", model=write_scenario(self.folder, dict(replies)), **settings)
        return self.project

    def say(self, **replies: str) -> None:
        """Change what the model says from now on; `T_01__coder_code` names T-01/coder-code."""
        for name, text in replies.items():
            task, _, step = name.partition("__")
            path = self.folder / task.replace("_", "-") / f"{step.replace('_', '-')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="surrogatepass")

    def upload(self, replies: Mapping[str, str], text: str = PRD) -> tuple[RequirementDocument, Run]:
        """Upload a document and plan it as far as it goes."""
        project = self.open(replies)
        document = documents.upload_document(project, text.encode(), "prd.md", by=owner_of(project))
        self.run = runs.start_planning(document, by=owner_of(project))
        self.work()
        return document, self.run

    def build(self, *keys: str, content: str = "", limits: Mapping[str, int] | None = None, **replies: str) -> Run:
        """An approved plan with these tasks, built as far as it goes."""
        given = small_replies(*keys) | {
            name.replace("__", "/").replace("_", "-"): text for name, text in replies.items()
        }
        project = self.open(given, limits=limits or {})
        document = make_document(project)
        plan = plans.propose_plan(document, content=json.loads(content or small_plan(*keys)))
        plans.approve_plan(plan, content_hash=plan.content_hash, by=owner_of(project))
        self.run = runs.start_build(plan, by=owner_of(project))
        self.work()
        return self.run

    def work(self) -> None:
        """Do the jobs that wait; look what became of the run."""
        self.driver.work()
        self.run.refresh_from_db()

    def sweep(self) -> None:
        """What the clock does every twenty seconds, when all have rested, and the jobs it wakes."""
        upkeep.sweep()
        later, run_jobs.LATER = run_jobs.LATER, timedelta(0)
        try:
            self.driver.step(len(self.driver.waiting))
        finally:
            run_jobs.LATER = later
        self.work()

    def task(self, key: str = "T-01") -> Task:
        """A task as it stands now."""
        return self.run.tasks.get(key=key)

    def statuses(self) -> dict[str, str]:
        """Every task's state."""
        return dict(self.run.tasks.order_by("ordinal").values_list("key", "status"))

    def question(self) -> Approval:
        """The one question in the owner's inbox."""
        (question,) = approvals.pending_for(owner_of(self.project))
        return question

    def retry(self, note: str = "Once more.") -> None:
        """The owner says yes to the escalation."""
        approvals.decide(self.question(), by=owner_of(self.project), yes=True, reason=note)
        self.work()

    def plan(self) -> Plan | None:
        """The newest plan."""
        return Plan.objects.filter(project=self.project).order_by("-version").first()

    def summaries(self, *types: str) -> list[str]:
        """The rows of these types, in order."""
        return list(
            Event.objects.filter(run=self.run, type__in=types).order_by("seq").values_list("summary", flat=True)
        )

    def is_sound(self) -> bool:
        """The chain verifies, and nothing ended in an unexpected error."""
        unexpected = [text for text in self.summaries("error") if "unexpected" in text.lower()]
        assert not unexpected, unexpected
        return chain.verify_chain(self.run.pk).ok
