"""Issues are worked on by the real engine, judged by tests it never saw, and not worked on twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.gates.base import GateReport
from agents.llm.runner import ModelRunner
from measure.trials.issue_reference import ReferenceModel, reference_model
from measure.trials.issue_session import Ledger, StillBroken, run_issues
from measure.trials.issue_work import Workshop
from measure.trials.issues import load_issues
from measure.trials.session import OtherSession
from sandbox.base import SandboxUnavailable
from sandbox.packages import PackageSupply
from sandbox.registry import load_backend
from tests.measure.trials.issue_samples import HIDDEN, git, instances, repository, row

pytestmark = pytest.mark.bubblewrap


class Broken:
    """A backend that breaks as often as told."""

    name = "bubblewrap"

    def __init__(self, times: int) -> None:
        self.times, self._inner = times, load_backend("bubblewrap")

    def open(self, **options):
        self.times -= 1
        if self.times >= 0:
            raise SandboxUnavailable("the sandbox died")
        return self._inner.open(**options)


@pytest.fixture
def worked(tmp_path):
    """Work on the rows of a file; predictions by id, and the report."""

    def work(path: Path, *, provider_of=reference_model, backend=None, **options):
        ledger = Ledger(tmp_path / "p.jsonl", tmp_path / "r.json", "m")
        with ModelRunner(attempts=1) as runner:
            shop = Workshop(
                provider_of=provider_of,
                backend=backend or load_backend("bubblewrap"),
                runner=runner,
                supply=PackageSupply(tmp_path / "packages"),
                gates=lambda *_: GateReport("pass", (), {}, ()),
                scratch=tmp_path / "scratch",
            )
            report = run_issues(load_issues(path), tmp_path / "repositories", shop, ledger, **options)
        made = map(json.loads, (tmp_path / "p.jsonl").read_text().splitlines())
        return {one["instance_id"]: one for one in made}, report

    return work


class Recorder(ReferenceModel):
    """Keeps what it is asked."""

    heard: list[str] = []

    def _choose(self, messages):
        self.heard += [message["content"] for message in messages]
        return super()._choose(messages)


class Wrong(ReferenceModel):
    """Writes code that does not help."""

    def _write(self, answer, repairing):
        return super()._write(answer, repairing).replace("return sum(prices)", "return sum(prices) + 1")


def as_(kind):
    """The reference model as another class of model."""

    def make(issue, repository):
        made = reference_model(issue, repository)
        return kind(made.task, (), made.weakness, name="m", model="m")

    return make


def test_the_reference_resolves_an_issue_and_its_prediction_is_a_patch_of_source_alone(tmp_path, worked):
    one = row(tmp_path / "repositories")
    made, report = worked(instances(tmp_path, one), trajectories=tmp_path / "t")
    assert report["resolved"] == 1, report
    assert made["acme__shop-1"].keys() == {"instance_id", "model_name_or_path", "model_patch"}
    assert made["acme__shop-1"]["model_patch"] == one["patch"]
    assert (report["calls"] > 3, report["tokens"]["sent"] > 0) == (True, True)
    assert report["rows"][0]["tests"] == {"fail_to_pass": [1, 1], "pass_to_pass": [1, 1]}
    events = [json.loads(line) for line in (tmp_path / "t/acme__shop/acme__shop-1.jsonl").read_text().splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "git.merge"
    assert not list((tmp_path / "scratch").iterdir())


def test_a_model_sees_the_statement_and_neither_patch_nor_hidden_tests_nor_later_commits(tmp_path, worked):
    Recorder.heard = []
    hidden = row(tmp_path / "repositories")
    del hidden["hints_text"]

    class Asked(Recorder):
        def _write(self, answer, repairing):
            words = super()._write(answer, repairing)
            return words if self._asked_by[0] != "coder" else "I give up."

    worked(instances(tmp_path, hidden), provider_of=as_(Asked))
    # What the tester wrote is the reference's own; before it, nobody has heard of the answer.
    before = [text for text in Recorder.heard if "test_cart_reference" not in text]
    assert any("should be 0" in text for text in before)
    assert not any("return sum(prices)\n" in text or "test_empty" in text for text in before)


def test_wrong_code_is_unresolved_and_no_code_is_empty(tmp_path, worked):
    one = row(tmp_path / "repositories")
    made, report = worked(instances(tmp_path, one), provider_of=as_(Wrong))
    assert (report["unresolved"], report["resolved"]) == (1, 0)
    assert "sum(prices) + 1" in made["acme__shop-1"]["model_patch"]

    class Silent(ReferenceModel):
        def _write(self, answer, repairing):
            return "" if self._asked_by[0] == "coder" else super()._write(answer, repairing)

    other = instances(tmp_path, one | {"instance_id": "second"})
    made, report = worked(other, provider_of=as_(Silent))
    assert (report["empty"], made["second"]["model_patch"]) == (1, "")


def test_a_bug_is_mended_by_the_failing_tests_that_lie_beside_it(tmp_path, worked):
    base, patch, _ = repository(tmp_path / "repositories", tests=HIDDEN)
    bug = {"id": "shop-7", "repository": "acme/shop", "base_commit": base, "patch": patch}
    made, report = worked(instances(tmp_path, bug | {"failing_tests": ["tests/test_cart.py::test_empty"]}))
    assert report["resolved"] == 1, report
    assert made["shop-7"]["model_patch"] == patch


def test_what_has_a_prediction_is_skipped_and_an_error_is_worked_on_again(tmp_path, worked):
    one = row(tmp_path / "repositories")
    two = one | {"instance_id": "second"}
    path = instances(tmp_path, one, two)
    made, report = worked(path, backend=Broken(1))
    assert (report["error"], report["resolved"], list(made)) == (1, 1, ["second"])
    assert report["rows"][0]["cause"] == "SandboxUnavailable: the sandbox died"
    told: list[str] = []
    made, report = worked(path, tell=lambda outcome, done, of: told.append(outcome.instance_id))
    assert (report["resolved"], report["error"], told) == (2, 0, ["acme__shop-1"])
    (tmp_path / "p.jsonl").write_text('{"instance_id": "a", "model_name_or_path": "other", "model_patch": ""}\n')
    with pytest.raises(OtherSession, match="predictions of other"):
        worked(path)


def test_the_same_failure_of_the_environment_twice_in_a_row_ends_the_run(tmp_path, worked):
    one = row(tmp_path / "repositories")
    rows = [one | {"instance_id": name} for name in ("a", "b", "c")]
    with pytest.raises(StillBroken, match="the sandbox died"):
        worked(instances(tmp_path, *rows), backend=Broken(9))
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["error"], report["predictions"]) == (2, 0)


def test_an_issue_that_cannot_be_judged_or_found_is_an_error_of_its_own(tmp_path, worked):
    one = row(tmp_path / "repositories")
    rows = [
        one | {"instance_id": "a", "PASS_TO_PASS": ["tests/test_cart.py::test_gone"]},
        one | {"instance_id": "b", "FAIL_TO_PASS": ["tests/test_cart.py::test_sum"]},
        one | {"instance_id": "c", "repo": "acme/nowhere"},
        one | {"instance_id": "d", "base_commit": "b" * 40},
        one | {"instance_id": "e", "patch": ""},
    ]
    _, report = worked(instances(tmp_path, *rows))
    causes = {found["instance_id"]: found["cause"] for found in report["rows"]}
    assert report["error"] == 5
    assert causes["a"].startswith("1 tests that must pass fail here before any change")
    assert causes["b"].startswith("The tests that show the problem pass here before any change")
    assert "has no repository of acme/nowhere" in causes["c"]
    assert causes["d"]
    assert causes["e"].startswith("It has no patch")


def test_the_history_of_a_repository_stays_where_it_is(tmp_path):
    from agents.workspace.fetching import take_commit

    base, _, _ = repository(tmp_path)
    take_commit(tmp_path / "acme__shop", tmp_path / "ours", base)
    assert git(tmp_path / "ours", "rev-list", "--all").split() == [base]
