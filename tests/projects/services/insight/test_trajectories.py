"""Rewarded tries become chats in the shapes that TRL reads, and nothing else does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from projects.errors import BadInput, NotAllowed
from projects.models import Run, SiteEvent, Task
from projects.services.insight.trajectories import export_trajectories, role_of
from projects.services.work.attempts import finish_attempt, start_attempt
from tests.factories import bare_run, make_task, make_user
from tests.rows import emit

pytestmark = pytest.mark.django_db

SYSTEM, OPENING, TRACE = "Persona: coder", "Task: T-01 Adding", "1 failed."
# Not written out: this repository is scanned for secrets too.
SECRET = "ghp_" + "Zk3Wn8Qv5Lr1Xt7Bc9Md2Fs6Hj4Pg0Ya1Ru5"


def code(text: str, path: str = "calc.py", words: str = "Here it is.") -> str:
    return f"{words}\n\n```python path={path}\n{text}\n```\n"


BAD, WORSE, GOOD = code("X = 1"), code("X = 2"), "## Diagnosis\nCause: c\n\n" + code("X = 3")
FAILED, PASSED = ("failed", -0.5), ("passed", 1.0)


class Story:
    """A task's stream as the engine writes it."""

    def __init__(self, run: Run | None = None) -> None:
        self.run = run or bare_run()
        self.task: Task = make_task(self.run, status="running")
        self.number = 0

    def says(self, answer: str, *prompt: str, role: str = "coder", generation: int = 1, **payload: Any) -> Story:
        emit(
            self.run.pk,
            "thought",
            summary="…",
            role=role,
            task_id=self.task.pk,
            attempt=self.number,
            key=f"{self.task.key}/g{generation}/{self.run.events.count()}/{role}",
            payload={"model": "m-7b", **payload},
            blobs={"prompt": list(prompt), "output": answer},
        )
        return self

    def judged(self, outcome: str, reward: float, strategy: str = "first") -> Story:
        self.number += 1
        start_attempt(self.task, number=self.number, strategy=strategy)
        finish_attempt(self.task, number=self.number, outcome=outcome, reward=reward)
        return self


def rows(story: Story, fmt: str, root: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export_trajectories([story.run], fmt, by=root)]


def repaired() -> Story:
    """Failed, then repaired."""
    story = Story().says(BAD, SYSTEM, OPENING).judged(*FAILED)
    return story.says(GOOD, SYSTEM, OPENING, BAD, TRACE).judged(*PASSED, "repair")


