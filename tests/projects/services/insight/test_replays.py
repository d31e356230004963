"""A run that was exported is replayed elsewhere: to be looked at, rehashed, and nothing else."""

import gzip
import io
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from aiswe_site.cli.app import run as cli
from aiswe_site.startup import django as site_django
from projects.errors import BadInput, IllegalMove, NotAllowed
from projects.models import Approval, Attempt, Blob, Finding, Run, Usage
from projects.services.accounts.rights import can
from projects.services.audit.canonical import link
from projects.services.audit.chain import verify_chain
from projects.services.insight import replays, run_state
from projects.services.planning import runs
from projects.services.planning.deleting import delete_project
from tests.dashboard.story import Story, tell
from tests.factories import make_user
from tests.rows import undone
from tests.tables import each_row
from tests.texts import shows

pytestmark = pytest.mark.django_db
Lines = list[dict[str, Any]]


@pytest.fixture
def story(enqueued: list[Any]) -> Story:
    return tell()


@pytest.fixture
def lines(story: Story) -> Lines:
    """What the file of the story's run says."""
    story.run.refresh_from_db()
    packed = b"".join(replays.export_run(story.run, by=make_user(superuser=True)))
    return [json.loads(line) for line in gzip.decompress(packed).splitlines()]


def packed(lines: Lines) -> io.BytesIO:
    return io.BytesIO(gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))


def test_a_replay_has_the_events_in_a_chain_of_its_own_and_the_state_they_give(story: Story, lines: Lines) -> None:
    story.run.refresh_from_db()
    run = replays.replay_run(packed(lines), by=make_user())
    assert run.pk != story.run.pk
    assert verify_chain(run.pk).ok
    assert (run.last_seq, run.head_hash != story.run.head_hash) == (story.run.last_seq, True)
    columns = ("seq", "at", "type", "role", "actor", "attempt", "summary", "payload", "blobs", "outcome", "key")
    assert list(run.events.values_list(*columns)) == list(story.run.events.values_list(*columns))
    now = run_state.state_at(run, run.last_seq)
    was = run_state.state_at(story.run, story.run.last_seq)
    assert [t.status for t in run_state.tasks_at(run.tasks.all(), now)] == [
        t.status for t in run_state.tasks_at(story.run.tasks.all(), was)
    ]
    assert run.replay_of is not None
    assert run.replay_of["head"] == story.run.head_hash
    assert run.project.name.startswith(f"Replay of run {story.run.pk} from ")


def test_a_replay_counts_nowhere_asks_nobody_and_cannot_be_steered(story: Story, lines: Lines) -> None:
    rows = (Usage, Attempt, Finding, Approval)
    before = [model._default_manager.count() for model in rows]
    person = make_user()
    run = replays.replay_run(packed(lines), by=person)
    assert [model._default_manager.count() for model in rows] == before
    assert run.status in Run.OVER
    assert run.project.archived_at is not None, "nothing is started in it"
    assert run.plan is not None
    with pytest.raises(IllegalMove, match="archived"):
        runs.start_build(run.plan, by=person)
    for verb in runs.CONTROLS.values():
        with pytest.raises(IllegalMove):
            verb(run, by=person)
    with pytest.raises(IllegalMove, match="replay"):
        runs.say(run, by=person, text="hello")
    with pytest.raises(BadInput, match="replay"):
        replays.export_run(run, by=make_user(superuser=True))


def test_a_replay_is_labelled_wherever_it_is_shown(story: Story, lines: Lines, client: Client) -> None:
    person = make_user()
    client.force_login(person)
    answer = client.post("/runs/replay", {"file": packed(lines)}, follow=True)
    run = Run.objects.latest("pk")
    label = f"Replay of run {story.run.pk} from "
    for address in (
        f"/runs/{run.pk}",
        f"/runs/{run.pk}?at=9",
        "/runs",
        f"/audit/{run.pk}",
        f"/tasks/{run.tasks.first().pk}",
    ):
        page = client.get(address)
        assert page.status_code == 200
        assert label in page.content.decode(), address
    page = answer.content.decode()
    shows(page, "1 of 4 merged", "was verified and ends at", 'data-frozen="1"')


