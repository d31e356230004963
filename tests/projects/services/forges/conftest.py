"""A site with tickets that this installation has a token for."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents.workspace.git_server import certificate
from tests.ticket_server import TOKEN, WHO, TicketServer


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return certificate(tmp_path_factory.mktemp("pem"))


@pytest.fixture
def site(pem: Any, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[TicketServer]:
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    settings.GIT_HOSTS, settings.JIRA_TOKENS = ["localhost"], [f"localhost={WHO}:{TOKEN}"]
    server = TicketServer(pem)
    yield server
    server.close()
