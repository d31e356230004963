"""An event opened: what it answers to, what failed before it, how that was explained, and its code in colours."""

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.presenters import inspection
from dashboard.text import diffs, highlight
from tests.dashboard.story import Story
from tests.rows import emit
from tests.texts import shows

pytestmark = pytest.mark.django_db

DIFF = """--- a/app/run.py
+++ b/app/run.py
@@ -1,3 +1,3 @@
 def run(command):
-    return "old"
+    return None  # <b>new</b>
 x = 1
"""


def test_an_event_names_its_requirement_its_cause_and_its_diagnosis(story: Story, client: Client) -> None:
    task, run = story.stuck, story.run
    task.requirements.add(story.document.requirements.first())
    say = {"role": "coder", "task_id": task.pk, "attempt": 2}
    failed = emit(run.pk, "test.result", summary="1 failed", outcome="fail", **say)
    cause = emit(run.pk, "diagnosis", summary="mark() returns nothing", payload={"cause": "it"}, **say)
    payload = {"path": "app/run.py", "added": 1, "removed": 1}
    event = emit(run.pk, "file.diff", summary="app/run.py", payload=payload, blobs={"diff": DIFF}, **say)
    chain = inspection.chain_of(event)
    assert (chain.cause, chain.diagnosis) == (failed, cause)
    assert chain.confirmed == task.attempts.get(number=2).diagnosis_outcome
    client.force_login(story.owner)
    text = client.get(reverse("run-inspect", args=[run.pk, event.seq])).content.decode()
    order = ["app/run.py", "requirement", "cause", "diagnosis", '<tr class="del">', "<summary>Payload"]
    places = [text.index(part, text.index("<h3>")) for part in order]
    assert places == sorted(places)
    requirement = story.document.requirements.first()
    shows(text, f"#L{requirement.line_start}", '<span class="tk">return</span> <span class="ts">&quot;')
    assert "<b>new" not in text


def test_an_event_of_no_task_has_no_chain(story: Story) -> None:
    assert inspection.chain_of(story.run.events.get(seq=1)) == inspection.Chain()


def test_a_diff_is_coloured_by_side_and_a_long_line_is_cut() -> None:
    file = diffs.parse(DIFF.replace("x = 1", "x = 1" + "0" * 5_000))[0][0]
    rows = file.coloured
    assert [row.kind for row in rows] == ["hunk", "ctx", "del", "add", "ctx"]
    assert '<span class="tf">run</span>' in rows[1].html
    shows(rows[3].html, "tc", "&lt;b&gt;")
    assert len(rows[4].html) < 2_200


def test_a_diff_of_no_known_language_is_shown_as_it_is() -> None:
    text = "--- a/x.zzz\n+++ b/x.zzz\n@@ -1 +1 @@\n-<i>\x0cb\n+\u2028c\n"
    assert [str(row.html) for row in diffs.parse(text)[0][0].coloured if row.kind == "del"] == ["&lt;i&gt;"]


def test_a_traceback_has_colours_and_other_output_none() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: <b>'
    assert '<span class="te">ValueError</span>' in highlight.output(trace, 1_000)
    assert "<b>" not in highlight.output(trace, 1_000)
    assert highlight.output("1 < 2", 100) == "1 &lt; 2"
