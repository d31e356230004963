"""The site with a database of its own: tests ask it over HTTP, as its users do."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Iterator

import django
import pytest
import uvicorn

# Before anything reads the settings: the tests' database is not that of the site.
os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="site-tests-")
os.environ["DJANGO_SETTINGS_MODULE"] = "__PACKAGE__.settings"
django.setup()


@pytest.fixture(scope="session")
def tables() -> Iterator[None]:
    """The tables of the site, made once."""
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", run_syncdb=True, verbosity=0)
    yield
    connections.close_all()


@pytest.fixture
def database(tables: None) -> Iterator[None]:
    """The site's tables, empty at the start of each test."""
    from django.core.management import call_command

    yield
    call_command("flush", interactive=False, verbosity=0)


@pytest.fixture
def base_url(server: str, database: None) -> str:
    """The address of the site, which runs on the tests' database."""
    return server


@pytest.fixture(scope="session")
def server(tables: None) -> Iterator[str]:
    """The site, started once; it runs in this process, so a failed test shows what the site logged."""
    from __PACKAGE__.asgi import application

    # The server takes over a socket that listens already, so no other program can take its port.
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        site = uvicorn.Server(uvicorn.Config(application, lifespan="off", log_config=None))
        thread = threading.Thread(target=site.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        site.should_exit = True
        thread.join(10)
