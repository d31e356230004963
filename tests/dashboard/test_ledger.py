"""The pages of the token ledger: what each call sent, what filled its window, and the words of each part."""

import re

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from agents.context import parts
from dashboard.presenters import prompt_breakdown
from tests.dashboard.hostile import MARK
from tests.dashboard.markup import acts
from tests.dashboard.story import Story
from tests.rows import emit
from tests.texts import shows

pytestmark = pytest.mark.django_db


def usages(story: Story) -> list[int]:
    return list(story.run.events.filter(type="llm.usage").order_by("seq").values_list("seq", flat=True))


def test_a_task_lists_its_calls_with_what_filled_them(page, story: Story) -> None:
    text = page("task-tokens", story.stuck.pk)
    assert text.count('<svg class="parts"') == 2
    shows(text, "map of the repository", "24 % of 4,096", "qwen2.5-coder:7b")
    assert re.search(r"≈\s+[\d,]+", text), "the server reported nothing, and the page marks its estimate"
    assert "bigger: 503" in text


def test_what_was_cut_before_a_call_is_said_beside_it(page, story: Story) -> None:
    text = page("task-tokens", story.stuck.pk)
    assert "700 tokens saved" in text
    row = r'<th scope="row">map of the repository</th>\s*<td class="num">700</td>\s*<td class="num">left out</td>'
    assert re.search(row, text)


def test_a_bar_says_nothing_that_the_table_beside_it_does_not(page, story: Story) -> None:
    text = page("call", story.run.pk, usages(story)[1])
    bar = text[text.index('<svg class="parts"') :]
    bar = bar[: bar.index("</svg>")]
    assert 'aria-hidden="true"' in bar
    assert bar.count("<rect") == text.count('<td class="key') == 4


def test_one_call_is_shown_word_for_word_and_as_text(page, story: Story) -> None:
    seq = usages(story)[1]
    text = page("call", story.run.pk, seq)
    assert "AssertionError: assert None == {&#x27;done&#x27;: True}" in text
    thought = story.run.events.filter(type="thought", key="T-02/g1/1/coder").get()
    assert "What filled the window: coder, repair" in page("call", story.run.pk, thought.seq)
    page("call", story.run.pk, 1, status=404)
    page("call", story.run.pk, 9_999, status=404)


def test_the_inspector_of_a_thought_shows_its_window(page, story: Story) -> None:
    thought = story.run.events.filter(type="thought", key="T-02/g1/1/coder").get()
    text = page("run-inspect", story.run.pk, thought.seq)
    assert "What filled the window" in text
    assert reverse("call", args=[story.run.pk, usages(story)[1]]) in text
    assert f"{reverse('task-tokens', args=[story.stuck.pk])}#c{usages(story)[1]}" in text
    before_ledgers = story.run.events.filter(type="thought", key=None).first()
    assert "What filled the window" not in page("run-inspect", story.run.pk, before_ledgers.seq)


def test_a_run_adds_up_its_tasks(page, story: Story) -> None:
    text = page("run-tokens", story.run.pk)
    assert reverse("task-tokens", args=[story.stuck.pk]) in text
    assert "Calls outside of the tasks" not in text
    emit(story.run.pk, "llm.usage", summary="a plan", payload={"prompt_tokens": 7}, role="planner", key="p:usage")
    text = page("run-tokens", story.run.pk)
    shows(text, "Calls outside of the tasks", "The contents of this prompt were not recorded.")


def test_a_task_that_asked_no_model_says_so(page, story: Story) -> None:
    assert "No model has been called yet." in page("task-tokens", story.done.pk)


def test_names_and_figures_of_any_kind_stay_text(page, story: Story) -> None:
    hostile = {
        "prompt_tokens": [1],
        "model": f"<b {MARK}>",
        "window": "big",
        "instead_of": {f"<i {MARK}>": 1},
        "filled_by": {f"<u {MARK}>": 5, "system": "x", "map": -3},
    }
    seq = emit(story.run.pk, "llm.usage", summary="x", payload=hostile, task_id=story.stuck.pk, key="h:usage").seq
    for text in (
        page("task-tokens", story.stuck.pk),
        page("call", story.run.pk, seq),
        page("run-inspect", story.run.pk, seq),
    ):
        assert not acts(text)
        assert f"&lt;u {MARK}&gt;" in text


@given(st.lists(st.tuples(st.text(max_size=9), st.integers(-5, 10**6)), max_size=40))
def test_the_parts_of_a_bar_fill_it_without_overlap(rows: list[tuple[str, int]]) -> None:
    found = prompt_breakdown.segments(rows)
    assert len(found) <= prompt_breakdown.MOST
    assert sum(one.tokens for one in found) == sum(tokens for _, tokens in rows if tokens > 0)
    ends = 0.0
    for one in found:
        assert abs(float(one.start) - ends) < 0.02
        ends = float(one.start) + float(one.width)
    assert not found or abs(ends - 100) < 0.02


def test_every_part_that_a_prompt_can_have_is_called_by_plain_words() -> None:
    names = {*parts.PINNED, *parts._HEADINGS.values(), *parts._STEPS.values(), "conversation"}
    assert names <= set(prompt_breakdown.PARTS)


def test_a_share_is_never_said_to_be_nothing_when_it_is_something() -> None:
    pairs = ((0, 9), (1, 1_000), (6, 1_000), (1, 2), (3, 0))
    assert [prompt_breakdown.share_of(*pair) for pair in pairs] == ["0 %", "<1 %", "1 %", "50 %", "0 %"]
