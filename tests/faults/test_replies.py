"""What a model may answer instead of what was asked: every body ends in files, or in a reason in words."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.engine.contracts import TaskContext, TaskLimits
from agents.engine.nodes import coder, reviewer, tester
from agents.engine.nodes.common import request_files
from agents.engine.nodes.opening import opening
from agents.engine.nodes.verify import syntax_errors
from agents.engine.planner_context import PlanContext
from agents.engine.planner_graph import structure
from agents.engine.planner_suggestions import inferred
from agents.languages.python.packages import imported_modules
from agents.languages.registry import language
from agents.llm.base import Completion, TokenUsage
from agents.personas import CODER, TESTER
from agents.planning.parse import parse_plan
from agents.planning.validate import validate_plan
from agents.requirements.extract import extract
from tests.agents.engine.nodes.support import MemoryEventLog, MemoryTaskStore, task
from tests.agents.engine.states import state_with
from tests.tables import each_row

GOOD = "Here.\n\n```python path={path}\ndef add(a, b):\n    return a + b\n```\n"
VERDICT = '{"approved": true, "reasons": ["as asked"]}'
PLAN = json.dumps(
    {
        "tasks": [
            {
                "key": "T-01",
                "title": "Sum",
                "description": "d",
                "kind": "code",
                "agent": "coder",
                "minutes": 5,
                "requirements": ["FR-01"],
                "needs": [],
                "expects": "sums",
                "files": ["calc.py"],
                "packages": [],
            }
        ],
        "notes": "",
    }
)

PATHS = [
    "../out.py",
    "../../../../etc/cron.d/x",
    "/etc/passwd",
    "/tmp/fault-escape.py",
    "~/x.py",
    "a/../../b.py",
    "a//b.py",
    "./../x.py",
    "C:\\x.py",
    "a\\..\\..\\b.py",
    ".git/hooks/pre-commit",
    ".GIT/config",
    "sub/.git/config",
    ".git./x",
    "git~1/config",
    "a/\u2024\u2024/b.py",
    "\u2025/x.py",
    "\uff0e\uff0e/x.py",
    "a\u202egnp.py",
    "a\u200b.py",
    "x\u0000.py",
    "",
    " ",
    ".",
    "..",
    "tests/../../x.py",
    "a" * 4_096,
    "d/" * 2_000 + "x.py",
    "con:aux",
    "a\nb.py",
    "README.md/x.py",
]

BODIES = {
    "nothing": "",
    "blanks": " \n\t\n ",
    "a refusal": "I'm sorry, but I can't help with that.",
    "prose": "The function should add its arguments and return the sum.",
    "an invented tool": '{"name": "write_file", "arguments": {"path": "calc.py", "content": "x = 1"}}',
    "tool tags": '<tool_call>\n{"name": "bash", "arguments": {"command": "rm -rf /"}}\n</tool_call>',
    "a function call": "write_file(path='calc.py', content='x = 1')",
    "chat tokens": "<|im_start|>assistant\nok<|im_end|><|endoftext|>",
    "only thinking": "<think>first I would …",
    "open thinking and a file": "<think>hmm\n```python path=calc.py\nx = 1\n```",
    "half JSON": '{"approved": tr',
    "half a string": '{"approved": true, "reasons": ["as',
    "JSON in a fence": "```json\n" + VERDICT + "\n```",
    "JSON in prose": "Sure! " + VERDICT + " Hope this helps.",
    "two JSON": VERDICT + VERDICT,
    "single quotes": "{'approved': True, 'reasons': ['ok']}",
    "a list": "[1, 2, 3]",
    "null": "null",
    "a number": "42",
    "a big number": "9" * 5_000,
    "infinity": '{"approved": Infinity, "reasons": [NaN]}',
    "wrong types": '{"approved": "yes", "reasons": "fine"}',
    "reasons null": '{"approved": true, "reasons": null}',
    "reasons number": '{"approved": false, "reasons": 7}',
    "reasons nested": '{"approved": true, "reasons": [["a"], {"b": 1}, null]}',
    "approved null": '{"approved": null, "reasons": []}',
    "another schema": '{"verdict": "ok", "score": 10}',
    "tasks null": '{"tasks": null}',
    "tasks text": '{"tasks": "T-01, T-02"}',
    "tasks of numbers": '{"tasks": [1, 2, null, [], "x"]}',
    "a task of wrong types": '{"tasks": [{"key": 1, "minutes": "ten", "needs": "T-00", "requirements": {"a": 1}}]}',
    "requirements wrong": '{"requirements": [{"text": ["a"], "kind": {"x": 1}, "reason": 5}, null, 7, {"text": ""}]}',
    "requirements text": '{"requirements": "all of them"}',
    "deep": "[" * 50_000,
    "deep and closed": "[" * 5_000 + "]" * 5_000,
    "deep objects": '{"a":' * 3_000 + "1" + "}" * 3_000,
    "half a pair": '{"approved": true, "reasons": ["\\ud800"]}',
    "raw half a pair": "```python path=calc.py\nx = '\ud83d'\n```",
    "NUL": "```python path=calc.py\nx = '\x00'\n```",
    "control characters": "\x1b[2J\x1b]0;owned\x07```python path=calc.py\nx = 1\n```",
    "right to left": "\u202e```python path=calc.py\nx = 1\n```",
    "no path": "```python\ndef add(a, b):\n    return a + b\n```",
    "an open fence": "```python path=calc.py\ndef add(a, b):\n    return a + b\n",
    "fence in fence": "```python path=calc.py\nx = '''\n```\n'''\n```\n",
    "only fences": "```" * 4_000,
    "tildes": "~~~python path=calc.py\nx = 1\n~~~",
    "a diff": "```diff path=calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-x\n+y\n```",
    "an edit of nothing": "```python path=calc.py\n<<<<<<< SEARCH\nnot there\n=======\nx = 1\n>>>>>>> REPLACE\n```",
    "half an edit": "```python path=calc.py\n<<<<<<< SEARCH\nx\n=======\n```",
    "empty file": "```python path=calc.py\n```",
    "a placeholder": "```python path=calc.py\ndef add(a, b):\n    # ... rest of the code ...\n```",
    "no Python": "```python path=calc.py\ndef add(a, b:\n    return\n```",
    "too deep to compile": "```python path=calc.py\nx = " + "-" * 60_000 + "1\n```",
    "too long a sum": "```python path=calc.py\nx = " + "1+" * 30_000 + "1\n```",
    "brackets": "```python path=calc.py\nx = " + "(" * 5_000 + ")" * 5_000 + "\n```",
    "tests of the coder": "```python path=tests/test_calc.py\ndef test_it():\n    pass\n```",
    "a file where a folder is": "```python path=app\nx = 1\n```",
    "a file below a file": "```python path=README.md/x.py\nx = 1\n```",
    "a folder of tests as a file": "```python path=tests\nx = 1\n```",
    "two hundred files": "".join(f"```python path=m{n}.py\nx = {n}\n```\n" for n in range(200)),
    "two megabytes of prose": "word " * 400_000,
    "two megabytes in a file": "```python path=calc.py\n" + "x = 1\n" * 340_000 + "```\n",
    "one long line": "```python path=calc.py\nx = '" + "y" * 900_000 + "'\n```\n",
    "CRLF": "```python path=calc.py\r\nx = 1\r\n```\r\n",
    "Latin in another alphabet": "```python path=саlс.py\nx = 1\n```",
    "a verdict and files": "Verdict: maybe\nReason:\n```python path=calc.py\nx = 1\n```",
    "a diagnosis of nothing": "## Diagnosis\nCause:\nEvidence:\nHypothesis:\nPlan:\n",
    "decisions": "Decision: chose over because ->\n" * 500,
    **{f"path {path[:24]!r}": GOOD.format(path=path) for path in PATHS},
}


class Says:
    """A model runner that always answers the same; it counts."""

    def __init__(self, text, done="stop"):
        self.text, self.done, self.asked = text, done, 0

    def complete(self, provider, messages, **_):
        self.asked += 1
        return Completion(self.text, TokenUsage(1, 1, 0.1, 0.1, "m"), self.done)


class Tree:
    """A repository of three files that was never written."""

    root = "never"

    def files(self, sha):
        return ["README.md", "app/main.py", "app/parts.py"]

    def read(self, sha, path):
        return None

    def blobs(self, sha):
        return {}

    def contents(self, names):
        return {}


class Plans:
    """The planner's rows."""

    proposed = None

    def problems_of(self, plan):
        parsed, problems = parse_plan(plan)
        problems = [*problems, *(validate_plan(parsed, {"FR-01": "functional"}) if parsed else [])]
        return [problem.message for problem in problems if problem.severity == "error"]


def context(said, done="stop"):
    """Everything a conversation needs, and no more."""
    return TaskContext(
        backend=None,
        supply=None,
        lessons=None,
        gates=None,
        switched_off=frozenset({"apis"}),  # nothing of these is asked here
        project="p",
        run="1",
        house_rules="",
        event_log=MemoryEventLog(),
        task_store=MemoryTaskStore(),
        limits=TaskLimits(),
        repository=Tree(),
        worktree_name="w",
        provider=lambda persona: SimpleNamespace(window=32_768, model="m", server="http://127.0.0.1:9"),
        runner=Says(said, done),
        needs_review=True,
    )


def begun():
    """A task at its beginning, with a test written."""
    return state_with(task(), base="0" * 40, tests={"tests/test_x.py": "def test_x(): pass\n"})


def said_by(persona, text, done="stop"):
    """The files of one conversation, or the reasons why there are none; checks what must hold for every answer."""
    ctx, state = context(text, done), begun()
    accept = language().is_test if persona is TESTER else lambda path: not language().is_test(path)
    messages, _reply, applied = request_files(
        state, ctx, persona, opening(state, ctx, persona, "code"), step="code", accept=accept, current={}
    )
    assert ctx.runner.asked <= 3
    assert bool(applied.files) or bool(applied.refused and all(reason.strip() for _path, reason in applied.refused))
    assert all(json.dumps(message, ensure_ascii=False).encode() for message in messages)  # can be sent and stored
    for path, content in applied.files.items():
        assert not path.startswith(("/", "~"))
        assert not {"..", ".git"} & {part.lower() for part in Path(path).parts}
        assert language().is_test(path) is (persona is TESTER)
        assert "\x00" not in path + content
        assert (path + content).encode()
    syntax_errors(applied.files)
    imported_modules(applied.files)
    return applied, ctx


