"""Generated code that fills the disk, the memory, the process table or the log: a failed attempt with its reason."""

import json
import sys

import pytest

from agents.repair.feedback import trace_text
from agents.workspace.objects import object_name
from agents.workspace.store import LINK, Entry
from projects.engine import building
from projects.models import Attempt, Event, Run, Task
from projects.services.audit.events import event_blobs
from projects.storage import paths
from sandbox.base import SandboxUnavailable
from tests.faults.test_replies import GOOD, PATHS
from tests.projects.jobs_driver import reply, small_plan, small_replies

pytestmark = pytest.mark.django_db(transaction=True)

BOMBS = {
    "2 GB in one file": "    f = open('/workspace/big', 'wb')\n    for _ in range(2_000):\n        f.write(b'x' * "
    "2**20)\n",
    "2 GB in many files": (
        "    for n in range(20):\n        with open(f'/workspace/big{n}', 'wb') as f:\n"
        "            for _ in range(100):\n                f.write(b'x' * 2**20)\n"
    ),
    "10 GB of output": "    block = b'x' * 2**20\n    for _ in range(10_000):\n        os.write(1, block)\n",
    # Written so that the firewall does not know it: the sandbox must hold by itself.
    "processes": (
        "    from multiprocessing import Process\n\n    def more():\n        while True:\n            "
        "Process(target=more).start()\n\n    more()\n"
    ),
    "memory": "    kept = []\n    while True:\n        kept.append(bytearray(2**26))\n",
    "the end of the test run": "    os._exit(0)\n",
    "a signal to everybody": "    os.kill(-1, 9)\n    raise SystemExit(3)\n",
}


@pytest.mark.bubblewrap
@pytest.mark.parametrize("body", BOMBS.values(), ids=BOMBS)
def test_a_bomb_in_a_test_is_a_failed_try_and_the_next_task_is_built(real, monkeypatch, body):
    opened = _watch_sandboxes(monkeypatch)
    bomb = reply(
        "tests/test_calc.py",
        f"import os\n\nfrom calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n{body}",
    )
    plan = json.loads(small_plan("T-01", "T-02"))
    for task in plan["tasks"]:
        task["needs"] = []
    limits = {"max_retries": 0, "parallel_tasks": 1}
    run = real.build("T-01", "T-02", content=json.dumps(plan), limits=limits, T_01__tester_tests=bomb)
    assert real.statuses() == {"T-01": "escalated", "T-02": "merged"}
    (attempt,) = Attempt.objects.filter(task=real.task())
    assert attempt.outcome == Attempt.Outcome.FAILED
    (tried,) = [line for line in real.task().escalation.splitlines() if line.startswith("- try 1 (first): ")]
    assert len(tried) > len("- try 1 (first): ")  # it says what went wrong
    assert "unexpected" not in real.task().escalation
    assert run.status == Run.Status.NEEDS_YOU
    assert real.is_sound()
    assert opened
    assert all(_is_gone(sandbox) for sandbox in opened)
    assert sum(file.stat().st_size for file in paths.home().rglob("*") if file.is_file()) < 20_000_000
    assert (
        sum(len(text) for text in real.run.events.values_list("payload", flat=True) for text in [str(text)]) < 200_000
    )


def _watch_sandboxes(monkeypatch):
    """Every sandbox the jobs open, in order."""
    opened, find = [], building.open_backend

    def watched(name):
        backend = find(name)
        make = backend.open
        monkeypatch.setattr(backend, "open", lambda **options: opened.append(make(**options)) or opened[-1])
        return backend

    monkeypatch.setattr(building, "open_backend", watched)
    return opened


def _is_gone(sandbox):
    try:
        sandbox.exec(["true"])
    except SandboxUnavailable:
        return True
    return False


def test_a_run_without_a_report_is_told_to_the_coder_in_words():
    told = trace_text(
        {"problem": "the test run ended before it could report (out of memory)", "output": "…", "failures": []}
    )
    assert "out of memory" in told


ESCAPES = [path for path in PATHS if path.strip() and "\n" not in path]


def test_paths_that_escape_write_nothing_outside_and_the_coder_hears_why(still):
    """All of them in one answer, and then one by one in three tries of another."""
    outside = _writes_outside(still)
    everything = "\n".join(GOOD.format(path=path) for path in ESCAPES)
    good = small_replies("T-01")["T-01/coder-code"]
    still.build("T-01", T_01__coder_code=everything, T_01__coder_again=everything, T_01__coder_again_2=good)
    assert still.task().status == Task.Status.MERGED
    errors = Event.objects.filter(run=still.run, type="error", payload__tool="reply")
    assert errors.count() == 2
    told = errors.first().payload["message"]
    assert "leaves the project's folder" in told
    assert "absolute" in told
    asked = Event.objects.filter(run=still.run, type="thought", role="coder").order_by("seq")
    assert "leaves the project's folder" in event_blobs(asked[1])["prompt"][-1]
    assert outside() == []
    assert still.is_sound()


def test_a_link_in_the_repository_is_not_written_through(still, tmp_path, monkeypatch):
    """Links that came into the repository by another way than a task."""
    target = tmp_path / "elsewhere"
    target.mkdir()

    def with_links(project, run=None):
        repository = paths.repository_of(project, run)
        base = paths.repository_of(project).ensure(project.name)
        if "folder" not in repository.files(base):
            entries = dict(repository.store.listing(base).entries)
            for name, to in (("folder", target), ("calc.py", target / "calc.py")):
                repository.store.write_blobs([str(to).encode()])
                entries[name] = Entry(LINK, object_name("blob", str(to).encode()))
            sha = repository.store.commit(repository.store.write_tree(entries), base, "links\n")
            paths.repository_of(project).fast_forward(sha)
        return repository

    monkeypatch.setattr(building, "ensure_repository", with_links)
    right = "def add(a, b):\n    return a + b\n"
    still.build("T-01", T_01__coder_code=reply("folder/calc.py", right), T_01__coder_again=reply("calc.py", right))
    assert still.task().status == Task.Status.MERGED
    assert list(target.iterdir()) == []
    assert any("folder is a file" in text for text in still.summaries("error"))


_WRITTEN = None


def _writes_outside(stage):
    """Start to note every file this process opens for writing; call the result for those outside its folders."""
    global _WRITTEN
    if _WRITTEN is None:
        _WRITTEN = []
        sys.addaudithook(_note)
    _WRITTEN.clear()
    allowed = (str(paths.home()), str(stage.folder), "/dev/", "/proc/")

    def outside():
        found = [path for path in _WRITTEN if not path.startswith(allowed)]
        return [
            path
            for path in found
            if any(mark in path for mark in ("out.py", "escape", "cron", "hooks", "calc", "passwd", "npm", "x.py"))
        ]

    return outside


def _note(event, args):
    if (
        event == "open"
        and isinstance(args[0], (str, bytes))
        and isinstance(args[1], str)
        and set(args[1]) & set("wax+")
    ):
        _WRITTEN.append(args[0] if isinstance(args[0], str) else args[0].decode("utf-8", "replace"))
