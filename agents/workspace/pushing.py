"""Sending one commit to one branch of a repository elsewhere. Nothing else leaves, and nothing is forced."""

from __future__ import annotations

from pathlib import Path

from agents.workspace.addresses import GitAddress, SourceRefused
from agents.workspace.fetching import BoundedGit, FetchLimits, RemoteAccess, connection
from agents.workspace.git import is_branch_name
from agents.workspace.objects import NAME

SECONDS = 120.0
_ANY_SIZE = 10**9  # megabytes: what is sent is there already


def push_commit(git_dir: Path, address: GitAddress, commit: str, branch: str, access: RemoteAccess) -> None:
    """Make `branch` at the address stand at `commit`, if that only adds to it.

    Raises SourceRefused, whose text a person may read.
    """
    if not NAME.fullmatch(commit) or not is_branch_name(branch):
        raise SourceRefused("That is not a commit and a branch.")
    run = BoundedGit(git_dir, *connection(address, access), FetchLimits(SECONDS, _ANY_SIZE, "Try again later."))
    options = ("--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")
    run("push", *options, "--", str(address), f"{commit}:refs/heads/{branch}")
