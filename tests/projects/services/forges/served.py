"""A forge of our own with the pull request of a run on it, for tests that go the whole way."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from projects.models import ForgeLink, ForgePerson, PullRequest, Run
from projects.services.forges import listening
from projects.storage.paths import repository_of
from tests.agents.workspace.git_server import TOKEN, certificate
from tests.forge_server import ServedForge, open_server


def running(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[ServedForge]:
    """The forge, which this installation trusts and has a token for; what was asked of it is as it documents."""
    pem = certificate(folder)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    settings.GIT_HOSTS, settings.GIT_TOKENS = ["localhost"], [f"localhost={TOKEN}"]
    forge = open_server(kind, folder / "served", pem)
    yield forge
    forge.close()
    assert forge.undocumented() == []


def pulled(forge: ServedForge, run: Run, commit: str, owner: Any) -> PullRequest:
    """The pull request of a run that was pushed to the one repository; its comments are work, and ada is `owner`."""
    [place] = forge.repositories.values()
    ours = repository_of(run.project, run)
    subprocess.run(["git", "-C", str(ours.git_dir), "push", "-q", str(place.git_dir), ours.line], check=True)
    made = place.pull(ours.line, "main", "Add", by=forge.bot)
    link = ForgeLink.objects.create(project=run.project, kind=forge.kind, host=forge.host, path=place.path)
    listening.listen(link, by=owner, takes_requests=True)
    ident = str(forge.account("ada").ident)
    ForgePerson.objects.create(kind=link.kind, host=link.host, ident=ident, login="ada", user=owner)
    fields = {"branch": ours.line, "base": "main", "commit": commit, "web_address": "https://localhost/7"}
    return PullRequest.objects.create(link=link, run=run, number=made.number, opened_by=owner, **fields)
