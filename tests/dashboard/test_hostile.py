"""What agents, documents and file names say stays text on every page, in every fragment and in every frame."""

import json
from itertools import product
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.live import stream
from dashboard.text import diffs, markdown, safe
from tests.dashboard.hostile import MARK, STRINGS
from tests.dashboard.markup import acts, attributes
from tests.dashboard.story import tell
from tests.rows import emit, undone
from tests.tables import each_row


def test_the_reader_sees_what_a_browser_would_do() -> None:
    assert acts(f"<img src=x onerror={MARK}()>")
    assert acts("<a href='JavaScript:x()'>")
    assert not acts("&lt;img src=x onerror=y&gt;")


@each_row("words", STRINGS)
def test_markdown_of_strangers_has_no_teeth(words: str) -> None:
    html = str(markdown.render(words))
    assert not acts(html)
    assert "<img" not in html
    assert len(html) < 200_000


@each_row("words", STRINGS)
def test_lines_of_a_reply_have_no_teeth_either(words: str) -> None:
    assert not acts(str(markdown.render(words, breaks=True)))


def test_a_line_of_a_reply_stays_a_line() -> None:
    assert "x<br>" in str(markdown.render("Cause: x\nPlan: y", breaks=True))
    assert "<br>" not in str(markdown.render("Cause: x\nPlan: y"))


def test_a_link_says_where_it_leads() -> None:
    html = str(markdown.render("[your bank](https://evil.example/login)"))
    assert "(evil.example)" in html
    assert "noopener" in html


@each_row("words", STRINGS)
def test_text_is_bounded_and_keeps_no_control(words: str) -> None:
    shown = safe.plain(words, 1_000)
    assert len(shown) < 8_500  # every kept character may be shown by name
    assert not set(shown) & set("\x00\x1b\r\u202e\u2066\u200b\u200d\ufeff\u2028\u00ad")
    assert "\n" not in safe.one_line(words)


@settings(max_examples=150)
@given(st.text(alphabet=st.characters(codec=None), max_size=300))
def test_any_text_is_shown(words: str) -> None:
    assert not acts(str(markdown.render(words)))
    safe.plain(words, 100).encode("utf-8")
    once = safe.plain(words)
    assert safe.plain(once) == once


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(["+a", "-b", " c", "@@ -1,2 +3 @@", "--- a/x", "+++ b/x", "diff --git a/x b/x", "", "\\ No"])
    )
)
def test_any_diff_is_read_without_losing_a_line_of_code(rows: list[str]) -> None:
    files, left = diffs.parse("\n".join(rows))
    assert left == 0
    for file in files:
        assert file.added == sum(line.kind == "add" for line in file.lines)


@each_row(
    ("text", "path", "added", "removed", "change", "lines"),
    [
        (
            "diff --git a/x b/x\nnew file mode 1\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
            "x",
            1,
            0,
            "new file",
            1,
        ),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- old\n c\n", "x", 0, 1, "", 3),
    ],
    ids=["a new file", "a removed line of dashes"],
)
def test_what_is_one_file_is_read_as_one(
    text: str, path: str, added: int, removed: int, change: str, lines: int
) -> None:
    [file], _ = diffs.parse(text)
    assert (file.path, file.added, file.removed, file.change, len(file.lines)) == (path, added, removed, change, lines)


@pytest.mark.django_db
def test_rows_carry_no_markup_and_nothing_for_htmx(enqueued: list) -> None:
    story = tell()
    for words in STRINGS:
        emit(story.run.pk, "thought", summary=words, role="coder", actor=words[:100], payload={"text": words})
    after = 0
    while found := stream.frame(story.run.pk, after, stream.Filter()):
        after = found["to"]
        assert not acts(found["rows"])
        assert not any(name.startswith("hx-") for name in attributes(found["rows"]))
        assert not acts(found["ui"])
        json.dumps(found)
    rows = list(stream.events_of(story.run))
    html = stream.render_rows(rows)
    assert html.count('<article class="ev') == len(rows)
    assert max(len(part) for part in html.split("<article")) < 8_000


SHOWN = """
    thought decision diagnosis cmd test.result gate.finding error approval.requested search.selected mutation.result
    repeat attempt.taken_back adjudication memory.recall memory.write memory.judged memory.refused coverage.result
    context.compacted
"""
NAMES = """
    choice rejected reason requirements cause evidence hypothesis plan argv exit_code seconds tail passed failed chosen
    why samples mutants noticed survived to worse of failure verdict lessons shown passed uncovered branch saved
    evidence_found requirement failures tool rule severity path line message next_steps approval text
"""


