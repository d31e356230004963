"""A task that began with a failed build is judged by what failed there, and does not pass by making it quiet."""

from pathlib import Path
from typing import Any

import pytest

from agents.engine.nodes.consent import consent
from agents.engine.nodes.rebuilt import EVENT, with_build
from agents.engine.rebuild import Builder
from agents.engine.waiting import Waiting
from agents.languages.registry import language
from sandbox.base import PackageSet
from sandbox.package_index.resolving import Resolution
from sandbox.packages import PackageSupply
from sandbox.registry import open_backend
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, code, task
from tests.agents.engine.states import state_with

pytestmark = pytest.mark.bubblewrap
MODULE = "import os\n\n\ndef add(a, b):\n    return a + b\n"
CLEAN = MODULE.removeprefix("import os\n\n\n")
LINT = {"kind": "lint", "tool": "ruff", "message": "F401: os", "file": "calc.py", "command": "ruff check .", "test": ""}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    start = {"cause": LINT, "reproduced": True, "check": "ruff check ."}
    made = Bench(tmp_path, {"reviewer-review": APPROVED}, task(start=start))
    made.start_with(
        {
            "calc.py": MODULE,
            "tests/test_calc.py": "from calc import add\n\n\ndef test_a():\n    assert add(1, 2) == 3\n",
        }
    )
    return made


def test_the_check_decides_and_no_test_is_written(bench: Bench) -> None:
    bench.replies |= {
        "coder-code": code("calc.py", MODULE.replace("a + b", "b + a")),
        "coder-repair": DIAGNOSIS.format(cause="os is not used") + code("calc.py", CLEAN),
    }
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("calc.py") == CLEAN
    found = [event["payload"][EVENT]["ok"] for event in bench.event_log.of("system") if EVENT in event["payload"]]
    assert found == [False, True]
    thoughts = bench.event_log.of("thought")
    assert not [event for event in thoughts if event["role"] == "tester"]
    repair = next(event for event in thoughts if event["payload"]["step"] == "repair")
    assert "`os` imported but unused" in repair["blobs"]["prompt"][-1]


def test_a_silenced_check_waits_for_a_person(bench: Bench) -> None:
    bench.replies["coder-code"] = code("calc.py", MODULE.replace("import os", "import os  # noqa: F401"))
    bench.waits()
    assert bench.task_store.questions[-1]["why"] == "calc.py: adds noqa"
    bench.answer("rejected")
    bench.replies["coder-findings"] = code("calc.py", CLEAN)
    bench.run()
    assert "noqa" not in bench.merged("calc.py")


def test_new_configuration_is_asked_about_and_old_marks_of_a_test_are_not(bench: Bench) -> None:
    old = "from calc import add  # noqa\n"
    bench.start_with({"tests/test_old.py": old})
    files, tests = {"ruff.toml": 'ignore = ["F401"]\n'}, {"tests/test_old.py": f"{old}\n\nA = 1\n"}
    state = state_with(bench.task, base=bench.repository.head(), files=files, tests=tests)
    with bench.context() as context, pytest.raises(Waiting):
        consent(state, context)
    assert bench.task_store.questions[-1]["why"] == "ruff.toml: the configuration of checks is changed"


@pytest.mark.parametrize(("outcome", "ok"), [("passed", True), ("skipped", False), ("", False)])
def test_a_test_of_the_log_must_pass_and_not_only_be_away(bench: Bench, outcome: str, ok: bool) -> None:
    state = state_with(task(start={"cause": LINT, "failing": ["tests/test_calc.py::test_a"]}))
    tree: Any = None  # it is not looked at
    report = {"ok": True, "asked": {"tests/test_calc.py::test_a": outcome}}
    with bench.context() as context:
        assert with_build(state, context, tree, "r", report)["ok"] is ok


class Resolving:
    """A supply whose resolver wants flask 2.3.7."""

    def resolve(self, lines: list[str], runtime: str = "") -> Resolution:
        fits = "werkzeug==2.3.7" in lines
        return Resolution("uv", ("flask==2.3.3", "werkzeug==2.3.7")) if fits else Resolution("uv", said="No solution")

    def check(self, line: str) -> Any:
        return PackageSupply(Path("/nowhere")).check(line)

    def fetch(self, lines: list[str]) -> PackageSet:
        return PackageSet(Path("/nowhere"))


def builder(tree: Path, **more: Any) -> Builder:
    backend = open_backend("bubblewrap")
    return Builder(tree, lambda packages: backend.open(), Resolving(), language(), **more)


def test_a_resolver_is_asked_about_what_the_manifest_says_now(tmp_path: Path) -> None:
    cause = {"kind": "dependency conflict", "tool": "pip", "message": "x", "file": "requirements.txt", "command": ""}
    manifest = tmp_path / "requirements.txt"
    manifest.write_text("flask==2.3.3\nwerkzeug==2.0.3\n")
    assert builder(tmp_path).repeat(cause).ok is False
    manifest.write_text("flask==2.3.3\nwerkzeug==2.3.7\n")
    assert builder(tmp_path).repeat(cause).chosen == ("flask==2.3.3", "werkzeug==2.3.7")
    manifest.write_text("werkzeug==2.3.7\nsecret @ https://u:ghp_" + "a1B2" * 9 + "@host/x.whl\n")
    assert builder(tmp_path).repeat(cause).ok is None


def test_the_test_of_the_log_is_found_among_those_that_fail_here(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_one():\n    assert 1 == 2\n\n\ndef test_two():\n    assert 3 == 4\n")
    cause = {
        "kind": "failing test",
        "tool": "pytest",
        "message": "x",
        "file": "",
        "command": "",
        "test": "b.py::test_two",
    }
    found = builder(tmp_path).repeat(cause)
    assert (found.ok, found.failing) == (False, ("test_a.py::test_two",))


def test_without_an_engine_a_dockerfile_is_checked_as_text(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPPY a /a\n")
    found = builder(tmp_path).repeat({"kind": "docker build", "tool": "docker", "file": "Dockerfile"})
    assert found.ok is False
    assert found.said.startswith("line 2")


def test_in_a_repository_without_tests_the_check_alone_decides(tmp_path: Path) -> None:
    start = {"cause": LINT, "reproduced": True, "check": "ruff check ."}
    bench = Bench(tmp_path, {"reviewer-review": APPROVED, "coder-code": code("calc.py", CLEAN)}, task(start=start))
    bench.start_with({"calc.py": MODULE})
    assert bench.run()["verdict"] == "merged"


def test_an_upgrade_that_is_not_in_the_manifest_and_a_stale_page_are_sent_back(tmp_path: Path) -> None:
    start = {"lines": {"requirements.txt": "idna==3.7"}, "stale": {"use.md": ["total_price"]}, "asked": ["idna"]}
    page = "````markdown path=use.md\nCall `total`.\n````\n"
    bench = Bench(
        tmp_path,
        {
            "reviewer-review": APPROVED,
            "coder-code": page,
            "coder-repair": DIAGNOSIS.format(cause="the pin") + "```text path=requirements.txt\nidna==3.7\n```\n",
        },
        task(start=start, kind="docs", files=["use.md", "requirements.txt"]),
        supply=Resolving(),
    )
    bench.start_with({"use.md": "Call `total_price`.\n", "requirements.txt": "idna==3.4\n"})
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("requirements.txt") == "idna==3.7\n"
    assert "requirements.txt does not ask for idna==3.7" in bench.last_turns("repair")[0]