def test_what_passed_is_a_chat_that_ends_with_its_answer_and_says_where_it_is_from(root: Any) -> None:
    story = repaired()
    (row,) = rows(story, "sft", root)
    assert [turn["role"] for turn in row["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert [turn["content"] for turn in row["messages"]] == [SYSTEM, OPENING, BAD, TRACE, GOOD]
    event = story.run.events.filter(type="thought").last().seq
    place = {"project": story.run.project.slug, "run": story.run.pk, "task": "T-01", "attempt": 2, "event": event}
    assert row["source"] == {**place, "strategy": "repair", "model": "m-7b", "reward": 1.0, "recording": False}


def test_every_answer_has_its_reward_for_grpo(root: Any) -> None:
    found = rows(repaired(), "grpo", root)
    assert [(row["completion"][0]["content"], row["reward"]) for row in found] == [(BAD, -0.5), (GOOD, 1.0)]
    assert found[0]["prompt"] == [{"role": "system", "content": SYSTEM}, {"role": "user", "content": OPENING}]
    # The trainer hands these names to reward functions itself; a column of that name would be given twice.
    assert not {"prompts", "completions", "completion_ids", "trainer_state"} & set(found[0])


def test_a_failed_opening_is_paired_with_what_passed_as_files_alone(root: Any) -> None:
    (row,) = rows(repaired(), "dpo", root)
    assert [turn["content"] for turn in row["prompt"]] == [SYSTEM, OPENING]
    assert row["chosen"] == [{"role": "assistant", "content": "```python path=calc.py\nX = 3\n```"}]
    assert row["rejected"] == [{"role": "assistant", "content": "```python path=calc.py\nX = 1\n```"}]


def test_of_several_samples_the_one_that_went_on_has_the_reward(root: Any) -> None:
    story = Story()
    for answer in (BAD, GOOD, WORSE):
        story.says(answer, SYSTEM, OPENING)
    first = story.run.events.filter(type="thought").order_by("seq").first()
    emit(
        story.run.pk,
        "search.selected",
        summary="…",
        role="runtime",
        task_id=story.task.pk,
        key=f"{first.key.rpartition('/')[0]}/selected",
        payload={"chosen": 2},
    )
    (row,) = rows(story.judged(*PASSED), "grpo", root)
    assert row["completion"][0]["content"] == GOOD


def test_what_was_said_about_a_cure_afterwards_is_no_answer(root: Any) -> None:
    story = repaired().says('{"cause": "c", "fix": "f"}', SYSTEM, "Why did it fail?", step="lesson")
    found = rows(story.judged(*PASSED, "conflict"), "grpo", root)
    assert [row["completion"][0]["content"] for row in found] == [BAD, GOOD]


def test_two_answers_to_the_very_same_question_are_paired_word_for_word(root: Any) -> None:
    story = Story().says(BAD, SYSTEM, OPENING).judged(*FAILED).says(GOOD, SYSTEM, OPENING).judged(*PASSED, "fresh")
    (row,) = rows(story, "dpo", root)
    assert (row["chosen"][0]["content"], row["rejected"][0]["content"]) == (GOOD, BAD)


@pytest.mark.parametrize(
    ("first", "later", "again"),
    [
        (BAD + code("Y = 1", "more.py"), GOOD, {}),
        (BAD, "````python path=calc.py\n<<<<<<< SEARCH\nX = 1\n=======\nX = 3\n>>>>>>> REPLACE\n````\n", {}),
        ("I would rather not.", GOOD, {}),
        (BAD, GOOD, {"generation": 2}),
    ],
    ids=["a file is missing", "an edit", "no file at all", "another start, with other tests"],
)
def test_what_is_no_answer_to_the_opening_is_not_paired(root: Any, first: str, later: str, again: Any) -> None:
    story = Story().says(first, SYSTEM, OPENING).judged(*FAILED)
    turns = (SYSTEM, OPENING + " again") if again else (SYSTEM, OPENING, first, TRACE)
    story.says(later, *turns, **again).judged(*PASSED, "repair")
    with pytest.raises(BadInput, match="2 rewarded tries, but no task has both"):
        rows(story, "dpo", root)


def test_code_that_passed_once_its_test_was_corrected_counts_as_passed(root: Any) -> None:
    story = Story().says(BAD, SYSTEM, OPENING).judged(*FAILED).says(WORSE, SYSTEM, OPENING, BAD, TRACE).judged(*FAILED)
    story.judged(*PASSED, "adjudicated")  # nobody wrote new code
    found = rows(story, "grpo", root)
    assert [(row["completion"][0]["content"], row["reward"]) for row in found] == [(BAD, -0.5), (WORSE, 1.0)]
    with pytest.raises(BadInput):  # the opening shows the test that was wrong
        rows(story, "dpo", root)


def test_the_answer_that_was_used_counts_not_the_one_that_could_not_be(root: Any) -> None:
    story = Story().says("No.", SYSTEM, OPENING).says(GOOD, SYSTEM, OPENING, "No.", "Write files.").judged(*PASSED)
    assert [row["completion"][0]["content"] for row in rows(story, "grpo", root)] == [GOOD]


def test_what_a_gate_sent_back_is_no_example(root: Any) -> None:
    story = Story().says(GOOD, SYSTEM, OPENING).judged("rejected", 0.5)
    assert len(rows(story, "grpo", root)) == 1
    with pytest.raises(BadInput, match="none of them passed"):
        rows(story, "sft", root)


def test_withheld_cut_off_and_other_roles_words_are_left_out(root: Any) -> None:
    story = Story().says("", SYSTEM, OPENING).judged(*FAILED)
    story.says(GOOD, SYSTEM, OPENING, truncated=True).judged(*PASSED)
    story.says("A test", SYSTEM, OPENING, role="tester")
    assert len(rows(story, "grpo", root)) == 1
    with pytest.raises(BadInput):
        rows(story, "sft", root)


def test_secrets_are_taken_out(root: Any) -> None:
    story = Story().says(GOOD + f"# token {SECRET}", SYSTEM, f"{OPENING} with {SECRET}").judged(*PASSED)
    assert SECRET not in "".join(export_trajectories([story.run], "sft", by=root))


def test_only_who_may_export_the_trail_of_each_run_may_take_it_and_it_is_noted(root: Any) -> None:
    story, other = repaired(), repaired()
    developer, auditor = (make_user(role=role, project=story.run.project) for role in ("developer", "auditor"))
    for runs, by in (([story.run], developer), ([story.run, other.run], auditor)):
        with pytest.raises(NotAllowed, match=r"audit\.export"):
            export_trajectories(runs, "sft", by=by)
    assert not SiteEvent.objects.filter(action="trajectories.exported").exists()
    export_trajectories([story.run], "sft", by=auditor)
    noted = SiteEvent.objects.get(action="trajectories.exported")
    assert (noted.actor, noted.subject) == (auditor.username, "sft")
    assert noted.detail == {"runs": [story.run.pk], "lines": 1}


def test_the_order_is_that_of_runs_tasks_and_events(root: Any) -> None:
    first, second = repaired(), repaired()
    third = Story(first.run).says(GOOD, SYSTEM, "Task: T-02").judged(*PASSED)
    lines = export_trajectories([second.run, first.run], "sft", by=root)
    sources = [json.loads(line)["source"] for line in lines]
    assert [(one["run"], one["task"]) for one in sources] == [
        (first.run.pk, "T-01"),
        (first.run.pk, third.task.key),
        (second.run.pk, "T-01"),
    ]
    assert lines == export_trajectories([first.run, second.run], "sft", by=root)


def test_nothing_to_take_away_is_said(root: Any) -> None:
    with pytest.raises(BadInput, match="no try that was rewarded"):
        export_trajectories([bare_run()], "sft", by=root)
    with pytest.raises(BadInput, match="nothing was built yet"):
        export_trajectories([], "sft", by=root)
    with pytest.raises(BadInput, match="choose sft, dpo, grpo, events"):
        export_trajectories([], "csv", by=root)


def test_events_are_every_persona_s_words_and_verdicts_without_secrets(root: Any) -> None:
    story = repaired().says(f"Approved: true {SECRET}", SYSTEM, "Review it", role="reviewer")
    found = rows(story, "events", root)
    assert [row["seq"] for row in found] == sorted(row["seq"] for row in found)
    assert {"thought", "attempt.started", "attempt.passed", "attempt.failed"} <= {row["type"] for row in found}
    last = found[-1]
    assert (last["role"], last["task"], last["texts"]["prompt"]) == ("reviewer", "T-01", [SYSTEM, "Review it"])
    assert last["texts"]["output"].startswith("Approved: true [redacted")
    with pytest.raises(BadInput, match="no event yet"):
        export_trajectories([bare_run()], "events", by=root)


def test_turns_alternate_after_the_system_prompt() -> None:
    assert [role_of(place) for place in range(5)] == ["system", "user", "assistant", "user", "assistant"]
