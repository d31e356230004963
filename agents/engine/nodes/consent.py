"""Before a merge: a person's yes to code that reaches beyond itself (network, other programs), as ACA-6 asks.

Until then such code has run in the sandbox only, where it reaches nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from agents.engine.contracts import ApprovalAnswer, TaskContext
from agents.engine.nodes.firewall_check import is_code
from agents.engine.state import TaskState, files_of
from agents.engine.waiting import Waiting, WaitReason
from agents.firewall import FirewallContext, judge
from agents.languages.base import Language
from agents.languages.registry import language_of_task

SHOWN = 12  # reasons in the question; all of them are in its payload


def reaching(files: dict[str, str], language: Language) -> dict[str, list[str]]:
    """Path to reasons, of the files whose code the firewall would not let run without a sandbox. Tests stay in it."""
    found = {}
    for path, content in sorted(files.items()):
        if not is_code(path) or language.is_test(path):
            continue
        layers = judge("code", content, context=FirewallContext(workspace="/workspace")).layers
        reasons = [layer.reason for layer in layers if layer.decision == "approve"]
        if reasons:
            found[path] = reasons
    return found


def consent(state: TaskState, ctx: TaskContext) -> tuple[ApprovalAnswer, str]:
    """A person's answer, and what it is about; "approved" at once where nothing reaches out or nobody is to be asked.

    The yes binds to the files as they are: other code is another question. Raises Waiting while nobody has answered.
    """
    if not ctx.asks_about_reach:
        return "approved", ""
    files = state["candidate"]["files"]
    found = reaching(files, language_of_task(state["task"]))
    if not found:
        return "approved", ""
    seen = hashlib.sha256("\0".join(f"{path}\0{files[path]}" for path in found).encode("utf-8", "surrogatepass"))
    key, lines = state["task"]["key"], _lines(found)
    why = "\n".join(lines[:SHOWN])
    answer = ctx.task_store.ask(
        kind="gate",
        subject=f"reach:{key}:{seen.hexdigest()[:32]}",
        title=f"{key}: may this code reach outside?"[:200],
        why=why[:2000],
        on_yes="The code goes on to review and merge; its next runs are in the sandbox all the same.",
        on_no="The coder is told to continue without it.",
        payload={"reasons": lines[:200], "paths": sorted(found)},
    )
    if answer == "pending":
        raise Waiting(WaitReason.EFFECT_CONSENT, lines[0])
    return answer, why


def _lines(found: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{path}: {reason}" for path, reasons in found.items() for reason in reasons]


def refused_forgery(state: TaskState, ctx: TaskContext, hooks: Sequence[str]) -> str:
    """What a person refused of the code that decides how tests run, "" when there is nothing of it or it may stay.

    `hooks` ("path: name") were seen in the run. The yes binds to the files as they are. Raises Waiting while nobody has
    answered.
    """
    if state["task"].get("tests_given"):
        return ""
    found, written, language = {}, files_of(state["candidate"]), language_of_task(state["task"])
    for path, text in sorted(written.items()):
        base = ctx.repository.read(state["base"], path)
        if text == base:
            continue
        before = {*language.forgeries(path, base or "")}
        reasons = [why for why in language.forgeries(path, text) if why not in before]
        reasons += [
            f"adds the hook {name}" for place, _, name in (one.partition(": ") for one in hooks) if place == path
        ]
        steers = language.steers_tests(path, text)
        if steers and not path.endswith("conftest.py"):
            reasons.append(f"configures the test run: {steers}")
        if reasons:
            found[path] = reasons
    if not found:
        return ""
    seen = hashlib.sha256("\0".join(f"{path}\0{written[path]}" for path in found).encode("utf-8", "surrogatepass"))
    key, lines = state["task"]["key"], _lines(found)
    why = "\n".join(lines[:SHOWN])
    answer = ctx.task_store.ask(
        kind="gate",
        subject=f"forgery:{key}:{seen.hexdigest()[:32]}",
        title=f"{key}: may this decide how tests run?"[:200],
        why=why[:2000],
        on_yes="The result of the tests stands, and the work goes on.",
        on_no="The result of the tests does not count; the coder is told to do without it.",
        payload={"reasons": lines[:200], "paths": sorted(found)},
    )
    if answer == "pending":
        raise Waiting(WaitReason.TEST_CONSENT, lines[0])
    return "" if answer == "approved" else f"A person refused what decides how the tests run; do without it.\n{why}"
