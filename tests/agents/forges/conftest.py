"""A running forge of each kind, and a site with tickets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.forges.addresses import forge_address
from agents.forges.contract import Forge
from agents.forges.jira import Jira
from agents.forges.opening import open_forge
from agents.workspace.fetching import RemoteAccess
from tests.agents.workspace.git_server import TOKEN, certificate
from tests.forge_server import KINDS, ServedForge, ServedRepository, open_server
from tests.ticket_server import TOKEN as JIRA_TOKEN
from tests.ticket_server import WHO, TicketServer

ACCESS = RemoteAccess(["localhost"], {"localhost": TOKEN})
CODE = "def total(prices):\n    return sum(prices)\n"


@pytest.fixture(params=KINDS)
def served(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedForge]:
    pem = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    running = open_server(request.param, tmp_path / "served", pem)
    yield running
    running.close()
    assert running.undocumented() == []


@pytest.fixture
def shop(served: ServedForge) -> ServedRepository:
    made = served.repository("acme/shop", {"shop.py": CODE, "README.md": "A shop.\n"})
    made.commit("work", {"shop.py": CODE.replace("sum(prices)", "sum(prices, 0)"), "new.py": "x = 1\n" * 30})
    return made


@pytest.fixture
def forge(served: ServedForge, shop: ServedRepository) -> Forge:
    return open_forge(forge_address(served.web(shop.path), ACCESS), ACCESS)


@pytest.fixture(scope="module")
def running_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TicketServer, str]]:
    pem = certificate(tmp_path_factory.mktemp("site"))
    server = TicketServer(pem)
    yield server, str(pem)
    server.close()


@pytest.fixture
def site(running_site: tuple[TicketServer, str], monkeypatch: pytest.MonkeyPatch) -> TicketServer:
    """The site without tickets, well-behaved."""
    server, pem = running_site
    monkeypatch.setenv("SSL_CERT_FILE", pem)
    server.forget()
    return server


@pytest.fixture
def access() -> RemoteAccess:
    return RemoteAccess(["localhost"], {"localhost": f"{WHO}:{JIRA_TOKEN}"})


@pytest.fixture
def jira(site: TicketServer, access: RemoteAccess) -> Jira:
    return Jira("localhost", site.port, access)
