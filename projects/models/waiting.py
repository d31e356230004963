"""The sentences about what a task or a run waits for."""

from __future__ import annotations

from agents.engine.waiting import SCHEDULED, WaitReason

PHRASES: dict[WaitReason, str] = {
    WaitReason.MODEL: "waiting for the model: {}",
    WaitReason.DISK_SPACE: "waiting for disk space: {}",
    WaitReason.PACKAGE_INDEX: "waiting for the package index: {}",
    WaitReason.SANDBOX: "waiting for the sandbox: {}",
    WaitReason.SANDBOX_IMAGE: "waiting for the sandbox image, {}",
    WaitReason.DATABASE: "waiting for the database",
    WaitReason.RETRY: "waiting for another try after an error",
    WaitReason.RESTING_TASKS: "{}",
    WaitReason.DEPENDENCY: "waits for {}",
    WaitReason.CONFIRMATION: "confirm the requirements",
    WaitReason.NO_REQUIREMENTS: (
        "no requirement was found in the document; add them by hand, then confirm the requirements"
    ),
    WaitReason.SECURITY_GATE: "failed the security gate",
    WaitReason.GUARD_MODEL: "the guard model asks about {}",
    WaitReason.PACKAGE_CONSENT: "wants to install {}",
    WaitReason.EFFECT_CONSENT: "reaches outside ({})",
    WaitReason.SUB_TASK_CONSENT: "asks for a sub-task ({})",
    WaitReason.CHANGE_CONSENT: "removes or changes what was there ({})",
    WaitReason.REPOSITORY: "{}",
    WaitReason.TEST_CONSENT: "would decide how its tests run ({})",
    WaitReason.WINDOW: "waiting for the window until {}",
    WaitReason.NIGHT_CAP: "tonight's cap is used up; waiting until {}",
    WaitReason.ANSWER: "the model asks: {}",
    WaitReason.TASKS: "{}",
}


def choices() -> list[tuple[str, str]]:
    """The values of a `wait_reason` column, each with its phrase."""
    return [(reason.value, PHRASES[reason]) for reason in WaitReason]


def is_scheduled(reason: str) -> bool:
    """Whether the clock ends the wait: a window that opens, or a night with caps of its own."""
    return reason in SCHEDULED


def phrase(reason: str, detail: str) -> str:
    """What is waited for, or, for no wait reason, the detail alone: the reason of the last move."""
    return PHRASES[WaitReason(reason)].format(detail) if reason else detail


def sentence(reason: str, detail: str) -> str:
    """The phrase, led by "needs you" when only a person can end the wait."""
    text = phrase(reason, detail)
    return f"needs you: {text}" if reason and WaitReason(reason).needs_person else text
