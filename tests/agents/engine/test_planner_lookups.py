"""The planner may look at files and documentation once before it decides; one that does not ask costs no more."""

import json
import time
from types import SimpleNamespace

import pytest

from agents.context.knowledge import Knowledge
from agents.engine.contracts import TaskLimits
from agents.engine.planner_context import PlanContext
from agents.engine.planner_graph import PlanState, reason, structure
from agents.engine.planner_lookups import TOKENS, looked_up
from agents.llm.base import Completion, TokenUsage
from agents.llm.tokens import count_tokens
from agents.memory.base import Lesson, Near, NoLessons
from agents.planning.lookups import Lookups
from agents.workspace.repository import Repository
from tests.agents.engine.nodes.support import MemoryEventLog

PLAN = json.dumps({"tasks": [{"key": "T-01", "title": "Round", "requirements": ["R1"], "files": ["prices.py"]}]})
FILES = {"prices.py": "def rounded(amount):\n    return int(amount)\n", "long.py": "x = 1\n" * 20_000}


class Says:
    """A model that gives these replies in order, and keeps what it was sent."""

    def __init__(self, *replies):
        self.replies, self.sent, self.schemas = list(replies), [], []

    def complete(self, provider, messages, *, schema=None, **_):
        self.sent.append(messages)
        self.schemas.append(schema)
        return Completion(self.replies.pop(0), TokenUsage(1, 1, 0.1, 0.1, "m"), "stop")


class Rows:
    """One confirmed requirement, or two."""

    def __init__(self, count):
        self.count = count

    def requirements(self):
        return [{"key": f"R{n}", "text": "Prices are rounded.", "kind": "functional"} for n in range(1, self.count + 1)]

    def background(self):
        return []

    def passages(self):
        return ""

    def problems_of(self, plan):
        return [] if plan["tasks"] else ["empty"]

    def additions_of(self, plan):
        return [f"Not asked for: {path}" for task in plan["tasks"] for path in task["files"] if path == "README.md"]


@pytest.fixture
def make(tmp_path):
    def made(model, *, requirements=1, code="Map (signatures): prices.py"):
        repository = Repository(tmp_path / "repository", tmp_path / "trees")
        base = repository.ensure("Shop")
        tree = repository.worktree("t", base)
        tree.write(FILES)
        head = tree.commit(base, "Files", "", {})
        (tmp_path / "docs" / "_all").mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / "_all" / "money.md").write_text("# Rounding\n\nUse quantize for bankers rounding.\n")
        return PlanContext(
            project="shop",
            house_rules="",
            event_log=MemoryEventLog(),
            limits=TaskLimits(),
            provider=lambda persona: SimpleNamespace(model="m", server="http://localhost", window=32_000),
            runner=model,
            text="",
            comment="",
            code=code,
            repository=repository if code else None,
            commit=head,
            knowledge=Knowledge(tmp_path / "docs") if code else Knowledge(),
            task_store=Rows(requirements),
        )

    return made


def plan(context, *, small):
    runtime = SimpleNamespace(context=context)
    state = PlanState(step=2, small=small)
    state.update(reason(state, runtime))
    state.update(structure(state, runtime))
    return state


def test_small_work_that_asks_is_shown_files_and_sections_once_and_then_plans(make):
    ask = {"read_file": ["prices.py", "price.py"], "search_docs": ["bankers rounding"], "tasks": [], "notes": ""}
    model = Says(json.dumps(ask), PLAN)
    context = make(model)
    state = plan(context, small=True)
    assert state["plan"]["tasks"][0]["key"] == "T-01"
    shown = model.sent[1][-1]["content"]
    assert "return int(amount)" in shown
    assert "price.py is not in the repository. Near: prices.py." in shown
    assert "Use quantize for bankers rounding." in shown
    assert "read_file" in model.schemas[0]["properties"]
    assert "read_file" not in model.schemas[1]["properties"]
    notice = next(event for event in context.event_log.events if event["key"] == "plan/lookups")
    assert notice["payload"]["read_file"] == ["prices.py", "price.py"]


def test_thought_that_asks_costs_no_call_more_and_the_map_is_sent_in_one_turn(make):
    model = Says('I need more.\n"read_file": ["prices.py"]', PLAN)
    plan(make(model, requirements=2), small=False)
    first, second = model.sent
    assert "return int(amount)" in second[-1]["content"]
    assert [turn["content"].count("Map (signatures)") for turn in second] == [0, 1, 0, 0]
    assert second[: len(first)] == first  # the server's prefix cache has it


def test_rules_tests_lessons_and_documentation_are_in_view_before_it_decides(make):
    class Store(NoLessons):
        def similar(self, text, limit=1):
            assert text == "Prices are rounded."
            lesson = Lesson(
                "l1", "s", "Floats lose cents", "use Decimal", 1.0, "shop", "T-01", "1", learned_at=time.time()
            )
            return [Near(lesson, 0.9, "meaning")]

    model = Says(PLAN)
    context = make(model)
    context.house_rules, context.tests, context.lessons = "Amounts are decimals.", "folders: tests", Store()
    plan(context, small=True)
    system, asked = (turn["content"] for turn in model.sent[0])
    assert "Amounts are decimals." in system
    for part in ("folders: tests", "- Floats lose cents → use Decimal", "docs/_all/money.md", '"read_file"'):
        assert part in asked
    assert [event["type"] for event in context.event_log.events if event["key"] == "plan/recall"] == ["memory.recall"]


@pytest.mark.parametrize(("small", "calls"), [(True, 1), (False, 2)])
def test_a_planner_that_does_not_ask_costs_no_call_more(make, small, calls):
    model = Says(*["One module."] * (calls - 1), PLAN)
    plan(make(model), small=small)
    assert len(model.sent) == calls


def test_a_second_request_is_not_answered(make):
    ask = json.dumps({"read_file": ["prices.py"], "tasks": [], "notes": ""})
    model = Says(ask, ask)
    state = plan(make(model), small=True)
    assert state["verdict"] == "again"
    assert len(model.sent) == 2


def test_without_code_and_documentation_nothing_is_offered_or_answered(make):
    model = Says('"read_file": ["prices.py"]', PLAN)
    plan(make(model, requirements=2, code=""), small=False)
    assert not any("read_file" in turn["content"] for turn in model.sent[0])
    assert "prices.py" not in model.sent[1][-1]["content"]


def test_what_is_shown_stays_within_its_budget(make):
    context = make(Says())
    seen = looked_up(context, Lookups(("long.py", "prices.py", *["long.py"] * 4), ("rounding", "prices", "x", "y")))
    assert count_tokens(seen) <= TOKENS + 50
    assert "return int(amount)" in seen
    assert "lines not shown" in seen


WITH_README = PLAN.replace('["prices.py"]', '["prices.py", "README.md"]')


def again(context, state):
    state.update(structure(state, SimpleNamespace(context=context)))
    return state


def test_what_a_plan_adds_is_told_once_and_the_plan_that_insists_is_proposed(make):
    model = Says(WITH_README, WITH_README)
    context = make(model)
    state = plan(context, small=True)
    assert state["verdict"] == "again"
    state = again(context, state)
    assert "adds what nobody asked for:\n- Not asked for: README.md" in model.sent[1][-1]["content"]
    assert (state["verdict"], state["problems"]) == ("propose", [])
    assert len(model.sent) == 2


def test_a_worse_answer_does_not_take_the_place_of_the_valid_plan(make):
    context = make(Says(WITH_README, "I would rather not."))
    state = again(context, plan(context, small=True))
    assert state["verdict"] == "propose"
    assert state["plan"]["tasks"][0]["key"] == "T-01"
