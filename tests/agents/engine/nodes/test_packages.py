"""Packages in the work on a task: found by imports, judged, asked about, fetched, and locked in the repository."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from agents.gates.run import run_gates
from agents.languages.node.language import Node
from agents.languages.node.packages import (
    imported_node_packages,
    joined_lock,
    manifest_packages,
    needs_of,
    with_packages,
)
from sandbox.package_index.errors import IndexUnavailable
from sandbox.package_index.names import plain_name
from sandbox.packages import PackageSupply
from tests.advisory_index import advisory_index
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, TESTS, Bench, code, task
from tests.sandbox.local_index import LocalIndex

PLAIN = code("calc.py", "def add(a: int, b: int) -> int:\n    return a + b")
IMPORTING = code(
    "calc.py", "import adderlib\n\n\ndef add(a: int, b: int) -> int:\n    return a + b", "adderlib adds well."
)
ADDER = {"adderlib.py": "def add(a, b):\n    return a + b\n"}


class AskingBench(Bench):
    """A bench whose supply knows what people answered, as that of a project does."""

    index: LocalIndex

    def run(self):
        approved = [name for name, answer in self.task_store.answers.items() if answer == "approved"]
        self.supply = PackageSupply(
            self.folder / "packages", approved=approved, index=self.index.python, registry=self.index.npm
        )
        return super().run()


@pytest.fixture
def index():
    with LocalIndex() as opened:
        yield opened


@pytest.fixture
def bench(tmp_path, index, quiet_sandbox):  # what a sandbox does with packages is tested where sandboxes are
    bench = AskingBench(tmp_path, {"tester-tests": TESTS, "coder-code": IMPORTING, "reviewer-review": APPROVED}, task())
    bench.index = index
    return bench


def test_a_made_up_package_goes_back_to_the_coder_and_nobody_is_asked(bench):
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="no such package") + PLAIN
    assert bench.run()["verdict"] == "merged"
    assert bench.task_store.asked == []
    assert "there is no such package" in bench.task_store.attempts[1]["tests"]["failures"][0]["message"]
    assert any("the coder is told" in event["summary"] for event in bench.event_log.of("error"))


def test_a_module_that_the_task_was_to_write_is_no_package(bench):
    bench.replies |= {
        "coder-code": code("other.py", "X = 1"),
        "coder-repair": DIAGNOSIS.format(cause="no file") + PLAIN,
    }
    assert bench.run()["verdict"] == "merged"
    assert bench.event_log.of("error") == []


def test_a_question_shows_age_releases_look_alikes_and_why_it_is_wanted(bench, index):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    index.add_wheel("reqests", ADDER, uploaded=yesterday)
    bench.replies["coder-code"] = code(
        "calc.py", "import reqests\n\n\ndef add(a: int, b: int) -> int:\n    return a + b"
    )
    bench.task = task(packages=["reqests"])
    asked = bench.waits("package_consent")
    assert asked["subject"] == "reqests"
    assert "requests" in asked["payload"]["look_alikes"]
    assert asked["payload"]["packages"]["reqests"]["age_days"] == 1
    assert asked["payload"]["packages"]["reqests"]["releases"] == 1
    assert "It is 1 day old." in asked["why"]
    assert asked["payload"]["wanted"]["task"] == "T-01 Adding"
    assert asked["payload"]["wanted"]["requirements"] == [{"key": "FR-01", "text": "Adds numbers"}]


def test_the_model_s_own_words_about_a_package_come_with_the_question(bench, index):
    index.add_wheel("adderlib", ADDER)
    assert bench.waits("package_consent")["payload"]["wanted"]["words"] == "adderlib adds well."


def test_an_approved_package_is_used_and_its_hash_is_in_the_repository(bench, index):
    index.add_wheel("adderlib", ADDER)
    bench.task_store.answers["adderlib"] = "approved"
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("requirements.txt") == "adderlib\n"
    assert "adderlib==1.0" in bench.merged("requirements.lock.txt")
    # The suite ran once more: on the tree with the lock file, which is the one that was committed.
    assert len(bench.event_log.of("test.result")) == 2
    assert "--hash=sha256:" in bench.merged("requirements.lock.txt")
    assert bench.event_log.of("effect.done")[-1]["payload"]["hashes"].keys() == {"adderlib-1.0-py3-none-any.whl"}


@pytest.fixture
def advised(bench, index, monkeypatch):
    """An approved package, and the gate that asks about advisories in a fresh installation."""
    index.add_wheel("adderlib", ADDER)
    bench.task_store.answers["adderlib"] = "approved"
    bench.gates = lambda root, paths, known: run_gates(root, paths=paths, dispositions=known, tools=["advisories"])
    monkeypatch.delenv("AISWE_ADVISORIES")
    with advisory_index() as opened:
        monkeypatch.setenv("AISWE_PYPI_INDEX", f"{opened.address}simple/")
        yield opened


def test_the_versions_that_were_chosen_for_a_change_are_looked_up_before_it_is_merged(bench, index, advised):
    hole = {"id": "PYSEC-2099-1", "summary": "It adds wrongly.", "fixed_in": ["1.1"]}
    advised.knows("adderlib", "1.0", hole)
    advised.knows("adderlib", "1.1")
    index.add_wheel("adderlib", ADDER, version="1.1")
    bench.replies["coder-code"] = IMPORTING + code("requirements.txt", "adderlib<1.1", "")
    bench.replies["coder-findings"] = IMPORTING + code("requirements.txt", "adderlib==1.1", "")
    assert bench.run()["verdict"] == "merged"
    verdicts = [event["payload"] for event in bench.event_log.of("gate.verdict")]
    assert [one["verdict"] for one in verdicts] == ["blocked", "pass"]
    assert "requirements.lock.txt" in str(verdicts[0])
    assert "PYSEC-2099-1" in str(verdicts[0])


def test_a_package_that_no_source_answers_for_is_a_person_s_and_not_the_coder_s(bench, advised):
    bench.waits("security_gate")
    (asked,) = [one for one in bench.task_store.questions if one["kind"] == "gate"]
    assert "Not checked for known vulnerabilities: adderlib 1.0" in asked["why"]
    assert list(bench.task_store.attempts) == [1]


def test_while_no_index_answers_the_task_waits_and_no_try_is_counted(bench, index, tmp_path):
    index.add_wheel("adderlib", ADDER)
    bench.task_store.answers["adderlib"] = "approved"
    index.stop()
    for _ in range(4):
        with pytest.raises(IndexUnavailable, match="does not answer"):
            bench.run()
    assert [attempt["outcome"] for attempt in bench.task_store.attempts.values()] == ["running"]
    with LocalIndex() as again:
        again.add_wheel("adderlib", ADDER)
        bench.index = again
        assert bench.run()["verdict"] == "merged"
    assert list(bench.task_store.attempts) == [1]


@pytest.mark.parametrize("holds", [{"json.py": "X = 1\n"}, None])
def test_a_package_that_cannot_be_had_is_not_wanted_again_by_code_that_does_without(bench, index, holds):
    if holds:
        index.add_wheel("adderlib", holds)  # known by its wheel's name when it is refused
    else:
        index.add_file("adderlib", "adderlib-1.0.tar.gz", b"source alone")
    bench.task_store.answers["adderlib"] = "approved"
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="no such package") + PLAIN
    final = bench.run()
    assert (final["verdict"], final["candidate"]["packages"], final["counters"]["attempt"]) == ("merged", [], 2)
    assert "adderlib" in bench.task_store.attempts[1]["tests"]["failures"][0]["message"]


def test_a_dependency_on_no_list_is_a_question_of_its_own(bench, index):
    index.add_wheel("adderlib", ADDER, needs="numberlib")
    index.add_wheel("numberlib", {"numberlib.py": ""})
    bench.task_store.answers["adderlib"] = "approved"
    asked = bench.waits("package_consent")
    assert asked["subject"] == "numberlib"
    assert "adderlib needs it" in asked["why"]
    bench.task_store.answers["numberlib"] = "approved"
    assert bench.run()["verdict"] == "merged"
    assert "numberlib==1.0" in bench.merged("requirements.lock.txt")


def test_a_planned_package_that_nobody_imports_is_not_asked_for(bench, index):
    index.add_wheel("reqests", ADDER)
    bench.replies["coder-code"] = PLAIN
    bench.task = task(packages=["reqests"])
    assert bench.run()["verdict"] == "merged"
    assert bench.task_store.asked == []


def test_all_that_comes_along_and_is_on_no_list_is_one_question(bench, index):
    index.add_wheel("adderlib", ADDER, needs="numberlib")
    index.add_wheel("numberlib", {"numberlib.py": ""}, needs="carrylib")
    index.add_wheel("carrylib", {"carrylib.py": ""})
    bench.task_store.answers["adderlib"] = "approved"
    asked = bench.waits("package_consent")
    assert (asked["subject"], [*asked["payload"]["packages"]]) == ("carrylib, numberlib", ["carrylib", "numberlib"])
    assert bench.task_store.asked == ["carrylib, numberlib"]
    bench.task_store.answers |= dict.fromkeys(("carrylib, numberlib", "carrylib", "numberlib"), "approved")
    assert bench.run()["verdict"] == "merged"


def test_a_package_whose_dependency_a_person_refused_is_not_wanted_again(bench, index):
    index.add_wheel("adderlib", ADDER, needs="carrylib")
    index.add_wheel("carrylib", {"carrylib.py": "X = 1\n"})
    bench.task_store.answers |= {"adderlib": "approved", "carrylib": "rejected"}
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="a person said no") + PLAIN
    final = bench.run()
    assert (final["verdict"], final["candidate"]["packages"]) == ("merged", [])


def test_all_questions_are_put_at_once_and_none_when_a_name_is_made_up(bench, index):
    for name in ("adderlib", "numberlib"):
        index.add_wheel(name, ADDER)
    bench.task = task(packages=["adderlib", "numberlib"])
    bench.replies["coder-code"] = IMPORTING.replace("import adderlib", "import adderlib\nimport numberlib")
    bench.waits("package_consent")
    assert bench.task_store.asked == ["adderlib", "numberlib"]
    bench.task = task(packages=["adderlib", "made-up-lib"])
    invented = IMPORTING.replace("import adderlib", "import adderlib\nimport made_up_lib")
    replies = bench.replies | {"coder-code": invented, "coder-repair": DIAGNOSIS.format(cause="c") + IMPORTING}
    again = AskingBench(bench.folder / "again", replies, bench.task)
    again.index = index
    again.waits(r"package_consent: adderlib\n")
    assert "made-up-lib" in again.task_store.attempts[1]["tests"]["failures"][0]["message"]
    assert again.task_store.asked == ["adderlib"]


def test_a_lock_that_the_coder_writes_is_replaced_by_what_was_fetched(bench, index):
    index.add_wheel("adderlib", ADDER)
    bench.task_store.answers["adderlib"] = "approved"
    bench.replies["coder-code"] = IMPORTING + code("requirements.lock.txt", "adderlib==9.9 --hash=sha256:00", "")
    assert bench.run()["verdict"] == "merged"
    assert "9.9" not in bench.merged("requirements.lock.txt")


def test_a_lock_that_the_coder_writes_without_fetching_anything_is_left_out(bench):
    bench.replies["coder-code"] = PLAIN + code("requirements.lock.txt", "adderlib==9.9 --hash=sha256:00", "")
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("requirements.lock.txt") == ""


def test_imports_of_node_packages_are_written_into_package_json_with_a_lock(bench, index):
    index.add_npm("express", {"index.js": "module.exports = () => 1\n"}, version="4.2.1")
    bench.replies["coder-code"] = PLAIN + code(
        "server.js", "const express = require('express')\nconst fs = require('node:fs')", ""
    )
    bench.task = task(files=["calc.py", "server.js"])
    assert bench.run()["verdict"] == "merged"
    assert '"express": "^4.2.1"' in bench.merged("package.json")
    assert '"integrity": "sha512-' in bench.merged("package-lock.json")


def test_a_module_of_the_standard_library_that_the_plan_names_is_no_package(bench):
    bench.replies["coder-code"] = PLAIN.replace("def add", "import sqlite3  # noqa: F401\n\n\ndef add", 1)
    bench.task = task(packages=["sqlite3"])
    assert bench.run()["verdict"] == "merged"
    assert len(bench.task_store.attempts) == 1


@pytest.mark.parametrize(("there", "wanted"), [("tests/Page.test.tsx", {"npm:react"}), ("prettier.config.js", set())])
def test_a_task_in_python_gets_the_node_packages_of_a_suite_that_is_run_beside_its_own(there, wanted):
    manifest = '{"dependencies": {"react": "^19"}}'
    assert set(Node().needs({"calc.py": "X = 1\n"}, ["calc.py", there], manifest, {}, {}).wanted) == wanted


@pytest.mark.parametrize("named", ["fs", "node:path"])
def test_what_node_itself_brings_is_no_package(named):
    assert Node().requirement(named) == ""


# -- reading imports ---------------------------------------------------------------------------------------------------
def test_packages_are_found_in_all_ways_to_import_them():
    text = """
    import express from 'express'
    import "side-effect"
    import {a} from "@scope/tool/part.js"; export * from 'again'
    const b = require("lodash/fp"), c = await import('zod')
    // import no from 'commented-out'
    /* require('also-not') */
    import local from './local.js'; import up from '../up';
    import fs from 'fs'; import p from 'node:path'; import '#inner'
    """
    found = imported_node_packages(
        {"src/app.mjs": text, "static/page.js": "import 'in-a-browser'", "notes.md": "import 'x'"}
    )
    assert found == {"express", "side-effect", "@scope/tool", "again", "lodash", "zod"}


def test_a_manifest_is_read_and_added_to_without_losing_the_rest():
    text = '{"name": "shop", "scripts": {"test": "node --test"}, "devDependencies": {"jest": "^29"}}'
    assert manifest_packages(text) == {"jest": "^29"}
    assert manifest_packages("{broken") == {}
    grown = with_packages(text, {"express": "4.2.1"}, {"src/app.js": "import express from 'express'"})
    assert manifest_packages(grown) == {"jest": "^29", "express": "^4.2.1"}
    assert '"node --test"' in grown
    assert "type" not in json.loads(grown)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        (
            {"src/server.ts": "import { app } from './app.js';\nawait app.listen();", "README.md": "require('x')"},
            "module",
        ),
        ({"src/app.js": "export const one = 1;"}, "module"),
        ({"src/app.js": "const express = require('express');\nmodule.exports = { express };"}, None),
        ({"src/app.mjs": "export const one = 1;"}, None),
    ],
)
def test_a_new_package_json_says_that_the_files_are_es_modules(files, kind):
    assert json.loads(with_packages("", {"express": "4.2.1"}, files)).get("type") == kind


@pytest.mark.parametrize(
    ("line", "name"),
    [("Requests>=2", "requests"), ("npm:@scope/a@^1", "npm:@scope/a"), ("npm:ms", "npm:ms"), ("a_b [x]", "a-b")],
)
def test_a_requirement_has_one_plain_name(line, name):
    assert plain_name(line) == name


def test_what_only_tests_and_configuration_import_is_written_among_the_development_packages():
    files = {
        "src/app.js": "import express from 'express'",
        "tests/app.test.js": "import { expect } from 'chai'; import express from 'express'",
        "vite.config.js": "import react from '@vitejs/plugin-react'",
    }
    needs = needs_of(files, '{"devDependencies": {"eslint": "9"}}', {}, {})
    assert needs.unlisted == ["-D @vitejs/plugin-react", "-D chai", "express"]
    assert needs.idle == {"npm:eslint"}
    grown = json.loads(with_packages("", {"-D chai": "5.1.0", "express": "4.2.1"}, {}))
    assert (grown["dependencies"], grown["devDependencies"]) == ({"express": "^4.2.1"}, {"chai": "^5.1.0"})


def test_what_a_script_imported_before_the_task_and_package_json_does_not_name_is_not_needed():
    before = {"src/app.js": "import express from 'express'"}
    after = {"src/app.js": "import express from 'express'; import ms from 'ms'"}
    assert needs_of(after, "", {}, before).unlisted == ["ms"]
    assert set(needs_of(after, '{"dependencies": {"express": "4"}}', {}, before).wanted) == {"npm:express", "npm:ms"}


def test_a_lock_keeps_what_nobody_fetched_and_package_json_lists():
    old = json.dumps({"lockfileVersion": 3, "packages": {"": {}, "node_modules/np": {"version": "1.0.0"}}})
    new = json.dumps({"lockfileVersion": 3, "packages": {"": {}, "node_modules/ms": {"version": "2.0.0"}}})
    manifest = '{"dependencies": {"ms": "^2"}, "devDependencies": {"np": "1"}}'
    places = json.loads(joined_lock(old, new, manifest))["packages"]
    assert [*places] == ["", "node_modules/ms", "node_modules/np"]
    assert places[""]["devDependencies"] == {"np": "1"}
    assert [*json.loads(joined_lock(old, new, '{"dependencies": {"ms": "^2"}}'))["packages"]] == ["", "node_modules/ms"]
