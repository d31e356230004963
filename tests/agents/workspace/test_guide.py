"""AGENTS.md of a repository that begins here: how to set up and test, house rules, branches and trailers."""

from agents.workspace.guide import guide


def test_it_names_the_commands_of_the_languages_that_are_used_where_their_packages_are() -> None:
    text = guide("Shop", "trunk", "", ["app/a.py", "frontend/package.json", "frontend/src/a.ts"])
    assert text.startswith("# Working on Shop\n\n## Set up and test\n\nPython, with its packages in `requirements.txt`")
    assert "pip install -r requirements.txt\npython -m pytest -q\n```" in text
    assert "JavaScript in `frontend/`, with its packages in `package.json`" in text
    assert "npm install\nnpm test\n```" in text
    assert "- `trunk` is the base. `aiswe/run-N` holds" in text


def test_before_anything_is_planned_it_names_every_language() -> None:
    text = guide("Shop", "main", "", [])
    assert "By the language that the code is written in:" in text
    assert ("python -m pytest" in text, "npm test" in text) == (True, True)


def test_it_has_the_house_rules_without_their_secrets() -> None:
    key = "AKIA" + "Q3EXAMPLE7" + "ABCDEF"
    text = guide("Shop", "main", f"- Dates are ISO 8601, not {{}}.\n- Never use {key}.\n", ["a.py"])
    assert "## House rules\n\n- Dates are ISO 8601, not {}.\n" in text
    assert key not in text
    assert "## House rules" not in guide("Shop", "main", " \n", ["a.py"])


def test_it_explains_each_trailer_of_a_commit() -> None:
    text = guide("Shop", "main", "", ["a.py"])
    for trailer in ("Task", "Requirement", "Run", "Event", "Audit-Head", "Recipe"):
        assert f"`{trailer}`" in text
