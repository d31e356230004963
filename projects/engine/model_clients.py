"""The model a project is built with: the configured server, or a recording played by a server of our own."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import cache

from django.conf import settings

from agents.events.effects import SystemNotice
from agents.events.log import EventLog
from agents.firewall.guard import Guard, ModelGuard
from agents.firewall.leaks.replies import canary_for
from agents.llm.base import LLMError, Provider, Timeouts
from agents.llm.registry import DEFAULT_PROVIDER, make_provider
from agents.llm.runner import ModelRunner
from agents.llm.scripted_server.server import ScriptedOllama
from projects.engine.choice import catalog, outside_hosts, provider_of
from projects.models import Project, Run
from projects.models.project import RECORDING
from projects.storage.paths import scenario_path

RECORDED_PARALLEL = 3  # calls that a recording answers at a time
_lock = threading.Lock()
_servers: dict[str, ScriptedOllama] = {}


@cache
def runner() -> ModelRunner:
    """One background loop for all model calls of this process."""
    return ModelRunner(parallel=parallel)


def parallel(server: str) -> int:
    """How many calls a server answers at a time: a recording's own number, the catalog's, else the configured one."""
    if any(recorded.url == server for recorded in list(_servers.values())):
        return RECORDED_PARALLEL
    with suppress(LLMError):  # a choice that cannot be read is reported where it is made
        for known in catalog().servers.values():
            if known.parallel is not None and known.url.rstrip("/") == server:
                return known.parallel
    return max(1, int(settings.MODEL_PARALLEL))


def recording(name: str) -> ScriptedOllama:
    """The server that plays this recording; started on first use, ends with the process.

    Raises ScenarioError for a folder that is no recording.
    """
    with _lock:
        if name not in _servers:
            server = ScriptedOllama(
                scenario_path(name), tokens_per_s=settings.DEMO_TOKENS_PER_S, parallel=RECORDED_PARALLEL
            )
            server.start()
            _servers[name] = server
        return _servers[name]


def provider_for(project: Project, persona: str = "coder") -> Provider:
    """The provider of a persona of a project; raises agents.llm.base.LLMError or ScenarioError for one that cannot be
    made.
    """
    if project.is_recording:
        server = recording(project.model_name.removeprefix(RECORDING))
        return make_provider("scripted", server=server.url, model=server.scenario.model, window=settings.MODEL_WINDOW)
    return provider_of(project.model, persona)


def announce(run: Run, event_log: EventLog) -> None:
    """Say on the record, once a run, that its conversations may leave this machine."""
    if run.project.is_recording:
        return
    hosts = outside_hosts(run.project.model)
    if hosts:
        event_log.emit(
            SystemNotice(
                summary=f"Data leaves this machine: models at {', '.join(hosts)} may be asked",
                text="The choice of models names servers outside of this machine.",
                details={"servers": hosts},
            ),
            key="models/outside",
        )


def label(run: Run) -> None:
    """Call the run a recording if its next words are one; the setting may have changed since the run was made."""
    if run.project.is_recording and not run.recording:
        Run.objects.filter(pk=run.pk).update(recording=True)
        run.recording = True


def canary_of(run: Run) -> str:
    """The token planted in the prompts of a run; nobody can tell it without the installation's own key."""
    return canary_for(str(run.pk), settings.SECRET_KEY.encode())


def guard() -> Guard | None:
    """The guard model of the firewall, when one is configured."""
    if not settings.GUARD_MODEL:
        return None
    provider = make_provider(
        DEFAULT_PROVIDER,
        server=settings.MODEL_URLS[DEFAULT_PROVIDER],
        model=settings.GUARD_MODEL,
        window=settings.MODEL_WINDOW,
        timeouts=Timeouts(connect=2.0, first_token=30.0, idle=20.0, total=60.0),
    )
    return ModelGuard(runner(), provider)
