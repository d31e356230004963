"""What tester and coder see when they begin."""

import pytest

from agents.context.files import STEP_TOKENS
from agents.engine.nodes.opening import container_files
from agents.llm.tokens import count_messages
from sandbox.test_setup import TestSetup
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, code, task

pytestmark = pytest.mark.usefixtures("quiet_sandbox")
TESTS = "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5"
ADD = "def add(a: int, b: int) -> int:\n    return a + b"
OLD = "from calc import ZERO\n\n\ndef test_zero_is_nothing():\n    assert ZERO == 0\n"


@pytest.fixture
def begun(tmp_path):
    """Run a task on these files; gives the first messages to tester and coder."""

    def run(there, **changes):
        replies = {"tester-tests": code("tests/test_sums.py", TESTS), "coder-code": code("calc.py", ADD)}
        bench = Bench(tmp_path, replies | {"reviewer-review": APPROVED}, task(**changes))
        bench.start_with(there)
        bench.run()
        return {step: bench.prompts(step)[0][:2] for step in ("tests", "code", "review")}

    return run


def test_the_tester_sees_existing_tests_of_the_tasks_modules_and_the_coder_its_own_alone(begun):
    files = {"calc.py": "ZERO = 0\n", "tests/test_old.py": OLD, "tests/test_far.py": "def test_far():\n    pass\n"}
    seen = begun(files | {"README.md": "# Sums\n\nAs it is.\n"})
    first = seen["tests"][1]
    assert first.index("ZERO = 0\n") < first.index("Existing tests of these files:") < first.index("def test_zero")
    assert "def test_far" not in first
    assert "ZERO = 0\n" in seen["code"][1]
    assert "def test_zero" not in seen["code"][1]
    assert "As it is." not in seen["code"][1], "the first page is for tasks about documentation"


TRACED = """Answer GET / without an error of the server.

```text
Traceback (most recent call last):
  File "shop/web.py", line 2, in answer_request
  File "shop/deep.py", line 2, in counted
ZeroDivisionError: division by zero
```"""


def test_of_a_traceback_the_tester_sees_where_it_began_and_how_that_is_tested(begun):
    filler = {
        f"far/more_{n}.py": "".join(f"def f{n}_{m}(x):\n    return {[m] * 60}\n\n\n" for m in range(40))
        for n in range(9)
    }
    files = filler | {
        "shop/web.py": "from shop.deep import counted\n\n\ndef answer_request(text):\n    return counted(text)\n",
        "shop/deep.py": "def counted(text):\n    return 1 / len(text)\n",
        "tests/test_web.py": "from shop import web\n\n\ndef test_asked():\n    assert web.answer_request('a') == 1\n",
    }
    asked = [{"key": "R1", "text": TRACED}]
    changes = {"files": ["calc.py", "shop/deep.py"], "description": "Nothing is counted.", "requirements": asked}
    first = begun(files, **changes)["tests"][1]
    assert "def answer_request(text):" in first
    assert "web.answer_request('a')" in first
    assert "def f" not in first


def test_a_task_about_documentation_sees_the_page_that_the_repository_begins_with(begun):
    files = {"calc.py": "ZERO = 0\n", "README.md": "# Sums\n\nAs it is.\n", "docs/use.md": "# Use\n"}
    assert "As it is." in begun(files, files=["docs/use.md", "calc.py"])["code"][1]


def test_a_step_takes_no_more_than_its_budget_whatever_there_is_to_show(begun):
    rows = "".join(f"def f{number}(x):\n    return {[number] * 60}\n\n\n" for number in range(150))
    files = dict.fromkeys(("calc.py", "more.py", "tests/test_calc.py", "far/calc.py"), rows)
    seen = begun(files, files=["calc.py", "more.py"], description="f3 " + "and so on " * 6_000)
    for prompt in seen.values():
        messages = [{"role": role, "content": text} for role, text in zip(("system", "user"), prompt, strict=True)]
        assert count_messages(messages) < STEP_TOKENS


def test_a_repair_says_which_file_of_the_task_was_not_written(tmp_path):
    replies = {
        "tester-tests": code("tests/test_sums.py", TESTS),
        "coder-code": code("calc.py", "def add(a, b):\n    return 0"),
        "coder-repair": DIAGNOSIS.format(cause="nothing is added") + code("calc.py", ADD),
    }
    bench = Bench(tmp_path, replies | {"reviewer-review": APPROVED}, task(files=["calc.py", "more.py"]))
    bench.run()
    (prompt,) = bench.last_turns("repair")
    assert "Tests: 1 failed. Files of this task that you have not written: more.py.\n" in prompt


