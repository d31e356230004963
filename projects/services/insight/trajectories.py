"""What worked and what did not, as chats to train a model on: rewarded tries, in the shapes that TRL reads.

Or whole trajectories, an event a line: what each model was asked and said, and what tests, gates and people said to it.

A try is the coder's answer to a conversation, and the reward that its tests and gates earned (SWE-MEM-3). Both come
from the run's stream; what the stream keeps was redacted before it was stored, and is redacted again here by today's
rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from agents.events.lifecycle import AttemptStarted
from agents.events.reasoning import SampleSelected, Thought
from agents.languages.registry import language_of
from agents.prompts.render import fence
from agents.replies.parse import parse_reply
from agents.secrets.redaction import redact
from projects.errors import BadInput
from projects.models import Attempt, Event, Run
from projects.services.accounts.rights import require
from projects.services.audit.events import event_blobs
from projects.services.audit.sitelog import note

FORMATS = ("sft", "dpo", "grpo", "events")
RIGHT = "audit.export"
BATCH = 200
_TYPES = (Thought.type, AttemptStarted.type, SampleSelected.type)
_ORDER = ("system", "user", "assistant")
# In the key of an event: which start of the task, and which step of it.
_PLACE = re.compile(r"/g(\d{1,9})/(?:(\d{1,9})/)?")


@dataclass(frozen=True)
class Try:
    """One answer of the coder with what it was asked and what it earned."""

    run: Run
    task: str
    generation: int
    attempt: int
    strategy: str
    seq: int
    model: str
    prompt: tuple[str, ...]  # system, then user and assistant in turn
    answer: str
    reward: float
    passed: bool  # its tests and the gates; a try that a gate sent back earned something too
    truncated: bool

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation before the answer."""
        return [{"role": role_of(place), "content": text} for place, text in enumerate(self.prompt)]

    @property
    def source(self) -> dict[str, Any]:
        """Where it is from; the same fields in every row, so that columns have one type."""
        return {
            "project": self.run.project.slug,
            "run": self.run.pk,
            "task": self.task,
            "attempt": self.attempt,
            "strategy": self.strategy,
            "event": self.seq,
            "model": self.model,
            "reward": self.reward,
            "recording": self.run.recording,
        }


def role_of(place: int) -> str:
    """Conversations are system, user, assistant, user, …"""
    return _ORDER[0] if place == 0 else _ORDER[2 - place % 2]


def export_trajectories(runs: Sequence[Run], fmt: str, *, by: User) -> list[str]:
    """The lines of the JSONL, oldest run first; who took them away goes on the site's trail.

    `fmt` is sft (answers that passed), dpo (a better and a worse answer to one question), grpo (every answer with its
    reward) or events (all that happened, of every persona). Raises NotAllowed without the right audit.export in a run's
    project, and BadInput for another format and for runs that give no line.
    """
    if fmt not in FORMATS:
        raise BadInput(f"Unknown format {fmt!r}: choose {', '.join(FORMATS)}.")
    for project in {run.project_id: run.project for run in runs}.values():
        require(by, project, RIGHT)
    tries = 0
    lines: list[str] = []
    for run in sorted(runs, key=lambda run: run.pk):
        if fmt == "events":
            rows = event_rows(run)
        else:
            found = list(tries_of(run))
            tries += len(found)
            rows = {"sft": sft_rows, "dpo": dpo_rows, "grpo": grpo_rows}[fmt](found)
        lines += [json.dumps(row, ensure_ascii=False, sort_keys=True) for row in rows]
    if not lines:
        raise BadInput(_nothing(fmt, len(runs), tries))
    note(by, "trajectories.exported", fmt, {"runs": [run.pk for run in runs], "lines": len(lines)})
    return lines


def _nothing(fmt: str, runs: int, tries: int) -> str:
    if not runs:
        return "There is nothing to export: nothing was built yet. `aiswe history` lists the runs."
    where = "this run holds" if runs == 1 else f"these {runs} runs hold"
    if fmt == "events":
        return f"There is nothing to export: {where} no event yet."
    if not tries:
        return f"There is nothing to export: {where} no try that was rewarded. Let a build finish a task first."
    needs = {
        "sft": "none of them passed its tests and gates",
        "dpo": "no task has both an answer that passed and one to the same question that failed",
        "grpo": "none can be used",
    }[fmt]
    other = " --format grpo takes all of them." if fmt != "grpo" else ""
    return f"There is nothing to export: {where} {tries} rewarded tries, but {needs}.{other}"


