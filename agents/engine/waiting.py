"""What a task or a run waits for: a value that code decides on. The sentence people read is made where it is shown."""

from __future__ import annotations

from enum import StrEnum


class WaitReason(StrEnum):
    """Why work does not go on at the moment. Each has a sentence in `projects.models.waiting`."""

    MODEL = "model"
    DISK_SPACE = "disk_space"
    PACKAGE_INDEX = "package_index"
    SANDBOX = "sandbox"
    SANDBOX_IMAGE = "sandbox_image"  # being made: it comes by itself
    DATABASE = "database"
    RETRY = "retry"
    RESTING_TASKS = "resting_tasks"  # a run: every ready task waits for one of the above
    DEPENDENCY = "dependency"  # a task behind one that was not solved, or behind its sub-task
    CONFIRMATION = "confirmation"
    NO_REQUIREMENTS = "no_requirements"
    SECURITY_GATE = "security_gate"
    GUARD_MODEL = "guard_model"
    PACKAGE_CONSENT = "package_consent"
    EFFECT_CONSENT = "effect_consent"
    TEST_CONSENT = "test_consent"
    SUB_TASK_CONSENT = "sub_task_consent"
    CHANGE_CONSENT = "change_consent"
    REPOSITORY = "repository"  # damaged, or not ours: it is looked at again until somebody has put it right
    WINDOW = "window"  # the hours in which the agents may work on the backlog
    NIGHT_CAP = "night_cap"  # what the backlog may take in one opening of its window
    ANSWER = "answer"  # a chat: to what its model asks
    TASKS = "tasks"  # a run: only a person can bring its tasks on

    @property
    def needs_person(self) -> bool:
        """True when only a person's answer ends the wait."""
        others = (WaitReason.RESTING_TASKS, WaitReason.DEPENDENCY)
        return self not in OUTAGES and self not in SCHEDULED and self not in others


# These pass without a person: the task is ready and is tried again after a rest.
OUTAGES = frozenset(
    {
        WaitReason.MODEL,
        WaitReason.DISK_SPACE,
        WaitReason.PACKAGE_INDEX,
        WaitReason.SANDBOX,
        WaitReason.SANDBOX_IMAGE,
        WaitReason.DATABASE,
        WaitReason.RETRY,
    }
)

SCHEDULED = frozenset({WaitReason.WINDOW, WaitReason.NIGHT_CAP})  # these end by the clock

UNCONFIRMED = frozenset({WaitReason.CONFIRMATION, WaitReason.NO_REQUIREMENTS})


class Waiting(Exception):
    """The step cannot go on before a person answers; it will be run again from its start."""

    def __init__(self, reason: WaitReason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail
