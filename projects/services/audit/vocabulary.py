"""The vocabulary of the stream for the pages: they may import the services, not the engine's packages."""

from __future__ import annotations

from agents.events.base import EventLook, Preset, Urgency
from agents.events.effects import CommandRan, CoverageMeasured, ErrorRaised, FileChanged, GateJudged, TestsRan
from agents.events.lifecycle import AttemptStarted, AttemptTakenBack, TaskAdded, TaskBlocked, TaskFailed
from agents.events.reasoning import AttemptRepeated, DiagnosisMade, ModelCalled, Thought
from agents.events.vocabulary import families, is_known, look_of, schema, types_in, types_with_words

__all__ = [
    "PUT_ASIDE",
    "STEPS",
    "AttemptRepeated",
    "AttemptTakenBack",
    "CommandRan",
    "CoverageMeasured",
    "DiagnosisMade",
    "ErrorRaised",
    "EventLook",
    "FileChanged",
    "GateJudged",
    "ModelCalled",
    "Preset",
    "TaskAdded",
    "Thought",
    "Urgency",
    "families",
    "is_known",
    "look_of",
    "schema",
    "types_in",
    "types_with_words",
]

# What a task is at, and what leaves it to a person.
STEPS = (AttemptStarted.type, DiagnosisMade.type, TestsRan.type, GateJudged.type)
PUT_ASIDE = (TaskBlocked.type, TaskFailed.type)