def test_deleting_its_project_deletes_a_replay_and_leaves_what_the_run_itself_names(story: Story, lines: Lines) -> None:
    root = make_user(superuser=True)
    blobs = Blob.objects.count()
    run = replays.replay_run(packed(lines), by=root)
    delete_project(run.project, by=root, named=run.project.slug)
    assert not Run.objects.filter(pk=run.pk).exists()
    assert Blob.objects.count() == blobs
    assert verify_chain(story.run.pk).ok


def test_only_who_may_export_an_audit_trail_may_export_a_run(story: Story) -> None:
    assert not can(story.owner, story.project, "audit.export")
    with pytest.raises(NotAllowed):
        replays.export_run(story.run, by=story.owner)


def _rehashed(lines: Lines) -> Lines:
    """The lines with a chain that fits, as somebody makes it who puts a file together."""
    before = "0" * 64
    for line in lines[1:]:
        if "blob" not in line:
            line["prev_hash"] = before
            row = {name: value for name, value in line.items() if name != "hash"}
            line["hash"] = before = link(before, row)
    lines[0]["head"] = before
    return lines


def _set(place: int, **values: Any) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        lines[place] |= values
        return lines

    return change


@each_row(
    ("change", "problem"),
    [
        (_set(5, summary="another"), "Event 5 was changed"),
        (lambda lines: [*lines[:5], *lines[6:]], "Event 5 does not follow"),
        (_set(0, head="f" * 64), "do not end at the head"),
        (_set(-1, content="another"), "is not what its hash says"),
        (lambda lines: lines[:-1], "1 contents"),
        (_set(0, format="aiswe-run/9"), "does not begin as a run does"),
        (_set(0, events=10**9), "at most"),
        (_set(0, events="many"), "not a file that"),
        (_set(0, tasks=[{"id": 1}] * 3_000), "at most"),
        (lambda lines: [], "does not begin"),
        (lambda lines: [lines[0], 7], "not an object"),  # type: ignore[list-item]
        (lambda lines: _rehashed(_set(3, task_id=10**6)(lines)), "names a task"),
        (lambda lines: _rehashed(_set(3, payload=["x"])(lines)), "names a task"),
        (lambda lines: _rehashed(_set(3, type="x" * 500)(lines)), "not a file that"),
        (lambda lines: _rehashed(_set(3, at="yesterday")(lines)), "not a file that"),
        (lambda lines: _rehashed(_set(3, blobs={"prompt": "../../etc/passwd"})(lines)), "contents"),
        (lambda lines: _rehashed(_set(3, path="/etc")(lines)), "does not follow"),
        (_set(0, run={"number": "<b>", "kind": "build", "recording": False}), "not a file that"),
    ],
)
@undone()
def test_a_file_not_as_exported_leaves_nothing(change: Callable[[Lines], Lines], problem: str, lines: Lines) -> None:
    count = Run.objects.count()
    with pytest.raises(BadInput, match=problem):
        replays.replay_run(packed(change(deepcopy(lines))), by=make_user())
    assert Run.objects.count() == count


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"{", mtime=0), gzip.compress(b"[" * 99_999, mtime=0), b"\x1f\x8b"],
    ids=["empty", "text", "broken", "deep", "cut"],
)
def test_a_file_of_another_kind_is_refused(content: bytes) -> None:
    with pytest.raises(BadInput):
        replays.replay_run(io.BytesIO(content), by=make_user())


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "MOST_BYTES", 2_000_000)
    bomb = gzip.compress(json.dumps(lines[0]).encode() + b"\n" + b" " * 50_000_000)
    assert len(bomb) < 100_000
    with pytest.raises(BadInput, match="unpacked"):
        replays.replay_run(io.BytesIO(bomb), by=make_user())


def test_a_run_goes_from_one_installation_to_another_on_the_command_line(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(site_django, "start", lambda migrate=True: None)
    make_user("root", superuser=True)
    file = str(tmp_path / "run.gz")
    assert cli(["run", "export", str(story.run.pk), file, "--as", "root"]) == 0
    assert cli(["run", "replay", file, "--as", "root"]) == 0
    made = Run.objects.latest("pk")
    assert f"Run {made.pk} is the replay of run {story.run.pk} from " in capsys.readouterr().out
