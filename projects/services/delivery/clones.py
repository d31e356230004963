"""Clones by stock git clients over HTTP, read only."""

from __future__ import annotations

from agents.workspace.git import GitError
from agents.workspace.serve import BackendReply as BackendReply
from agents.workspace.serve import BadRequest, TooBusy, unpacked
from projects.errors import BadInput, LimitReached, NotAllowed
from projects.models import Project
from projects.services.delivery.downloads import git_dir_of

SERVICE = "git-upload-pack"


def announce(project: Project, *, service: str, protocol: str) -> BackendReply:
    """What can be cloned. Raises NotFound, NotAllowed for another service, LimitReached when too many are served."""
    if service != SERVICE:
        raise NotAllowed("This repository is read only, and speaks git's smart protocol.")
    return _converse(project, "info/refs", None, protocol)


def pack(project: Project, body: bytes, *, encoding: str, protocol: str) -> BackendReply:
    """The objects that a client asks for. Raises NotFound, BadInput and LimitReached."""
    try:
        content = unpacked(body, encoding)
    except BadRequest as refused:
        raise BadInput(str(refused)) from None
    return _converse(project, SERVICE, content, protocol)


def _converse(project: Project, path: str, body: bytes | None, protocol: str) -> BackendReply:
    try:
        return BackendReply(git_dir_of(project), path, body=body, protocol=protocol)
    except TooBusy as busy:
        raise LimitReached(str(busy)) from None
    except GitError as broken:
        raise BadInput(f"The repository cannot be read: {broken}.") from None
