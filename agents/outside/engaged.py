"""The agent that a task is given to, and its conversation for as long as that lasts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agents.outside.session import AgentGone, AgentSession
from agents.outside.table import OutsideAgent
from sandbox.base import PackageSet, SandboxError, SandboxLimits
from sandbox.companion import Companion

PROCESSES, DISK_MB = 256, 1_024


class Engaged:
    """One agent for one task: each approach is a conversation of its own, repairs go on in it."""

    def __init__(self, agent: OutsideAgent, label: str) -> None:
        self.agent, self._label = agent, label
        self._session: AgentSession | None = None

    def session(
        self,
        files: Path,
        stopped: Callable[[], bool],
        *,
        anew: bool = False,
        packages: Callable[[], PackageSet | None] = lambda: None,
    ) -> AgentSession:
        """The conversation, begun where there is none, with exactly these files in its workspace.

        What it runs by itself finds the `packages` that there were when it began.

        Raises AgentGone, Interrupted and SandboxError.
        """
        if self._session is not None and (anew or not self._session.open):
            self.close()
        if self._session is None:
            limits = SandboxLimits(memory_mb=self.agent.memory_mb, processes=PROCESSES, disk_mb=DISK_MB)
            try:
                companion = Companion(self.agent.folders, limits, self._label, packages())
            except SandboxError as problem:
                raise AgentGone(f"is not started, since only a bubblewrap sandbox may hold it: {problem}") from None
            begun = AgentSession(self.agent, companion)
            try:
                begun.companion.sandbox.mirror(files)
                begun.begin(stopped)
            except BaseException:
                begun.close()
                raise
            self._session = begun
        else:
            self._session.companion.sandbox.mirror(files)
        return self._session

    def close(self) -> None:
        """End the conversation and the agent's processes."""
        if self._session is not None:
            self._session.close()
            self._session = None