@pytest.mark.django_db
@each_row("kind, shape", list(product(SHOWN.split(), ["text", "list", "number", "nothing", "object"])))
def test_an_event_of_any_shape_can_be_opened(enqueued: list, kind: str, shape: str) -> None:
    from tests.factories import bare_run

    run = bare_run()
    values = {"text": f"<b {MARK}>", "list": ["<i>", 1], "number": 3, "nothing": None, "object": {"a": "<s>"}}
    value: Any = values[shape]
    payload = dict.fromkeys(NAMES.split(), value)
    event = emit(run.pk, kind, summary="x", payload=payload)
    html = render_to_string("partials/inspector.html", {"event": event, "run": run, "texts": {}})
    assert not acts(html)
    # And with the same in every row of a list, where a page looks into one.
    rows = {key: [payload, value] for key in ("samples", "survived", "lessons", "failures")}
    event = emit(run.pk, kind, summary="x", payload=payload | rows, outcome="escalated")
    assert not acts(render_to_string("partials/inspector.html", {"event": event, "run": run, "texts": {}}))


@pytest.mark.slow
@pytest.mark.django_db
def test_attempt_lesson_and_question_stay_text(enqueued: list, client: Client, settings: Any, tmp_path: Any) -> None:
    from agents.memory.base import Lesson
    from projects.services.memory import lessons
    from projects.services.work import approval_requests

    settings.AISWE_HOME = tmp_path
    lessons.store.cache_clear()
    story = tell()
    client.force_login(story.owner)
    for start in range(0, len(STRINGS), 4):
        group = [words[:4_000].replace("\x00", "") or "x" for words in STRINGS[start : start + 4]]
        said = "\n\n".join(group)
        best = {f"best:{words[:200]}{number}.py": words for number, words in enumerate(group)}
        about = {"task_id": story.stuck.pk, "outcome": "escalated", "payload": {"message": said}}
        emit(story.run.pk, "error", summary="Escalated", blobs=best, **about)
        for number, words in enumerate(group, start):
            values = dict.fromkeys(("signature", "cause", "fix", "task", "run", "failure", "topic"), words[:300])
            lessons.store().add(Lesson(id=f"n{number}", reward=1.0, project=story.project.slug, **values))
        pages = [reverse("task", args=[story.stuck.pk])]
        for payload in ({"paths": group, "reasons": group, "rule": said}, {"path": said, "reasons": said}):
            about = {"run": story.run, "task": story.stuck, "why": said, "payload": payload}
            subject = f"reach:{start}:{len(pages)}"
            question = approval_requests.ask(story.project, kind="gate", subject=subject, title="x", **about)
            pages.append(reverse("approval", args=[question.pk]))
        for address in pages:
            answer = client.get(address)
            assert answer.status_code == 200
            assert not acts(answer.content.decode()), (address, start)
        assert client.get(reverse("task-best", args=[story.stuck.pk])).status_code == 200
    text = client.get(reverse("memory")).content.decode()
    assert text.count('class="card stack tight lesson"') > len(STRINGS) // 2
    assert not acts(text)
    lessons.store().close()
    lessons.store.cache_clear()


@pytest.mark.django_db
@each_row("name", [words for words in STRINGS if 0 < len(words) < 300 and "\x00" not in words])
@undone()
def test_a_document_may_have_any_name(enqueued: list, client: Client, django_user_model: Any, name: str) -> None:
    client.force_login(django_user_model.objects.create_user("ada"))
    upload = SimpleUploadedFile("x.md", b"# A\n\nFR-01 The API shall add.")
    upload._name = name  # past Django's own tidying, as a hostile browser would
    answer = client.post(
        "/projects/new", {"name": name[:120].strip() or "x", "autonomy": "plan_gates", "max_retries": 3, "file": upload}
    )
    assert answer.status_code in (302, 422)
    if answer.status_code == 302:
        assert not acts(client.get(answer["Location"]).content.decode())


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200))
@pytest.mark.django_db
def test_any_document_can_be_previewed(client: Client, django_user_model: Any, words: str) -> None:
    user, _ = django_user_model.objects.get_or_create(username="ada")
    client.force_login(user)
    answer = client.post("/preview", {"text": words})
    assert answer.status_code in (200, 422)
    assert not acts(answer.content.decode())
