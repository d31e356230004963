"""The rows of the stream: two heights that the page can reserve, words as text, steps that fold."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from dashboard.live import rows, stream
from projects.models import Run
from tests.factories import bare_run, owner_of
from tests.rows import emit, fresh, undone
from tests.tables import each_row
from tests.texts import shows

pytestmark = pytest.mark.django_db
LONG = "Two requests read the same free slot before either one writes, so both book it. Checking must be one step."


@pytest.fixture
def run() -> Run:
    return bare_run()


def shown(run: Run, **more: Any) -> str:
    return stream.render_rows(stream.events_of(run), **more)


def steps(run: Run, count: int) -> None:
    for number in range(count):
        emit(run.pk, "cmd", summary=f"step {number}", role="coder")


def test_words_that_do_not_fit_a_line_get_a_high_row_with_emphasis_and_no_links(run: Run) -> None:
    text = f"{LONG} **One** `lock`, [a page](https://example.org), <b>no markup</b>"
    emit(run.pk, "thought", summary="Two requests", role="coder", payload={"text": text})
    html = shown(run)
    shows(html, 'class="ev tall by-coder', "<strong>One</strong>&#32;<code>lock</code>", "&lt;b&gt;no markup")
    assert html.count("<a ") == 1


def test_words_that_fit_a_line_are_a_machine_row_high(run: Run) -> None:
    emit(run.pk, "thought", summary="It is a dict.", role="coder", payload={"text": "It is a dict."})
    assert 'class="ev line by-coder' in shown(run)


@each_row(
    ("kind", "summary", "payload", "words"),
    [
        ("thought", "Answered: review", {"text": '{"approved": true}'}, "Answered: review"),
        ("thought", "It works", {"text": "It works.\n```python\nprint(1)\n```"}, "It works."),
        ("thought", "x", {"text": ["no", "text"]}, "x"),
        ("decision", "chose a dict", {"reason": "it is JSON"}, "chose a dict. It is JSON"),
        ("decision", "Approved: it is short", {"reason": "it is short"}, "Approved: it is short"),
        ("diagnosis", "a", {"cause": "a is none.", "hypothesis": "check it"}, "a is none. Check it"),
        ("human.message", "use", {"text": "use the\nother file"}, "use the\nother file"),
    ],
)
def test_the_words_of_a_row_are_prose(kind: str, summary: str, payload: dict[str, Any], words: str) -> None:
    assert rows.words_of(kind, summary, payload) == words


def test_headings_and_items_stay_lines() -> None:
    assert rows.markup("## Cause\n\n- one\n* two") == "<strong>Cause</strong><br>\n• one<br>\n• two"


def test_steps_of_one_author_and_task_fold_and_keep_one_row_for_each_event(run: Run) -> None:
    for summary in ("a.py +1 −0", "b.py +2 −0"):
        emit(run.pk, "file.diff", summary=summary, role="coder", duration_ms=600)
    for _ in range(3):
        emit(run.pk, "cmd", summary="ls", role="coder")
    html = shown(run)
    assert html.count('<article class="fold"') == 1
    shows(html, "<b>5 steps</b>: 2 files changed, ls ×3", "1.2 s")
    assert re.findall(r'data-seq="(\d+)"', html) == ["1", "2", "3", "4", "5"]


def test_what_was_announced_and_done_is_named_once(run: Run) -> None:
    emit(run.pk, "effect.intent", summary="writes 2 files …", role="coder", outcome="intent")
    emit(run.pk, "effect.done", summary="wrote 2 files", role="coder", outcome="ok")
    assert "<b>2 steps</b>: wrote 2 files<" in shown(run)


@each_row(
    ("kind", "outcome"),
    [
        ("cmd", "fail"),
        ("decision", ""),
        ("gate.verdict", "ok"),
        ("test.result", "ok"),
        ("guard.blocked", "denied"),
        ("gap", ""),
    ],
)
@undone()
def test_failures_decisions_verdicts_and_gaps_never_fold(run: Run, kind: str, outcome: str) -> None:
    steps(run, 2)
    emit(run.pk, kind, summary="not folded", role="coder", outcome=outcome)
    steps(run, 2)
    assert [line.seqs for line in rows.lines(stream.events_of(run))] == [[1, 2], [3], [4, 5]]


def test_another_author_ends_a_fold_and_so_does_a_chunk(run: Run) -> None:
    emit(run.pk, "cmd", summary="a", role="tester")
    emit(run.pk, "cmd", summary="b", role="tester")
    for _ in range(97):
        emit(run.pk, "thought", summary="hm", role="coder")
    steps(run, 3)
    found = [line.seqs for line in rows.lines(stream.events_of(run))]
    assert [100] in found
    assert [101, 102] in found
    assert [1, 2] in found


def test_the_heights_of_the_chunks_are_those_of_their_rows(run: Run) -> None:
    for number in range(30):
        emit(
            run.pk, "thought", summary=f"row {number}", role="coder", payload={"text": LONG if number % 3 else "short"}
        )
        steps(run, number % 5)
        emit(run.pk, "test.result", summary="1 passed", role="tester", outcome="ok")
    run = fresh(run)
    wanted = []
    for n in range(-(-run.last_seq // rows.CHUNK)):
        part = stream.events_of(run).filter(seq__gt=n * rows.CHUNK, seq__lte=(n + 1) * rows.CHUNK)
        high = [bool(line.rows[0].text) for line in rows.lines(part)]
        wanted.append((len(high) - sum(high), sum(high)))
    assert rows.heights(run) == wanted
    with CaptureQueriesContext(connection) as asked:
        assert rows.heights(run) == wanted, "full chunks are remembered"
    assert len(asked) == 1


def test_rows_cost_one_query_however_many_there_are(run: Run) -> None:
    steps(run, 5)
    emit(run.pk, "thought", summary="x", role="coder", payload={"text": LONG})
    with CaptureQueriesContext(connection) as few:
        shown(run)
    for _ in range(20):
        emit(run.pk, "thought", summary="x", role="coder", payload={"text": LONG})
        steps(run, 2)
    with CaptureQueriesContext(connection) as many:
        shown(run)
    assert len(few) == len(many) == 1


def test_a_fold_that_grows_is_sent_as_it_is_now(run: Run) -> None:
    steps(run, 3)
    found = stream.frame(run.pk, 2, stream.Filter())
    assert found is not None
    assert (found["from"], found["to"], found["n"]) == (3, 3, 1)
    assert re.findall(r'data-seq="(\d+)"', found["rows"]) == ["1", "2", "3"]
    assert 'id="f1"' in found["rows"]


def test_what_a_filter_finds_does_not_fold(run: Run) -> None:
    steps(run, 3)
    found = stream.frame(run.pk, 0, stream.Filter(type="cmd"))
    assert found is not None
    assert "fold" not in found["rows"]


def test_the_address_of_a_step_opens_its_fold(run: Run, client: Client) -> None:
    steps(run, 3)
    client.force_login(owner_of(run.project))
    assert "<details open>" in client.get(reverse("run-event", args=[run.pk, 2])).content.decode()
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    assert "<details open>" not in page
    assert 'data-short="1"' in page


def test_the_next_error_is_that_of_the_whole_run(run: Run, client: Client) -> None:
    for number in range(1, 251):
        emit(run.pk, "cmd", summary=f"{number}", role="coder", outcome="fail" if number in (3, 240) else "")
    client.force_login(owner_of(run.project))
    address = reverse("run-seek", args=[run.pk])

    def asked(query: str) -> dict[str, Any]:
        answer: dict[str, Any] = client.get(address + query, headers={"Accept": "application/json"}).json()
        return answer

    assert asked("?after=0") == {"seq": 3, "number": 1, "count": 2}
    assert asked("?after=3") == {"seq": 240, "number": 2, "count": 2}
    assert asked("?after=240") == {"seq": None, "number": 0, "count": 2}
    assert asked("?after=240&back=1") == {"seq": 3, "number": 1, "count": 2}
    assert asked("?back=1")["seq"] == 240
    assert client.get(address + "?after=3&what=errors").headers["Location"] == reverse("run-event", args=[run.pk, 240])
    assert client.get(address + "?after=240").headers["Location"] == reverse("run-event", args=[run.pk, 240])
