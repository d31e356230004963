"""What a plan adds beyond the requirements is named; what they ask for is not."""

import json

import pytest

from agents.engine.planner_additions import additions
from agents.planning.model import PlanDraft, PlanTask
from agents.planning.parse import parse_plan
from agents.requirements.extract import extract
from tests.agents.scenario_replay import SCENARIOS
from tests.tables import each_row


def added(asked: str, **fields: object) -> list[str]:
    plan = PlanDraft((PlanTask("T-01", "Sum", **fields),))  # type: ignore[arg-type]
    return [problem.message for problem in additions(plan, asked)]


@each_row(
    "path", ["README.md", "docs/usage.md", "Dockerfile", ".github/workflows/test.yml", "examples/demo.py", "NOTES.md"]
)
def test_a_file_beside_the_code_that_nobody_asked_for_is_named(path: str) -> None:
    assert added("It shall add two numbers.", files=("calc.py", path)) == [
        f"Not asked for: {path} (T-01). Leave it out, or name the requirement that needs it."
    ]


@each_row(
    ("path", "asked"),
    [
        ("README.md", "The README says how to start it."),
        ("README.md", "Each function is documented with an example in the manual."),
        ("Dockerfile", "The service runs in a container."),
        (".github/workflows/test.yml", "A GitHub workflow runs the tests."),
        ("examples/demo.py", "An example shows all three formats."),
        ("NOTES.md", "Every change is entered into NOTES.md."),
    ],
)
def test_what_a_requirement_or_house_rule_asks_for_is_not_named(path: str, asked: str) -> None:
    assert added(asked, files=(path,)) == []


def test_a_file_that_an_example_of_the_document_runs_is_not_named() -> None:
    plan = PlanDraft((PlanTask("T-01", "Sum", files=("examples/demo.py", "examples/more.py")),))
    found = additions(plan, "It shall add two numbers.", "$ python examples/demo.py")
    assert [problem.message.partition(".py")[0] for problem in found] == ["Not asked for: examples/more"]


def test_how_code_and_its_tests_are_split_into_files_is_never_named() -> None:
    files = ("a/b.py", "tests/test_b.py", "web/c.ts", "requirements.txt", "d.toml", "app/docs/page.py")
    assert added("It shall add.", files=(*files, "app/history.py", "readme_parser.py", "changes.ts")) == []


def test_the_plan_of_the_demo_adds_nothing() -> None:
    folder = SCENARIOS / "household"
    plan, _ = parse_plan(json.loads((folder / "plan" / "planner-structure.md").read_text()))
    assert plan is not None
    written = extract((folder / "prd.md").read_text()).requirements
    assert additions(plan, "\n".join(line for one in written for line in (one.text, *one.acceptance))) == []


def test_options_that_no_requirement_speaks_of_are_named() -> None:
    asked = "The command prints the sum, on request as JSON."
    (message,) = added(asked, expects="`sum --json` prints JSON, `--verbose` and --dry-run work.")
    assert "--verbose, --dry-run (T-01)" in message


@pytest.mark.parametrize("option", ["out", "all", "with-lines"])
def test_an_option_that_a_requirement_spells_is_not_named_however_common_its_word(option: str) -> None:
    assert added(f"`--{option} FILE` writes the text to FILE.", description=f"Reads --{option}.") == []
    assert added("It writes the text.", description=f"Reads --{option}.") != []
