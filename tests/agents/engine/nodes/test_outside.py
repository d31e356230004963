"""A task given to another agent: its work goes through our tests, gates, review and merge, and it is held to its place.

The agent is a program of its own that speaks the protocol (tests/agents/outside/stand_in_agent.py).
"""

import contextlib
import os
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.engine.contracts import Stopped, TaskLimits
from tests.agents.engine.nodes.support import APPROVED, TESTS, Bench, MemoryEventLog, task
from tests.agents.outside.support import stand_in
from tests.waiting import eventually

pytestmark = pytest.mark.bubblewrap

GOOD = "def add(a: int, b: int) -> int:\n    return a + b\n"
BAD = GOOD.replace("+", "-")
SOLVE = ["write", "/workspace/calc.py", GOOD]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path, {"tester-tests": TESTS, "reviewer-review": APPROVED}, task())


def words(bench):
    """What the agent said, turn by turn."""
    return [event["blobs"]["output"] for event in bench.event_log.of("thought") if event["role"] == "coder"]


def refusals(bench):
    return {event["payload"]["what"]: event["payload"]["rule"] for event in bench.event_log.of("guard.blocked")}


def test_its_work_is_tested_repaired_in_the_same_conversation_and_merged_with_its_name(bench):
    bench.outside = stand_in(
        [
            ["read", "tests/test_calc.py"],
            ["run", "ls tests"],
            ["tool", "Edit calc.py", "edit", "/workspace/calc.py"],
            ["write", "/workspace/calc.py", BAD],
        ],
        [["tell_prompt"], ["run", "python", "-m", "pytest", "-q"], ["own_write", "calc.py", GOOD]],
    )
    final = bench.run()
    assert final["verdict"] == "merged"
    assert bench.merged("calc.py") == GOOD
    assert [attempt["outcome"] for attempt in bench.task_store.attempts.values()] == ["failed", "passed"]
    first, second = words(bench)
    assert "def test_sum" in first
    assert "run: exit 0: test_calc.py" in first
    assert "assert -1 == 5" in second, "the trace is its next prompt"
    assert "Task T-01" not in second, "it is the same conversation"
    assert "1 failed" in second, "a command runs on what the agent has"
    (tool,) = bench.event_log.of("agent.tool")
    assert tool["payload"]["paths"] == ["/workspace/calc.py"]
    assert "ls tests" in bench.event_log.of("cmd")[1]["summary"]
    assert [event["payload"]["prompt_tokens"] for event in bench.event_log.of("llm.usage") if event["role"] == "coder"]
    assert "Agent: stand-in (stand-in 1.2)" in bench.git("log", "-1", "--format=%B")


