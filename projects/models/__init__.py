"""The tables, one module a subject."""

from projects.models.checkpoints import GraphCheckpoint, GraphWrite
from projects.models.events import Blob, Event
from projects.models.plan import Plan
from projects.models.project import Membership, Project
from projects.models.requirements import Requirement, RequirementDocument
from projects.models.review import Approval, Finding
from projects.models.run import Attempt, Run, Task, Transition, Usage

__all__ = [
    "Approval",
    "Attempt",
    "Blob",
    "Event",
    "Finding",
    "GraphCheckpoint",
    "GraphWrite",
    "Membership",
    "Plan",
    "Project",
    "Requirement",
    "RequirementDocument",
    "Run",
    "Task",
    "Transition",
    "Usage",
]
