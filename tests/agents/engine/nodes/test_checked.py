"""A task that writes no code is checked: the tester is not asked, and findings go to the coder with their lines."""

from contextlib import contextmanager

import pytest

from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, code, task

pytestmark = pytest.mark.bubblewrap
GOOD = "# Calc\n\nSee [the plan](PLAN.md).\n"
BROKEN = GOOD.replace("PLAN", "GONE")


def page(text, path="README.md"):
    return f"The page.\n\n````markdown path={path}\n{text}````\n"


@pytest.fixture
def bench(tmp_path):
    bench = Bench(
        tmp_path,
        {"coder-code": page(BROKEN), "reviewer-review": APPROVED},
        task(kind="docs", files=["README.md"], title="Describe it"),
    )
    bench.start_with({"PLAN.md": "# Plan\n"})
    return bench


def test_a_broken_link_goes_to_the_coder_and_no_test_is_asked_for(bench):
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="a wrong name") + page(GOOD)
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("README.md") == GOOD
    assert "README.md\nline 3: the link GONE.md leads to GONE.md" in bench.last_turns("repair")[0]
    assert not [event for event in bench.event_log.of("thought") if event["role"] == "tester"]
    assert "Checked instead of tested: README.md." in bench.last_turns("review")[0]
    assert [event["outcome"] for event in bench.event_log.of("test.result")] == ["fail", "ok"]


def test_tests_that_the_repository_has_run_too(bench):
    bench.start_with({"tests/test_readme.py": "def test_a():\n    assert 'Calc' not in open('README.md').read()\n"})
    bench.replies |= {"coder-code": page(GOOD), "coder-repair": DIAGNOSIS.format(cause="name") + page("# Sums\n")}
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("README.md") == "# Sums\n"


def test_code_that_such_a_task_brings_is_sent_back(bench):
    bench.replies |= {"coder-code": page(GOOD) + code("calc.py", "A = 1"), "coder-again": page(GOOD)}
    assert bench.run()["verdict"] == "merged"
    assert "calc.py: This file is read-only in this step" in bench.last_turns("code")[-1]
    assert not bench.merged("calc.py")


def test_a_finding_that_stays_leads_to_a_new_approach_without_asking_a_tester(bench):
    blames = DIAGNOSIS.format(cause="the test is wrong") + page(f"More.\n{BROKEN}")
    bench.replies |= {"coder-repair": blames, "coder-code-a2": page(GOOD)}
    assert bench.run()["verdict"] == "merged"
    assert not bench.event_log.of("adjudication")


@pytest.mark.parametrize("path", ["logo.svg", "README.md"])
def test_without_a_reviewer_a_file_that_no_check_knows_is_reviewed_all_the_same(bench, monkeypatch, path):
    bench.task |= {"files": [path]}
    bench.replies["coder-code"] = f"It is red.\n\n```text path={path}\nred\n```\n"
    opened = bench.context

    @contextmanager
    def unreviewed():
        with opened() as context:
            context.needs_review = False
            yield context

    monkeypatch.setattr(bench, "context", unreviewed)
    assert bench.run()["verdict"] == "merged"
    asked = bench.last_turns("review")
    assert bool(asked) is (path == "logo.svg")
    assert not asked or "the reviewer judges alone: logo.svg" in asked[0]
