"""Keeps the tests hermetic: a home of their own, no outside service, insert-only tables that can still be cleared."""

from __future__ import annotations

import atexit
import importlib
import logging.config
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from typing import Any

# Before anything imports the settings: the tests write nowhere else and talk to nothing outside.
_HOME = tempfile.mkdtemp(prefix="aiswe-tests-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
_KEPT = {name: value for name in ("DATABASE_URL", "AISWE_WHOLE_TESTS") if (value := os.environ.get(name)) is not None}
for _name in [name for name in os.environ if name.startswith("AISWE_")] + ["DATABASE_URL", "REDIS_URL", "OLLAMA_HOST"]:
    os.environ.pop(_name, None)
os.environ.update(
    _KEPT,  # the PostgreSQL run names its database on purpose; the whole stage asks for whole sizes
    AISWE_HOME=_HOME,
    AISWE_LOG_LEVEL="ERROR",
    AISWE_EMBEDDING="hashing",  # MiniLM takes seconds for what most tests do not ask
    AISWE_OLLAMA_URL="http://127.0.0.1:9",  # the discard port: nobody answers
    AISWE_PYPI_INDEX="http://127.0.0.1:9/simple/",
    AISWE_NPM_REGISTRY="http://127.0.0.1:9/",
    AISWE_ADVISORIES=os.path.join(os.path.dirname(__file__), "no_advisories"),  # it knows no weakness of any package
    LANGSMITH_TRACING="false",
    LANGCHAIN_TRACING_V2="false",
    # Sync Playwright leaves an event loop in the main thread; the ORM would refuse to work beside it.
    DJANGO_ALLOW_ASYNC_UNSAFE="true",
)

# Imported now: the plugin would import it while the summary is written, and a finaliser that runs in the middle of
# compiling it crashes Python 3.11 ("AST constructor recursion depth mismatch").
import hypothesis  # noqa: E402
import pytest  # noqa: E402  the environment comes first
from django.conf import settings as django_settings  # noqa: E402
from django.db import connections  # noqa: E402
from django.test import TransactionTestCase  # noqa: E402

from tests import costs, fast  # noqa: E402
from tests.needs import bubblewrap_problem, missing  # noqa: E402
from tests.sizes import WHOLE  # noqa: E402

# How fast examples are made and run depends on what else the machine does: no verdict.
for _profile, _examples in (("part", 20), ("whole", 100)):
    hypothesis.settings.register_profile(
        _profile, max_examples=_examples, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
hypothesis.settings.load_profile("whole" if WHOLE else "part")


def _read_settings_again() -> None:
    """pytest-django reads the settings before any conftest: read them anew, in the environment made above.

    Otherwise two test runs at once would share, and delete, one test database in the default home.
    """
    module = sys.modules.get(os.environ.get("DJANGO_SETTINGS_MODULE", "aiswe_site.settings"))
    if module is None:
        return
    importlib.reload(module)
    for name in filter(str.isupper, dir(module)):
        setattr(django_settings, name, getattr(module, name))
    if hasattr(connections._connections, "default"):
        del connections["default"]
    connections._settings = None
    connections.__dict__.pop("settings", None)
    logging.config.dictConfig(django_settings.LOGGING)


_read_settings_again()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--budget NAME`: print what the tests cost, and fail above the budget of that name in house.toml."""
    parser.addoption("--budget", choices=sorted(costs.HOUSE["cpu_minutes"]), help=pytest_addoption.__doc__)


def pytest_configure(config: pytest.Config) -> None:
    """Keep a run of the fast tests fast, and what finalizers raise out of the tests that it has nothing to do with."""
    config.pluginmanager.register(costs.Costs(config), "costs")
    # Warnings are errors, also of a socket that the collector closes: printed, they would stand in the output of some
    # later test; formatted, they end it, because Python 3.11 parses source for a traceback and cannot do that within
    # another parse (SystemError).
    sys.unraisablehook = lambda unraisable: None
    if config.getoption("markexpr") == "fast":
        fast.skip_programs()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Mark fast and whole tests before `-m` chooses by the markers, and put files with the longest tests first.

    A worker would else be left alone with them. The plugin that shuffles files runs in between.
    """
    for item in items:
        if fast.is_fast(item):
            item.add_marker("fast")
        if isinstance(item, pytest.Function) and hypothesis.is_hypothesis_test(item.obj):  # its marker comes later
            item.add_marker("whole")
    yield
    longest: dict[str, float] = {}
    for item in items:
        marker = item.get_closest_marker("timeout")
        longest[item.location[0]] = max(longest.get(item.location[0], 0), *(marker.args if marker else ()), 0)
    items.sort(key=lambda item: -longest[item.location[0]])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """One sentence instead of many strange failures where no sandbox can be made, as in most containers."""
    if item.get_closest_marker("bubblewrap") and (problem := bubblewrap_problem()):
        missing(problem)


@pytest.fixture(scope="session", autouse=True)
def _clearable_tables() -> Iterator[None]:
    """Let Django's flush empty the insert-only tables after a test with real transactions; guarded again at once."""
    from projects.models.insert_only import create_statements, drop_statements
    from tests.rows import run_statements

    original = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]

    def teardown(self: Any) -> None:
        connection = connections["default"]
        run_statements(connection, drop_statements(connection.vendor))
        try:
            original(self)
        finally:
            run_statements(connection, create_statements(connection.vendor))

    TransactionTestCase._fixture_teardown = teardown  # type: ignore[attr-defined]
    yield
    TransactionTestCase._fixture_teardown = original  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _fast_passwords(settings: Any) -> None:
    """Argon2 takes its time on purpose; tests need not."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def enqueued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[Any, ...]]]:
    """Jobs sent by name, in order, instead of being handed to a broker. They are sent after the commit."""
    from projects.workers import queue

    sent: list[tuple[str, tuple[Any, ...]]] = []
    monkeypatch.setattr(queue, "send", lambda name, args: sent.append((name, args)))
    return sent


@pytest.fixture
def recordings(settings: Any) -> Iterator[None]:
    """Recordings answer without delay; the servers that play them end with the test."""
    from projects.engine import model_clients

    settings.DEMO_TOKENS_PER_S = 0
    yield
    for server in model_clients._servers.values():
        server.stop()
    model_clients._servers.clear()


@pytest.fixture
def jobs_home(settings: Any, tmp_path: Any, recordings: None) -> Iterator[None]:
    """A home of the test's own for the real jobs, with a memory that is closed at the end."""
    from projects.engine import building

    settings.AISWE_HOME = tmp_path / "home"
    building.lessons.cache_clear()
    yield
    building.lessons().close()
    building.lessons.cache_clear()


@pytest.fixture
def quiet_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of a sandbox one that runs nothing and finds a right sum right, for benches and for jobs."""
    from tests.faults.stage import QuietBackend, quiet_pytest

    backend = QuietBackend()
    for opener in ("tests.agents.engine.nodes.support", "projects.engine.building"):
        monkeypatch.setattr(f"{opener}.open_backend", lambda name: backend)
    monkeypatch.setattr("agents.languages.python.language.run_pytest", quiet_pytest)


@pytest.fixture
def unguarded() -> Iterator[None]:
    """The insert-only tables without their triggers, as somebody who owns the database could make them."""
    from projects.models.insert_only import create_statements, drop_statements
    from tests.rows import run_statements

    connection = connections["default"]
    run_statements(connection, drop_statements(connection.vendor))
    yield
    run_statements(connection, create_statements(connection.vendor))