def test_what_leads_out_of_its_folder_is_refused_and_nothing_of_it_is_merged(bench, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the host's")
    bench.start_with({"tests/test_old.py": "def test_old():\n    assert True\n", "README.md": "Kept\n"})
    bench.outside = stand_in(
        [
            ["write", "../../evil.py", "x"],
            ["write", "/etc/cron.d/evil", "x"],
            ["write", ".git/hooks/post-commit", "x"],
            ["write", "tests/test_calc.py", "def test_sum():\n    assert True\n"],
            ["write_size", "large.py", 1_500_000],
            ["read", "/etc/passwd"],
            ["read", str(secret)],
            ["own_link", "link.py", str(secret)],
            ["read", "link.py"],
            ["own_link", "out", "/tmp"],
            ["write", "out/evil.py", "x"],
            ["own_run", "cat", str(secret)],
            ["own_run", "sh", "-c", "ls /root/.ssh /home; touch /usr/evil"],
            ["run", "cat ~/.ssh/id_rsa"],
            ["run", "rm -rf /"],
            ["connect", "1.1.1.1", 443],
            ["ask", "edit", "Edit tests", "/workspace/tests/test_old.py", ""],
            ["ask", "execute", "Look", "", "cat /root/.ssh/id_rsa"],
            ["ask", "other", "Something", "", ""],
            ["ask", "edit", "Edit", "/workspace/calc.py", ""],
            ["own_write", "tests/test_old.py", "def test_old():\n    assert 1\n"],
            ["own_write", "tests/conftest.py", "import os\n"],
            ["own_write", ".github/workflows/ci.yml", "on: push\n"],
            ["own_write", "pytest.ini", "[pytest]\naddopts = --collect-only\n"],
            ["own_run", "rm", "README.md"],
            ["own_write", "__pycache__/calc.pyc", "x"],
            SOLVE,
        ]
    )
    assert bench.run()["verdict"] == "merged"
    (said,) = words(bench)
    assert "the host's" not in said
    assert "No such file" in said.partition("own_run: 1")[2], "the host's file is not there"
    assert "Read-only file system" in said or "Permission denied" in said
    assert "connect: no way" in said
    assert "Edit: yes" in said, "never always"
    for title in ("Edit tests", "Look", "Something"):
        assert f"{title}: no" in said
    files = bench.repository.files(bench.repository.head())
    assert sorted(files) == [".gitignore", "README.md", "calc.py", "tests/test_calc.py", "tests/test_old.py"]
    assert bench.merged("tests/test_old.py") == "def test_old():\n    assert True\n"
    assert "add(2, 3) == 5" in bench.merged("tests/test_calc.py")
    assert refusals(bench) == {
        "../../evil.py": "path.outside-workspace",
        "/etc/cron.d/evil": "path.outside-workspace",
        ".git/hooks/post-commit": "path.git-internals",
        "tests/test_calc.py": "outside.test",
        "large.py": "outside.large",
        "/etc/passwd": "path.outside-workspace",
        str(secret): "path.outside-workspace",
        "link.py": "outside.link",
        "out": "outside.link",
        "out/evil.py": "outside.link",
        "cat ~/.ssh/id_rsa": "command.secret",
        "rm -rf /": "path.whole-tree",
        "Edit tests": "outside.test",
        "cat /root/.ssh/id_rsa": "command.secret",
        "Something": "outside.unclear",
        "tests/test_old.py": "outside.test",
        ".github/workflows/ci.yml": "path.machinery",
        "pytest.ini": "outside.file",
        "README.md": "outside.gone",
    }
    assert [event["payload"]["what"] for event in bench.event_log.of("guard.watched")] == ["tests/conftest.py"]


def test_an_agent_that_deletes_everything_is_told_and_then_given_up(bench):
    bench.outside = stand_in([["own_run", "sh", "-c", "rm -rf /workspace/*"]])
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "brought nothing that can be used: README.md was deleted" in final["escalation"]
    assert len(words(bench)) == 3
    assert bench.repository.files(bench.repository.head()) == [".gitignore", "README.md"]


def test_the_network_and_packages_are_asked_for(bench):
    bench.outside = stand_in([["run", "pip", "install", "left-pad"], SOLVE])
    asked = bench.waits("pip install left-pad")
    assert bench.task_store.questions == [asked]
    assert asked["kind"] == "gate"
    bench.task_store.answers[asked["subject"]] = "rejected"
    assert bench.run()["verdict"] == "merged"
    assert "A person refused it" in words(bench)[-1]


@pytest.mark.parametrize(
    ("steps", "said", "starts"),
    [
        (
            [["write", "/workspace/calc.py", GOOD], ["die"]],
            "ended in the middle of its turn (exit code 3): I give up",
            2,
        ),
        ([["write", "/workspace/calc.py", GOOD], ["flood", 30_000]], "sent more than 20,000 messages", 1),
        ([["write", "/workspace/calc.py", GOOD], ["raw", "no JSON", 30]], "lines that are not messages", 1),
        ([["write", "/workspace/calc.py", GOOD], ["raw_size", 9_000_000]], "a message of more than 8 MB", 1),
    ],
    ids=["dies", "floods", "talks nonsense", "sends too much at once"],
)
def test_one_that_does_not_keep_to_the_protocol_is_ended_and_charged_as_no_repair(bench, steps, said, starts):
    bench.outside = stand_in(steps)
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert said in final["escalation"]
    assert final["counters"]["repairs"] == 0
    assert bench.task_store.attempts == {}
    assert bench.repository.files(bench.repository.head()) == [".gitignore", "README.md"]
    assert len([one for one in bench.event_log.of("effect.failed") if "agent.prompt" in one["summary"]]) == starts


def test_one_that_hangs_is_stopped_at_its_limit(bench):
    bench.outside = stand_in([["write", "/workspace/calc.py", GOOD], ["block"]], seconds=1)
    final = bench.run()
    assert "stand-in did not come to an end within 1 seconds" in final["escalation"]
    assert bench.repository.files(bench.repository.head()) == [".gitignore", "README.md"]


@dataclass
class StoppedLog(MemoryEventLog):
    """A run that somebody cancels once the agent speaks."""

    spoken: bool = False

    def delta(self, *, lane, **_):
        self.spoken = self.spoken or lane == "coder"

    def stopped(self):
        return self.spoken


def processes_that_know(mark: str) -> list[str]:
    """The processes of this machine with the mark in their arguments or their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if mark.encode() in (place / "environ").read_bytes() + (place / "cmdline").read_bytes():
                found.append(place.name)
    return found


def test_the_process_of_an_agent_is_found_by_what_it_is_to_do():
    mark = uuid.uuid4().hex
    agent = subprocess.Popen(["sleep", "60"], env={"AGENT_SCRIPT": mark, "PATH": os.environ["PATH"]})
    try:
        # Right after its start a process has no environment yet.
        assert eventually(lambda: processes_that_know(mark) == [str(agent.pid)])
    finally:
        agent.kill()
        agent.wait()
    assert processes_that_know(mark) == []


def test_cancelling_the_run_ends_the_agent(bench):
    bench.event_log = StoppedLog()
    mark = f"I begin {uuid.uuid4().hex}"  # other tests have agents of their own at the same time
    bench.outside = stand_in([["say", mark], ["hang"]])
    with pytest.raises(Stopped):
        bench.run()
    assert words(bench) == [f"say: {mark}\n"], "what it said until then is on record"
    assert processes_that_know(mark) == []


def test_what_leaves_the_machine_is_asked_for_once_a_run(bench):
    bench.outside = stand_in([["connect", "127.0.0.1", 3128], SOLVE], hosts=("api.example.org",), note="Code is sent.")
    asked = bench.waits(r"sends code to api\.example\.org")
    assert bench.task_store.questions == [asked]
    assert "Code is sent." in asked["why"]
    assert not words(bench)
    bench.task_store.answers[asked["subject"]] = "approved"
    assert bench.run()["verdict"] == "merged"
    assert "403" in words(bench)[0], "other hosts are refused"
    assert refusals(bench) == {"evil.example:443": "outside.host"}
    bench.task_store.answers[asked["subject"]] = "rejected"
    again = Bench(bench.folder / "again", bench.replies, task(), outside=bench.outside, task_store=bench.task_store)
    assert "A person refused" in again.run()["escalation"]


def test_without_bubblewrap_it_is_not_started(bench, monkeypatch):
    from sandbox.base import SandboxUnavailable

    def none(*_):
        raise SandboxUnavailable("bubblewrap (bwrap) is not installed")

    monkeypatch.setattr("agents.outside.engaged.Companion", none)
    bench.outside = stand_in([SOLVE])
    assert "only a bubblewrap sandbox may hold it: bubblewrap (bwrap) is not" in bench.run()["escalation"]


def test_its_repairs_are_counted_like_a_models(bench):
    bench.limits = TaskLimits(max_retries=1)
    bench.outside = stand_in([["own_write", "calc.py", BAD]], [["own_write", "calc.py", BAD.replace("-", "*")]])
    assert bench.run()["verdict"] == "escalated"
    assert len(bench.task_store.attempts) == 2


def test_tokens_without_end_are_counted_as_far_as_the_record_holds_them(bench):
    nines = "9" * 30
    usage = f'{{"totalTokens":30,"inputTokens":{nines},"outputTokens":{nines}}}'
    bench.outside = stand_in(
        [["raw", f'{{"jsonrpc":"2.0","id":2,"result":{{"stopReason":"end_turn","usage":{usage}}}}}', 1]]
    )
    bench.run()
    counted = [event["payload"]["prompt_tokens"] for event in bench.event_log.of("llm.usage")]
    assert max(counted) == 1_000_000_000
