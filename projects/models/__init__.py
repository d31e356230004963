"""The database tables, one module per subject."""

from projects.models.accounts import ApiAnswer, ApiToken, BrowserSession, RecoveryCode, SecondFactor, Tries
from projects.models.backlog import BacklogHours, BacklogItem
from projects.models.baseline import Baseline
from projects.models.chat import Chat
from projects.models.checkpoints import GraphCheckpoint, GraphWrite, SealedReply
from projects.models.events import Blob, Event, SiteEvent
from projects.models.forges import ForgeComment, ForgeDelivery, ForgeLink, ForgePerson, PullRequest
from projects.models.notices import Notice, NoticeChannel, NoticeKind, NoticePreferences
from projects.models.operations import BadRequest, Deployment, Incident, Target, TrafficMinute
from projects.models.plan import Plan, PlanEdits
from projects.models.project import Membership, Project
from projects.models.reports import ReportMail, ReportSchedule
from projects.models.requirements import OriginalFile, Requirement, RequirementDocument
from projects.models.review import Approval, Finding, LineComment, ReviewedFile
from projects.models.run import Attempt, Run, Task, Transition, Usage

__all__ = [
    "ApiAnswer",
    "ApiToken",
    "Approval",
    "Attempt",
    "BacklogHours",
    "BacklogItem",
    "BadRequest",
    "Baseline",
    "Blob",
    "BrowserSession",
    "Chat",
    "Deployment",
    "Event",
    "Finding",
    "ForgeComment",
    "ForgeDelivery",
    "ForgeLink",
    "ForgePerson",
    "GraphCheckpoint",
    "GraphWrite",
    "Incident",
    "LineComment",
    "Membership",
    "Notice",
    "NoticeChannel",
    "NoticeKind",
    "NoticePreferences",
    "OriginalFile",
    "Plan",
    "PlanEdits",
    "Project",
    "PullRequest",
    "RecoveryCode",
    "ReportMail",
    "ReportSchedule",
    "Requirement",
    "RequirementDocument",
    "ReviewedFile",
    "Run",
    "SealedReply",
    "SecondFactor",
    "SiteEvent",
    "Target",
    "Task",
    "TrafficMinute",
    "Transition",
    "Tries",
    "Usage",
]
