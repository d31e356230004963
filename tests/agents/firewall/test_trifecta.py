"""Untrusted input, secrets and a way out never come together without a person."""

from itertools import product
from types import SimpleNamespace

import pytest

from agents.engine.ask import guarded
from agents.engine.contracts import TaskContext
from agents.firewall.trifecta import InvariantBroken, Step, is_outside, require
from agents.prompts.provenance import Source, as_turn, label
from agents.workspace.git import VERBS, GitError, git
from sandbox.base import PackageRefused
from tests.agents.engine.nodes.support import MemoryEventLog
from tests.tables import each_row

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@each_row(
    ("untrusted", "secrets", "outside", "person"),
    product([(), ("document",)], [(), ("prompt",)], [(), ("index",)], [False, True]),
)
def test_any_two_are_safe_and_all_three_take_a_person(untrusted, secrets, outside, person):
    step = Step("step", untrusted, secrets, outside, person)
    if untrusted and secrets and outside and not person:
        with pytest.raises(InvariantBroken, match=r"document.*prompt.*index"):
            require(step)
    else:
        require(step)


@each_row(
    ("address", "outside"),
    [
        ("http://127.0.0.1:11434", False),
        ("http://localhost:1", False),
        ("http://[::1]:1", False),
        ("127.0.0.1:80", False),
        ("http://10.0.0.5:11434", True),
        ("https://models.example", True),
        ("http://127.0.0.1.evil.example", True),
        ("http://localhost.evil.example", True),
        ("", True),
        ("http://0x7f.1", True),
    ],
)
def test_only_this_machine_is_inside(address, outside):
    assert is_outside(address) is outside


def conversation():
    return [as_turn("user", label(f"the key is {TOKEN}", Source.REPOSITORY))]


def test_a_prompt_to_another_machine_loses_its_secrets_and_says_so():
    event_log = MemoryEventLog()
    sent = guarded(
        event_log, conversation(), SimpleNamespace(server="https://models.example"), key="k", role="coder", attempt=1
    )
    assert TOKEN not in sent[0]["content"]
    assert event_log.of("guard.blocked")[0]["payload"]["rule"] == "trifecta"


def test_a_prompt_on_this_machine_stays_as_it_is():
    event_log = MemoryEventLog()
    sent = guarded(
        event_log, conversation(), SimpleNamespace(server="http://127.0.0.1:1"), key="k", role="coder", attempt=1
    )
    assert TOKEN in sent[0]["content"]
    assert not event_log.events


def test_a_package_name_carries_no_secret_out():
    asked = []
    event_log = MemoryEventLog()
    supply = SimpleNamespace(fetch=lambda names: asked.append(names))
    context = SimpleNamespace(event_log=event_log, supply=supply, worktree_name="w")
    with pytest.raises(PackageRefused, match="holds a secret") as refused:
        TaskContext._fetched(context, (f"pkg-{TOKEN}",))
    assert not asked
    assert TOKEN not in str(refused.value)
    assert event_log.of("guard.blocked")


def test_git_knows_no_command_that_talks_to_another_machine(tmp_path):
    for verb in "push fetch pull clone remote submodule ls-remote send-email config -c archive".split():
        assert verb not in VERBS
        with pytest.raises(GitError, match="not among"):
            git(tmp_path, verb)