def test_tester_coder_and_reviewer_see_the_document_in_its_own_lines(tmp_path):
    replies = {"tester-tests": code("tests/test_sums.py", TESTS), "coder-code": code("calc.py", ADD)}
    bench = Bench(tmp_path, replies | {"reviewer-review": APPROVED}, task(passages=">>> add(2, 3)\n5"))
    bench.run()
    shown = "The document on these:\n```from=document\n>>> add(2, 3)\n5\n```\n"
    assert [step for step in ("tests", "code", "review") if shown in bench.prompts(step)[0][1]] == [
        "tests",
        "code",
        "review",
    ]


def test_tester_and_coder_are_told_which_tests_of_the_tasks_files_fail_already(tmp_path):
    replies = {"tester-tests": code("tests/test_sums.py", TESTS), "coder-code": code("calc.py", f"ZERO = 0\n\n{ADD}")}
    failing = {
        "tests/test_calc.py::test_one_is_one": "assert 1 == 2\nmore",
        "tests/test_far.py::test_far": "assert far",
        "tests/test_far.py::test_add_of_names": "",
    }
    bench = Bench(tmp_path, replies | {"reviewer-review": APPROVED}, task(description="test_add_of_names is to pass"))
    bench.test_setup = TestSetup(known_failures=frozenset(failing), known_messages=failing)
    bench.start_with({"calc.py": "ZERO = 0\n", "tests/test_calc.py": "from calc import ZERO\n"})
    bench.run()
    lines = "tests/test_far.py::test_add_of_names\ntests/test_calc.py::test_one_is_one: assert 1 == 2 more\n"
    for step in ("tests", "code"):
        assert f"has to pass:\n```from=test-output\n{lines}```" in bench.prompts(step)[0][1]


def test_what_is_shown_in_parts_is_not_asked_for_whole(begun):
    wide = "ZERO = 0\n" + "".join(f"def f{number}(x):\n    return '{'y' * 700}'\n" for number in range(40))
    first = begun({"calc.py": wide}, description="`f7` takes a number.")["code"][1]
    assert "Parts of calc.py" in first
    assert "calc.py: long; send only what changes" in first


def test_of_a_long_page_the_coder_is_asked_for_sections(begun):
    page = "# Sums\n\n## Use\n\n" + "As it is.\n" * 70
    told = begun({"README.md": page}, files=["calc.py", "README.md"])["code"][1]
    assert "README.md: long; send only what changes (the rest stays): definitions whole" in told
    assert "sections under\ntheir heading" in told


def test_servers_that_run_while_tests_do_are_named_with_their_addresses(begun):
    compose = "services: {db: {image: 'postgres:16'}, store: {image: redis}}\n"
    seen = begun({"calc.py": "ZERO = 0\n", "compose.yaml": compose})
    line = (
        "While tests run there are, empty at first: "
        "PostgreSQL (os.environ['DATABASE_URL']); Redis (os.environ['REDIS_URL'])\n"
    )
    assert line in seen["tests"][1]
    assert line in seen["code"][1]


def test_who_writes_container_files_is_told_what_they_are_checked_for(tmp_path):
    assert container_files(["Dockerfile", "compose.yaml"], "Ship it") == {"docker": True, "kubernetes": False}
    assert container_files(["deploy/app.yaml"], "Manifests for Kubernetes")["kubernetes"]
    assert not container_files(["settings.yaml"], "Settings")["kubernetes"]
    written = "The image.\n\n````dockerfile path=Dockerfile\nFROM debian:12\nUSER 1\nHEALTHCHECK NONE\n````\n"
    replies = {"coder-code": written, "reviewer-review": APPROVED}
    bench = Bench(tmp_path, replies, task(kind="infra", files=["Dockerfile"]))
    bench.start_with({"README.md": "# A\n"})
    bench.run()
    ((_, prompt),) = bench.prompts("code")
    assert "a HEALTHCHECK, CMD as a JSON list" in prompt
    assert "Manifests are checked" not in prompt
