"""What search, repair and memory leave in the stream opens in plain words, with its payload behind a fold."""

import re

import pytest
from django.template.loader import get_template
from django.test import Client
from django.urls import reverse

from agents.events.vocabulary import KINDS, look_of
from dashboard.drawing.states import STATES
from dashboard.live.stream import Filter, events_of
from tests.dashboard.story import Story
from tests.dashboard.story_events import ROWS
from tests.factories import bare_run
from tests.tables import each_row

pytestmark = pytest.mark.django_db

WORDS = {
    "search.selected": ["<strong>kept</strong>", "Why sampling stopped: all 2 samples are drawn."],
    "mutation.result": [
        "<strong>1 of 3</strong>",
        "Not caught, in app/todos.py",
        "The tests are returned to the tester.",
    ],
    "attempt.taken_back": ["Try 3 made it worse", "2 passed, 2 failed"],
    "repeat": ["the same code as", "It was not run again"],
    "memory.recall": ["shared words (0.71)", "2 of 3", "return the changed row"],
    "memory.write": ["a function returns nothing", "todo-api, run 1, T-01, try 2"],
    "memory.judged": ["had this lesson in its prompt", "counted as shown"],
    "memory.refused": ["not kept as a lesson: it speaks to agents"],
    "adjudication": ["<strong>the code</strong>; the test stays", "FR-02"],
    "diagnosis": ["was not shown", "a line nobody saw"],
    "coverage.result": ["72 %", "Lines no test reaches"],
    "context.compacted": ["700 tokens were summarised or left out"],
}


@each_row("kind", WORDS)
def test_an_event_of_the_loop_reads_in_plain_words(story: Story, client: Client, kind: str) -> None:
    client.force_login(story.owner)
    event = story.run.events.filter(type=kind).order_by("-seq").first()
    text = " ".join(client.get(reverse("run-inspect", args=[story.run.pk, event.seq])).content.decode().split())
    for words in WORDS[kind]:
        assert words in text
    assert text.index("<summary>Payload</summary>") > text.index(WORDS[kind][0])


def test_an_escalation_leads_to_the_best_attempt(story: Story, client: Client) -> None:
    client.force_login(story.owner)
    event = story.run.events.get(type="error", outcome="escalated")
    text = client.get(reverse("run-inspect", args=[story.run.pk, event.seq])).content.decode()
    assert "<strong>What was tried</strong>" in text
    assert "Best attempt and what you can do" in text


def test_every_look_has_its_symbol_and_no_kind_of_the_loop_is_a_stranger() -> None:
    symbols = set(re.findall(r'id="i-([a-z]+)"', get_template("partials/sprite.html").template.source))
    assert {look.icon for look in (*(kind.look for kind in KINDS.values()), *STATES.values())} <= symbols
    assert "system" not in {look_of(kind).icon for kind in WORDS}


def test_a_lesson_that_did_not_help_is_no_second_error() -> None:
    assert look_of("memory.judged").tone_of("fail") == "warn"
    assert look_of("memory.judged").tone_of("ok") == "ok"
    assert look_of("repeat").tone_of("fail") == "err"


def test_what_was_chosen_or_taken_back_is_a_decision(story: Story) -> None:
    kinds = {row.type for row in Filter(preset="decisions").apply(events_of(story.run))}
    assert {"search.selected", "attempt.taken_back", "adjudication", "diagnosis"} <= kinds
    assert {type_ for type_, *_ in ROWS} <= {row.type for row in events_of(story.run)}


def test_a_change_is_shown_once_as_its_diff(owner: Client, story: Story) -> None:
    event = story.run.events.filter(type="file.diff").first()
    text = owner.get(reverse("run-inspect", args=[story.run.pk, event.seq])).content.decode()
    assert 'class="diff"' in text
    assert "<dt>removed</dt>" not in text


def test_a_search_without_a_match_says_so_and_leads_back(owner: Client, story: Story) -> None:
    address = reverse("run", args=[story.run.pk])
    assert "No event matches." in owner.get(f"{address}?q=nowhere-to-be-found").content.decode()
    assert "No event matches." not in owner.get(f"{address}?q=dict").content.decode()


def test_a_run_without_events_says_so(owner: Client, story: Story) -> None:
    says = "Nothing has happened in this run yet."
    assert says in owner.get(reverse("run", args=[bare_run(story.project).pk])).content.decode()
    assert says not in owner.get(reverse("run", args=[story.run.pk])).content.decode()
