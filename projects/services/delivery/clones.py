"""Clones by stock git clients over HTTP, read only."""

from __future__ import annotations

import zlib

from agents.workspace.git import GitError
from agents.workspace.serve import SERVICE as SERVICE
from agents.workspace.serve import BackendReply as BackendReply
from agents.workspace.serve import TooBusy
from projects.errors import BadInput, LimitReached, NotAllowed
from projects.models import Project
from projects.services.delivery.downloads import git_dir_of

MOST_BODY = 10 * 1024 * 1024  # bytes of a request after unpacking: the commits that a client says it has


def announce(project: Project, *, service: str, protocol: str) -> BackendReply:
    """What can be cloned. Raises NotFound, NotAllowed for another service, LimitReached when too many are served."""
    if service != SERVICE:
        raise NotAllowed("This repository is read only, and speaks git's smart protocol.")
    return _converse(project, "info/refs", None, protocol)


def pack(project: Project, body: bytes, *, encoding: str, protocol: str) -> BackendReply:
    """The objects that a client asks for. Raises NotFound, BadInput and LimitReached."""
    if encoding in ("gzip", "x-gzip"):
        try:
            body = zlib.decompressobj(wbits=31).decompress(body, MOST_BODY + 1)
        except zlib.error:
            raise BadInput("The request body is not valid gzip.") from None
    if len(body) > MOST_BODY:
        raise BadInput("The request body is too large.")
    return _converse(project, SERVICE, body, protocol)


def _converse(project: Project, path: str, body: bytes | None, protocol: str) -> BackendReply:
    try:
        return BackendReply(git_dir_of(project), path, body=body, protocol=protocol)
    except TooBusy as busy:
        raise LimitReached(str(busy)) from None
    except GitError as broken:
        raise BadInput(f"The repository cannot be read: {broken}.") from None
