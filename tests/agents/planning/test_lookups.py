"""What a planner asks to see is read from prose and from JSON, within bounds."""

import pytest

from agents.planning.lookups import MOST_FILES, MOST_QUESTIONS, Lookups, lookups_in


@pytest.mark.parametrize(
    "text",
    [
        '{"read_file": ["a.py", "b/c.py"], "search_docs": ["how are retries set"], "tasks": [], "notes": ""}',
        'First I look.\n\nread_file: ["a.py", "b/c.py"]\nsearch_docs: ["how are retries set"]',
        "**read_file**: a.py, b/c.py\n- `search_docs`: how are retries set",
        "```json\n{'read_file': ['a.py', 'b/c.py'], 'search_docs': ['how are retries set']}\n```",
    ],
)
def test_files_and_questions_are_read_in_every_form(text):
    assert lookups_in(text) == Lookups(("a.py", "b/c.py"), ("how are retries set",))


def test_a_plan_and_prose_ask_for_nothing():
    assert not lookups_in('One module. {"tasks": [{"files": ["read_file.py"]}], "read_file": [], "search_docs": []}')


def test_what_goes_beyond_the_limits_is_not_read():
    names = [f'"f{number}.py"' for number in range(20)]
    found = lookups_in(f'"read_file": [{", ".join(names)}]\n"search_docs": [{", ".join(names)}]')
    assert (len(found.files), len(found.questions)) == (MOST_FILES, MOST_QUESTIONS)


@pytest.mark.parametrize("text", ["read_file: [" * 5_000, 'read_file: ["' + "a" * 100_000, "read_file: [1, null, {}]"])
def test_nonsense_asks_for_nothing_and_does_not_raise(text):
    assert not lookups_in(text)
