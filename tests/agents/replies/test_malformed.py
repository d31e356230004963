"""Nothing a model says can crash the reading of it, and nothing senseless becomes a file outside the project."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents.replies.apply import apply_reply
from agents.replies.jsonish import parse_json
from agents.replies.parse import parse_reply
from agents.replies.paths import BadPath, check_path
from tests.sizes import scaled
from tests.tables import each_row

from .malformed import MALFORMED

SCHEMA = {
    "type": "object",
    "properties": {"tasks": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}},
    "required": ["tasks"],
}
CURRENT = {"a.py": "x = 1\n", "src/a.py": "y = 1\n", "README.md": "# A\n"}


def read_every_way(text: str) -> None:
    """Parse and apply as the engine would, and check what must hold whatever the text."""
    for truncated in (False, True):
        reply = parse_reply(text, truncated=truncated)
        assert len(reply.problems) <= 30
        assert all(isinstance(problem, str) and problem for problem in reply.problems)
        applied = apply_reply(reply, CURRENT, read_only=["README.md"])
        assert "README.md" not in applied.files
        for path, content in applied.files.items():
            assert check_path(path) == path
            content.encode()
        for path, reason in applied.refused:
            assert isinstance(path, str)
            assert reason
    for schema in (None, SCHEMA):
        value, problems = parse_json(text, schema)
        assert len(problems) <= 20
        assert value is not None or problems or schema is None


def test_there_are_at_least_sixty_malformed_bodies_with_names_of_their_own():
    assert len(MALFORMED) >= 60
    assert len({name for name, _ in MALFORMED}) == len(MALFORMED)


@pytest.mark.whole
@each_row("text", [text for _, text in MALFORMED], ids=[name for name, _ in MALFORMED])
def test_a_malformed_reply_is_read_without_an_exception(text):
    read_every_way(text)


LINES = st.sampled_from(
    [
        "```python path=src/a.py",
        "```",
        "````md path=README.md",
        "````",
        "~~~",
        "```json",
        "<<<<<<< SEARCH",
        "=======",
        ">>>>>>> REPLACE",
        "<think>",
        "</think>",
        "## Diagnosis",
        "Cause: x",
        "**Plan:** y",
        "Decision: chose a over b because c -> FR-01",
        "Verdict: code - because",
        "Packages: httpx",
        "**src/b.py**",
        "x = 1",
        "y = 1",
        "",
        "# ... rest of the code",
        '{"tasks": [',
        "]}",
        "  ```",
        "- ```python title='c.py'",
    ]
)


@given(st.lists(LINES, max_size=40))
@settings(max_examples=scaled(300))
def test_any_mixture_of_marks_is_read(lines):
    read_every_way("\n".join(lines))


@given(st.text())
@settings(max_examples=scaled(200))
@example("```\x1c path=a.py\nx\n```")
def test_any_text_is_read(text):
    read_every_way(text)


@given(st.sampled_from([text for _, text in MALFORMED if len(text) < 3000]), st.data())
@settings(max_examples=scaled(300))
def test_any_mutation_of_a_malformed_reply_is_read(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    middle = data.draw(st.one_of(st.just(""), st.text(max_size=5), LINES, st.just(text[start:end] * 2)))
    read_every_way(text[:start] + middle + text[end:])


@given(st.text(max_size=300))
@settings(max_examples=scaled(500))
def test_a_path_is_refused_or_stays_inside(path):
    try:
        good = check_path(path)
    except BadPath:
        return
    assert good
    assert not good.startswith(("/", "~"))
    assert not {"..", "", ".git"} & {part.lower() for part in good.split("/")}
    assert good.isprintable()
    assert check_path(good) == good
