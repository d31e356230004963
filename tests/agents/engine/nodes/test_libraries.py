"""Names that a library does not have go back to the coder before a test run is spent on them."""

import pytest

from agents.context import apis
from agents.context.knowledge import Knowledge
from agents.context.meaning import Meaning
from agents.context.vectors import VectorStore
from agents.languages.registry import language
from agents.llm.base import ModelUnavailable
from agents.memory.folder import ChromaFolder
from tests.agents.context.support import Embedder
from tests.agents.engine.nodes.support import APPROVED, Bench, code, task

TESTS = code("tests/test_calc.py", "from calc import text\n\n\ndef test_text():\n    assert text([2]) == '[2]'")
GOOD = code("calc.py", "import json\n\n\ndef text(value: list[int]) -> str:\n    return json.dumps(value)")
INVENTED = GOOD.replace("dumps", "to_string")

pytestmark = pytest.mark.bubblewrap


def bench_with(tmp_path, replies, **parts):
    return Bench(tmp_path, {"tester-tests": TESTS, "reviewer-review": APPROVED, **replies}, task(), **parts)


def test_an_invented_function_is_asked_about_and_no_test_run_is_spent(tmp_path):
    bench = bench_with(tmp_path, {"coder-code": INVENTED, "coder-again": GOOD})
    assert bench.run()["verdict"] == "merged"
    assert len(bench.task_store.attempts) == 1
    (asked,) = [event for event in bench.event_log.of("error") if event["payload"]["tool"] == "reply"]
    assert "json.to_string does not exist in the installed library." in asked["payload"]["message"]
    assert bench.prompts("code")


def test_the_coder_who_insists_is_judged_by_the_tests(tmp_path):
    bench = bench_with(tmp_path, {"coder-code": INVENTED, "coder-again": INVENTED, "coder-repair": GOOD})
    assert bench.run()["verdict"] == "merged"
    assert len(bench.task_store.attempts) == 2


def test_the_coder_sees_the_signatures_of_a_library_that_the_tests_use(tmp_path):
    tests = TESTS.replace("from calc", "import httpx\nfrom calc") + "\n"
    tests = tests.replace("== '[2]'", "== '[2]' and httpx.codes.OK == 200")
    bench = bench_with(tmp_path, {"tester-tests": tests, "coder-code": GOOD})
    assert bench.run()["verdict"] == "merged"
    assert "Library signatures:\n\n```from=package\nhttpx.codes(" in bench.last_turns("code")[-1]
    assert "Library signatures:" not in bench.last_turns("tests")[-1]


SCRIPT = (
    "```javascript path=tools/read.mjs\nimport { readFil } from 'node:fs/promises';\n\nconsole.log(await "
    "readFil('a'));\n```\n"
)


def test_a_name_that_node_does_not_have_is_asked_about_too(tmp_path):
    bench = bench_with(tmp_path, {"coder-code": GOOD + SCRIPT, "coder-again": GOOD})
    assert bench.run()["verdict"] == "merged"
    asked = [event for event in bench.event_log.of("error") if event["payload"]["tool"] == "reply"]
    unchecked = [event for event in bench.event_log.of("system") if "no Node" in event["summary"]]
    if unchecked:
        pytest.skip("there is no Node here to ask")
    assert "tools/read.mjs:1: readFil of node:fs/promises does not exist" in asked[0]["payload"]["message"]
    assert len(bench.task_store.attempts) == 1


def test_where_the_sandbox_has_no_node_scripts_pass_unchecked_and_the_record_says_so(tmp_path, monkeypatch):
    found = [language("node")]
    monkeypatch.setattr(apis.shared, "problems", lambda files, **_: ([], found if "tools/read.mjs" in files else []))
    bench = bench_with(tmp_path, {"coder-code": GOOD + SCRIPT})
    assert bench.run()["verdict"] == "merged"
    assert bench.event_log.of("error") == []
    (said,) = [event for event in bench.event_log.of("system") if "no Node" in event["summary"]]
    assert said["summary"] == "Names in JavaScript were not checked: the sandbox has no Node"


@pytest.fixture
def model():
    return Embedder()


@pytest.fixture
def known(tmp_path, model):
    """Documentation of the operator's, and the meaning that the model gives."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "sums.md").write_text("# Sums\n\nAdding numbers is done with add(a, b).\n\n# Money\n\nreimburse(order)\n")
    return Knowledge(docs, Meaning("m", model, VectorStore(ChromaFolder(tmp_path / "chroma"), "shop", "m")))


def test_the_coder_sees_the_documentation_that_fits_and_the_record_says_how_it_was_found(tmp_path, known):
    bench = bench_with(tmp_path, {"coder-code": GOOD}, knowledge=known)
    assert bench.run()["verdict"] == "merged"
    shown = bench.last_turns("code")[-1]
    title = "Documentation that fits the task:\n\n```path=docs/sums.md section=Sums from=package\n"
    assert f"{title}Adding numbers" in shown
    assert "reimburse" not in shown
    (found,) = [event for event in bench.event_log.of("system") if "embedded" in event["payload"]]
    assert (found["payload"]["compared"], found["payload"]["embedded"], found["outcome"]) == (2, 3, "ok")
    (used,) = [event["payload"] for event in bench.event_log.of("llm.usage") if event["role"] == "coder"]
    assert used["filled_by"]["documentation"] > 0
    assert sum(used["filled_by"].values()) == used["prompt_tokens"]


def test_without_the_embedding_model_the_task_goes_on_by_words_and_says_so(tmp_path, model, known):
    model.away = ModelUnavailable("no server")
    bench = bench_with(tmp_path, {"coder-code": GOOD}, knowledge=known)
    assert bench.run()["verdict"] == "merged"
    assert "Adding numbers is done with add(a, b)." in bench.last_turns("code")[-1]
    (said,) = [event for event in bench.event_log.of("system") if "embedded" in event["payload"]]
    assert said["summary"] == "Found by words alone (m): no server"
