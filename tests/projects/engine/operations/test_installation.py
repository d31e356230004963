"""What fails of the installation itself is an incident until it works again."""

from collections.abc import Collection
from datetime import timedelta

import pytest
from django.utils import timezone

from agents.engine.waiting import WaitReason
from projects.engine import sandboxes
from projects.engine.operations import installation
from projects.jobs import upkeep
from projects.models import Incident, Notice, SiteEvent, Task, TrafficMinute
from projects.services.installation import health
from projects.services.installation.health import HealthCheck
from projects.services.work import tasks
from tests.dashboard.operated import operated
from tests.factories import make_project, make_task, make_user
from tests.rows import fresh

pytestmark = pytest.mark.django_db
Status = Incident.Status


class Machine:
    """Checks that a test decides."""

    def __init__(self) -> None:
        self.red: dict[str, str] = {}
        self.needed = ["Disk", "Sandbox"]
        self.asked: list[str] = []

    def checks(self, awaited: Collection[str] | None = None) -> list[HealthCheck]:
        """Those needed and those awaited, as the doctor's are."""
        names = [*self.needed, *(name for name in ("Model server", "Docker") if awaited is None or name in awaited)]
        self.asked = names
        return [
            HealthCheck(name=name, ok=name not in self.red, detail=self.red.get(name, "fine"), hint="mend", seconds=0.0)
            for name in names
        ]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    monkeypatch.setattr(upkeep, "close_old_connections", lambda: None)  # the test's own is still in use
    monkeypatch.setattr(health, "_registered", found.checks)
    return found


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done about a sandbox that fails."""
    done: list[str] = []
    monkeypatch.setattr(sandboxes, "tidy", lambda: done.append("tidy") or {"bubblewrap": 2})
    monkeypatch.setattr(sandboxes, "tend_image", lambda **how: done.append(f"image {how}") or "")
    return done


def test_a_machine_where_all_works_has_no_incident(machine: Machine) -> None:
    assert installation.watch() == []
    assert "Docker" not in machine.asked, "what no task needs is not looked at each minute"


def test_a_model_server_that_nobody_waits_for_may_be_off(machine: Machine) -> None:
    machine.red["Model server"] = "No model server answers"
    assert installation.watch() == []


def test_one_that_tasks_wait_for_is_an_incident_until_it_answers(machine: Machine, enqueued: object) -> None:
    make_user("root", superuser=True)
    machine.red["Model server"] = "No model server answers."
    task = make_task()
    Task.objects.filter(pk=task.pk).update(wait_reason=WaitReason.MODEL, why_detail="nobody answers")
    (incident,) = installation.watch()
    assert incident.title == "Model server: No model server answers, and 1 waits for it"
    assert incident.status == Status.NEEDS_YOU
    assert incident.timeline[-1]["text"] == "Nothing of it may be restarted from here. What a person can do: mend"
    assert Notice.objects.filter(user__username="root", items__0__project="This installation").exists()
    (again,) = installation.watch()
    assert (again.pk, again.count) == (incident.pk, 2)
    machine.red.clear()
    assert installation.watch() == []
    assert fresh(incident).status == Status.RESOLVED
    assert incident.seconds_to_resolution is not None
    actions = SiteEvent.objects.filter(action__startswith="incident.").values_list("action", flat=True)
    assert sorted(set(actions)) == ["incident.needs_you", "incident.opened", "incident.resolved"]


def test_what_fails_again_soon_is_the_same_incident_and_tells_nobody_twice(machine: Machine, enqueued: object) -> None:
    make_user("root", superuser=True)
    machine.red["Disk"] = "0.1 GB free"
    (first,) = installation.watch()
    told = Notice.objects.count()
    assert told
    machine.red.clear()
    installation.watch()
    machine.red["Disk"] = "0.2 GB free"
    (second,) = installation.watch()
    assert second.pk == first.pk
    assert "It fails again: 0.2 GB free" in second.timeline[-1]["text"]
    assert Notice.objects.count() == told


def test_a_full_disk_is_told_with_what_takes_the_room(machine: Machine, settings, tmp_path, removed) -> None:
    settings.AISWE_HOME = tmp_path
    (tmp_path / "repositories").mkdir()
    (tmp_path / "repositories" / "pack").write_bytes(b"x" * 4096)
    machine.red["Disk"] = "0.1 GB free"
    (incident,) = installation.watch()
    assert "repositories 0.0 GB" in incident.timeline[-1]["text"]
    assert (tmp_path / "repositories" / "pack").exists(), "nothing of a person's is removed"
    assert removed == ["tidy"]


def test_a_sandbox_that_fails_is_tidied_once_and_its_image_made_again(machine: Machine, removed: list[str]) -> None:
    machine.red["Sandbox"] = "no sandbox opens"
    (incident,) = installation.watch()
    installation.watch()
    assert removed == ["tidy", "image {'again': True}"]
    assert "2 sandboxes of dead workers were removed." in incident.timeline[-1]["text"]


def test_an_index_that_no_check_looks_at_is_known_by_those_who_wait(machine: Machine) -> None:
    task = make_task()
    Task.objects.filter(pk=task.pk).update(wait_reason=WaitReason.PACKAGE_INDEX, why_detail="the index is away")
    (incident,) = installation.watch()
    assert incident.title == "Package index: the index is away, and 1 waits for it"
    task.run.__class__.objects.filter(pk=task.run.pk).update(status="cancelled")
    assert installation.watch() == [], "work that is over waits for nothing"


def test_workers_that_end_again_and_again_need_a_person(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "release_dead_owners", lambda is_alive: 1)
    upkeep.sweep()
    (incident,) = installation.watch()
    assert incident.status == Status.WATCHING
    upkeep.sweep()
    upkeep.sweep()
    (incident,) = installation.watch()
    assert incident.status == Status.NEEDS_YOU
    assert "Workers ended 3 times" in incident.timeline[-1]["text"]
    Incident.objects.update(last_seen=timezone.now() - timedelta(hours=2))
    assert installation.watch() == []


def test_each_look_forgets_old_traffic(machine: Machine) -> None:
    _, live, _ = operated(make_project("Shop"))
    old = timezone.now() - timedelta(days=15)
    TrafficMinute.objects.create(deployment=live, minute=old)
    upkeep.watch_installation()
    assert not TrafficMinute.objects.filter(minute=old).exists()
    assert TrafficMinute.objects.exists()
