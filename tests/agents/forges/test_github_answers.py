"""Answers that GitHub gave, as Octokit's fixtures keep them, are read."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.forges.contract import Forge, ForgeRefused, ForgeRepository, Status
from tests.forge_server import ServedForge

ANSWERS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "github_answers.json").read_text())["answers"]
pytestmark = pytest.mark.parametrize("served", ["github"], indirect=True)


@pytest.fixture
def given(served: ServedForge, forge: Forge, request: pytest.FixtureRequest) -> Any:
    """Has the server give answers of GitHub's, whose addresses are the server's."""

    def give(*names: str) -> None:
        for name in names:
            text = json.dumps(ANSWERS[name]).replace("https://api.github.com/", served.api("/"))
            one = json.loads(text)
            served.forced.append((one["status"], one["headers"], one["answer"]))

    return give


def test_a_repository_is_read(forge: Forge, given: Any) -> None:
    given("repository")
    name = "octokit-fixture-org/hello-world"
    page = f"https://github.com/{name}"
    assert forge.repository() == ForgeRepository(name, f"{page}.git", "master", page, False)


def test_a_list_is_read_over_its_pages(forge: Forge, given: Any) -> None:
    given("issues 1", "issues 2")  # the second names a third, which is not asked for
    found = forge.issues(most=6)
    assert [one.title for one in found] == [f"Test issue {number}" for number in range(13, 7, -1)]
    assert (found[0].key, found[0].state, found[0].text, found[0].author.login) == (
        "13",
        "open",
        "",
        "octokit-fixture-user-a",
    )


def test_what_checks_say_is_read(forge: Forge, given: Any) -> None:
    given("statuses")
    assert list(forge.statuses("1" * 40)) == [
        Status(f"example/{number}", state, f"create-status {state} test", "https://example.com")
        for number, state in ((1, "failure"), (2, "success"))
    ]


def test_a_refusal_is_said_with_its_details(forge: Forge, given: Any) -> None:
    given("refusal")
    with pytest.raises(ForgeRefused, match=r"Validation Failed.*color"):
        forge.close_issue(1)
