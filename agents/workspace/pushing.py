"""Sending one commit to one branch of a repository elsewhere. Nothing else leaves, and nothing is forced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from agents.workspace.addresses import GitAddress, SourceRefused
from agents.workspace.fetching import BRANCH, BoundedGit, FetchLimits, connection
from agents.workspace.objects import NAME

SECONDS = 120.0
_ANY_SIZE = 10**9  # megabytes: what is sent is there already


def push_commit(
    git_dir: Path,
    address: GitAddress,
    commit: str,
    branch: str,
    *,
    private: Iterable[str] = (),
    tokens: Mapping[str, str] | None = None,
    ssh_key: str = "",
) -> None:
    """Make `branch` at the address stand at `commit`, if that only adds to it; credentials as in clone_address().

    Raises SourceRefused, whose text a person may read.
    """
    if not NAME.fullmatch(commit) or not BRANCH.fullmatch(branch):
        raise SourceRefused("That is not a commit and a branch.")
    environment, config = connection(address, private=private, tokens=tokens, ssh_key=ssh_key)
    run = BoundedGit(git_dir, environment, config, FetchLimits(SECONDS, _ANY_SIZE))
    options = ("--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")
    run("push", *options, "--", str(address), f"{commit}:refs/heads/{branch}")
