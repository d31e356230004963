"""`aiswe run watch`: the live view on a terminal, lines elsewhere, questions answered as they come up."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import pytest
from rich.console import Console

from aiswe_site.cli import watching
from aiswe_site.cli.watching import EventFilter, picture
from projects.models import Run, Task
from projects.services.work import approval_requests
from projects.services.work.moves import move_run, move_task
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_run, make_user
from tests.rows import emit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]


@pytest.fixture
def build() -> Run:
    make_user("root", superuser=True)
    run = make_run()
    first = run.tasks.get(key="T-01")
    move_task(first, Task.Status.READY)
    emit(run.pk, "thought", summary="I read \x1b[2Jthe task", role="coder", task_id=first.pk)
    emit(run.pk, "gate.passed", summary="bandit", role="reviewer")
    return run


def drawn(run: Run, lines: deque[str]) -> str:
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115  closed with the process
    console.print(picture(run, lines))
    return console.export_text()


def test_the_view_shows_tasks_progress_and_the_newest_lines(build: Run) -> None:
    move_task(build.tasks.get(key="T-01"), Task.Status.SKIPPED)
    text = drawn(build, deque(["a \x1b[2J line"]))
    assert "1 of 2 tasks" in text
    assert "T-01" in text
    assert "skipped" in text
    assert "Write part T-02" in text
    assert "line" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ((), {"thought", "gate.passed"}),
        (("--role", "coder"), {"thought"}),
        (("--task", "t-01"), {"thought"}),
        (("--type", "gate"), {"gate.passed"}),
        (("--type", "gat"), set()),
    ],
)
def test_lines_can_be_filtered(build: Run, cli: CommandLine, options: tuple[str, ...], shown: set[str]) -> None:
    move_run(build, Run.Status.CANCELLED)
    text = cli.prints("run", "watch", str(build.pk), *options, code=1)
    assert {kind for kind in ("thought", "gate.passed") if kind in text} == shown
    assert "\x1b" not in text


def test_a_task_that_is_not_there_is_named(build: Run, cli: CommandLine) -> None:
    assert "T-01, T-02" in cli.refuses("run", "watch", str(build.pk), "--task", "T-99")


def test_with_json_there_is_one_document(build: Run, cli: CommandLine) -> None:
    move_run(build, Run.Status.CANCELLED)
    assert cli.answers("run", "watch", str(build.pk), code=1)["status"] == "cancelled"
    assert "gate.passed" in cli.err


def test_a_run_that_waits_names_the_command_that_answers(build: Run, cli: CommandLine) -> None:
    task = build.tasks.get(key="T-01")
    asked = approval_requests.ask(build.project, kind="package", subject="x", title="Install x?", run=build, task=task)
    move_run(build, Run.Status.NEEDS_YOU)
    shown = cli.prints("run", "watch", str(build.pk), code=1)
    assert f"Install x?\nAnswer: aiswe approvals answer {asked.pk} yes|no" in shown


@pytest.mark.parametrize(("words", "status"), [("y", "approved"), ("n", "rejected"), ("l", "pending")])
def test_a_question_that_comes_up_is_answered_at_the_terminal(
    build: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, status: str
) -> None:
    asked = approval_requests.ask(build.project, kind="package", subject="rich", title="Use rich?", run=build)
    answers = iter([words, "too large"])
    monkeypatch.setattr(watching.click, "prompt", lambda *_, **__: next(answers))

    def slept(_: float) -> None:
        current = Run.objects.get(pk=build.pk)
        if current.status not in Run.OVER:
            move_run(current, Run.Status.CANCELLED)

    monkeypatch.setattr(watching.time, "sleep", slept)
    watching.watch(build, 0, EventFilter(), "", asks=True)
    asked.refresh_from_db()
    assert (asked.status, asked.reason) == (status, "too large" if words == "n" else "")
    assert "Use rich?" in capsys.readouterr().out


def test_without_a_keyboard_nothing_is_asked(build: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    approval_requests.ask(build.project, kind="package", subject="rich", title="Use rich?", run=build)
    move_run(build, Run.Status.NEEDS_YOU, reason="a question")

    def never(*_: Any, **__: Any) -> str:
        raise AssertionError("nobody is there")

    monkeypatch.setattr(watching.click, "prompt", never)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    watching.watch(build, 0, EventFilter(), "", asks=False)