def test_there_are_many_bodies():
    assert len(BODIES) >= 60


@each_row("name", BODIES)
def test_a_coder_or_tester_may_say_anything(name):
    huge = len(BODIES[name]) > 1_000_000  # once is enough: it is the size that is tried
    for persona in (CODER,) if huge else (CODER, TESTER):
        for done in ("stop",) if huge else ("stop", "length"):
            said_by(persona, BODIES[name], done)


@each_row("path", PATHS)
def test_a_path_that_escapes_is_refused_told_and_on_the_record(path):
    applied, ctx = said_by(CODER, GOOD.format(path=path))
    assert not applied.files or "/" not in next(iter(applied.files)).strip("./")
    if applied.refused:
        assert ctx.runner.asked == 3
        assert len(ctx.event_log.of("error")) == 3


@each_row("name", BODIES)
def test_a_reviewer_may_say_anything_and_only_a_clear_yes_is_one(name):
    ctx = context(BODIES[name])
    verdict, problems = reviewer._verdict(begun(), ctx, opening(begun(), ctx, CODER, "review"))
    assert ctx.runner.asked <= 3
    assert (verdict is None) is bool(problems)
    if verdict is not None:
        assert isinstance(verdict["approved"], bool)
        assert all(isinstance(reason, str) for reason in verdict["reasons"])
        assert verdict["approved"] is False or name in CLEAR_YES


CLEAR_YES = {"JSON in a fence", "JSON in prose", "half a pair"}


@each_row("name", BODIES)
def test_a_planner_may_say_anything_and_only_a_valid_plan_has_no_problems(name):
    ctx = PlanContext(
        project="p",
        text="FR-01 The user shall add.\n\nHow it came about.",
        house_rules="",
        comment="",
        event_log=MemoryEventLog(),
        task_store=Plans(),
        limits=TaskLimits(),
        provider=lambda persona: SimpleNamespace(window=32_768, model="m", server="http://127.0.0.1:9"),
        runner=Says(BODIES[name]),
    )
    rows = inferred(ctx, extract(ctx.text)).rows
    assert rows[0]["author_key"] == "FR-01"
    assert len({row["key"] for row in rows}) == len(rows)
    assert all(row["text"] for row in rows)
    state = {"messages": [{"role": "user", "content": "x"}], "rounds": 0, "problems": [], "step": 3, "opening": ""}
    found = structure(state, SimpleNamespace(context=ctx))
    assert found["problems"]
    assert found["verdict"] == "again"
    last = structure({**state, **found, "rounds": 2}, SimpleNamespace(context=ctx))
    assert last["verdict"] == "propose"  # a person decides, with what there is


def test_a_good_answer_is_taken_at_once():
    applied, ctx = said_by(CODER, GOOD.format(path="calc.py"))
    assert set(applied.files) == {"calc.py"}
    assert ctx.runner.asked == 1
    assert reviewer._verdict(begun(), context(VERDICT), [])[0] == {"approved": True, "reasons": ["as asked"]}


WHOLE = st.sampled_from(
    [GOOD.format(path="calc.py"), GOOD.format(path="tests/test_calc.py"), VERDICT, PLAN, *BODIES.values()]
)
SPICE = st.sampled_from(
    [
        "```",
        "~~~",
        "\x00",
        "\ud800",
        "{",
        "}",
        '"',
        "\\",
        "..",
        "/",
        "path=",
        "\u202e",
        "<<<<<<< SEARCH",
        "=======",
        "\r",
    ]
)


@st.composite
def spoilt(draw):
    """A body cut, joined with another, with something thrown in."""
    text = draw(WHOLE)[:20_000]
    for _ in range(draw(st.integers(0, 4))):
        start, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        text = draw(
            st.sampled_from(
                [
                    text[:start] + text[end:],
                    text[:start] + draw(SPICE) + text[start:],
                    text[start:] + draw(WHOLE)[:2_000],
                ]
            )
        )
    return text


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(spoilt(), st.sampled_from(["stop", "length"]))
def test_whatever_is_spoilt_in_an_answer_no_error_comes_out(text, done):
    said_by(CODER, text, done)
    said_by(TESTER, text, done)
    reviewer._verdict(begun(), context(text), [])


@pytest.mark.parametrize("node", [coder.code, tester.write_tests])
def test_an_answer_that_cannot_be_used_ends_the_step_in_a_sentence(node):
    changed = node(begun(), SimpleNamespace(context=context("No idea.")))
    assert changed["verdict"] == "escalate"
    assert "no file was found" in changed["escalation"]
