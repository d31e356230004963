"""Reading what a model wrote: forgiving about form, strict about effect."""

from agents.replies.apply import Applied, apply_reply
from agents.replies.jsonish import parse_json
from agents.replies.parse import parse_reply
from agents.replies.paths import BadPath, check_path
from agents.replies.types import Decision, Diagnosis, EditBlock, FileBlock, Reply, Verdict

__all__ = [
    "Applied",
    "BadPath",
    "Decision",
    "Diagnosis",
    "EditBlock",
    "FileBlock",
    "Reply",
    "Verdict",
    "apply_reply",
    "check_path",
    "parse_json",
    "parse_reply",
]
