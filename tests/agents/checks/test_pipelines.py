"""Pipelines of GitHub Actions and GitLab CI that a task writes."""

from itertools import product
from pathlib import Path

from agents.checks.checked_file import CheckedFile
from agents.checks.configuration import configuration_check
from tests.tables import each_row

GITHUB, GITLAB = ".github/workflows/ci.yml", ".gitlab-ci.yml"
WORKFLOW = """name: CI
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
jobs:
  test:
    runs-on: ubuntu-24.04
    strategy:
      matrix:
        python: ["3.12", "3.13"]
    steps:
      - uses: actions/checkout@v4
      - uses: ./.github/actions/prepare
      - run: python -m pytest ${{ matrix.python }}
  image:
    needs: test
    runs-on: ubuntu-24.04
    steps:
      - run: docker build .
"""
PIPELINE = """stages: [test, image]
default:
  image: python:3.13-slim
.common: &common
  tags: [docker]
test:
  <<: *common
  stage: test
  script:
    - !reference [.setup, script]
    - python -m pytest
.setup:
  script: [pip install -r requirements.txt]
package:
  stage: image
  needs: [test]
  image: {name: "docker:28", entrypoint: [""]}
  script: [docker build .]
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
"""


def said(path: str, text: str) -> list[tuple[int, str]]:
    check = configuration_check(path)
    assert check is not None
    there = (GITHUB, GITLAB, ".github/actions/prepare/action.yml")
    return list(check(text, CheckedFile(path, there, lambda _: None)))


def test_pipelines_in_order_have_no_findings() -> None:
    assert said(GITHUB, WORKFLOW) == []
    assert said(GITLAB, PIPELINE) == []
    assert said(".github/dependabot.yml", "version: 2\nnot-known: {{ x }}\n") == []


def test_the_workflows_of_this_repository_have_no_findings() -> None:
    for path in sorted((Path(__file__).parents[3] / ".github" / "workflows").glob("*.yml")):
        assert said(f".github/workflows/{path.name}", path.read_text()) == []


@each_row(
    ("old", "new", "line", "words"),
    [
        ("    runs-on: ubuntu-24.04\n    strategy", "    strategy", 9, "does not fit the schema"),
        ("pull_request:", "pull_requests:", 2, "does not fit the schema"),
        ("needs: test", "needs: tests", 18, "needs tests, which is not among the jobs"),
        ("checkout@v4", "checkout@main", 15, "no fixed version"),
        ("actions/checkout@v4", "actions/checkout", 15, "no fixed version"),
        ("actions/prepare", "actions/other", 16, "is not in the repository"),
        ("docker build .", 'echo "${{ github.event.issue.title }}"', 22, "a stranger writes"),
        ("docker build .", "echo ${{ github.head_ref }}", 22, "a stranger writes"),
        ("name: CI", "name: [", 3, "not valid YAML"),
    ],
)
def test_what_is_wrong_in_a_workflow_is_found_with_its_line(old: str, new: str, line: int, words: str) -> None:
    assert old in WORKFLOW
    found = said(GITHUB, WORKFLOW.replace(old, new, 1))
    assert next((one[0] for one in found if words in one[1]), found) == line


@each_row(
    ("old", "new", "line", "words"),
    [
        ("  script: [docker build .]\n", "  scripts: [docker build .]\n", 18, "does not fit the schema"),
        ("needs: [test]", "needs: [tests]", 14, "names tests (needs)"),
        ("stage: test", "stage: tests", 6, "is in the stage tests"),
        ("python:3.13-slim", "python", 3, "no fixed version"),
        ("docker:28", "docker:latest", 17, "no fixed version"),
        ("if: $CI", "when: sometimes\n      if: $CI", 20, "does not fit the schema"),
    ],
)
def test_what_is_wrong_in_gitlabs_ci_is_found_with_its_line(old: str, new: str, line: int, words: str) -> None:
    assert old in PIPELINE
    found = said(GITLAB, PIPELINE.replace(old, new, 1))
    assert next((one[0] for one in found if words in one[1]), found) == line


@each_row(
    ("text", "path"),
    product(
        [
            "",
            "[]",
            "a: " + "[" * 3000,
            "jobs:\n  a:\n    uses: " + "a/" * 900 + "\n",
            "- " * 500,
            "&a [*a]",
            "on: !x y",
        ],
        [GITHUB, GITLAB],
    ),
)
def test_whatever_stands_in_a_pipeline_is_survived(path: str, text: str) -> None:
    said(path, text)