def event_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Every event with its texts, oldest first: prompt and reply of each call, commands, test results, verdicts."""
    for event in Event.objects.filter(run=run).select_related("task").order_by("seq").iterator(chunk_size=BATCH):
        row = {"project": run.project.slug, "run": run.pk, "recording": run.recording, "seq": event.seq}
        row |= {"at": event.at.isoformat(), "task": event.task.key if event.task else "", "attempt": event.attempt}
        row |= {"type": event.type, "role": event.role, "outcome": event.outcome, "summary": event.summary}
        yield redact(row | {"payload": event.payload, "texts": event_blobs(event)})


def tries_of(run: Run) -> Iterator[Try]:
    """The rewarded tries of a run, task by task, in the order in which they were made.

    Code that was judged again without a new answer (its test was corrected) counts once, by the later judgement.
    """
    earned = {
        (row.task_id, row.number): row
        for row in Attempt.objects.filter(task__run=run, reward__isnull=False).select_related("task")
    }
    by_answer: dict[int, tuple[Event, Attempt]] = {}
    last: dict[int, Event] = {}
    said: dict[tuple[int, tuple[int, int]], Event] = {}
    rows = Event.objects.filter(run=run, type__in=_TYPES, role__in=("coder", "runtime"), task__isnull=False)
    for event in rows.order_by("seq").iterator(chunk_size=BATCH):
        task = event.task_id or 0
        if event.type == Thought.type:
            if event.role == "coder" and event.payload.get("step") != "lesson":  # words about a try, not one
                last[task] = said[task, _place(event)] = event
        elif event.type == SampleSelected.type:
            # Of several samples the one that went on was judged, not the one that came last.
            generation, step = _place(event)
            chosen = int(event.payload.get("chosen", 1))
            last[task] = said.get((task, (generation, step + chosen - 1)), last.get(task, event))
        elif task in last and (attempt := earned.get((task, event.attempt))) is not None:
            by_answer[last[task].pk] = (last[task], attempt)
    for event, attempt in sorted(by_answer.values(), key=lambda pair: (pair[1].task.ordinal, pair[0].seq)):
        made = _try(run, event, attempt)
        if made is not None:
            yield made


def _place(event: Event) -> tuple[int, int]:
    """(start of the task, step), 0 for what the key does not tell."""
    found = _PLACE.search(event.key or "")
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _try(run: Run, event: Event, attempt: Attempt) -> Try | None:
    """The try, or None when the answer was withheld or the record is not a conversation."""
    texts = event_blobs(event)
    prompt, answer = texts.get("prompt", []), texts.get("output", "")
    if not isinstance(prompt, list) or not isinstance(answer, str) or not answer.strip():
        return None
    if len(prompt) < 2 or len(prompt) % 2 or not all(text.strip() for text in prompt):
        return None
    generation, _ = _place(event)
    return Try(
        run=run,
        task=attempt.task.key,
        generation=generation,
        attempt=attempt.number,
        strategy=attempt.strategy,
        seq=event.seq,
        model=str(event.payload.get("model", "")),
        prompt=tuple(str(redact(text)) for text in prompt),
        answer=str(redact(answer)),
        reward=float(attempt.reward or 0.0),
        passed=attempt.outcome == Attempt.Outcome.PASSED,
        truncated=bool(event.payload.get("truncated")),
    )


def sft_rows(tries: Iterable[Try]) -> Iterator[dict[str, Any]]:
    """{"messages": […]} that end with the answer, of tries that passed."""
    for one in tries:
        if one.passed and not one.truncated:
            yield {"messages": [*one.messages, said(one.answer)], "source": one.source}


def grpo_rows(tries: Iterable[Try]) -> Iterator[dict[str, Any]]:
    """{"prompt": […], "completion": […], "reward": number}: every try.

    Not "completions": the trainer passes its own by that name to the reward functions.
    """
    for one in tries:
        yield {"prompt": one.messages, "completion": [said(one.answer)], "reward": one.reward, "source": one.source}


def dpo_rows(tries: Iterable[Try]) -> Iterator[dict[str, Any]]:
    """{"prompt": […], "chosen": […], "rejected": […]}: each failed try against one that passed.

    Answers to the very same conversation are paired word for word. An opening that failed is also paired with the
    answer that later passed, both reduced to their files: a diagnosis would speak of a failure that the prompt does not
    show. That one must write all files that the failed one wrote, else it is no answer to the opening.
    """
    known = list(tries)
    for bad in known:
        good, chosen, rejected = _better(bad, known)
        if good is not None and chosen != rejected:
            yield {
                "prompt": bad.messages,
                "chosen": [said(chosen)],
                "rejected": [said(rejected)],
                "source": bad.source | {"chosen_event": good.seq, "chosen_reward": good.reward},
            }


def _better(bad: Try, known: Sequence[Try]) -> tuple[Try | None, str, str]:
    """The answer to prefer to a failed one, and both as they are to be compared."""
    siblings = [
        one for one in known if (one.run.pk, one.task, one.generation) == (bad.run.pk, bad.task, bad.generation)
    ]
    passed = [one for one in siblings if one.passed and not one.truncated and one.reward > bad.reward]
    if bad.passed or not passed:
        return None, "", ""
    same = [one for one in passed if one.prompt == bad.prompt]
    if same:
        return same[-1], same[-1].answer, bad.answer
    # Where a test was corrected, an opening shows another test than the one that the later answer passed.
    if len(bad.prompt) > 2 or any(one.strategy == "adjudicated" for one in siblings):
        return None, "", ""
    new, old = files_of(passed[-1].answer), files_of(bad.answer)
    if not old or not set(old) <= set(new):
        return None, "", ""
    return passed[-1], as_files(new), as_files(old)


def said(text: str) -> dict[str, str]:
    """The assistant's turn."""
    return {"role": "assistant", "content": text}


def files_of(answer: str) -> dict[str, str]:
    """The whole files of an answer; nothing when it edits files, because then it is no answer by itself."""
    reply = parse_reply(answer)
    return {} if reply.edits else {block.path: block.content for block in reply.files}


def as_files(files: dict[str, str]) -> str:
    """Files as the coder is asked to write them."""
    blocks = []
    for path, text in files.items():
        marks, kind = fence(text), written.words.fence if (written := language_of(path)) else "text"
        blocks.append(f"{marks}{kind} path={path}\n{text.rstrip()}\n{marks}")
    return "\n\n".join(blocks)
