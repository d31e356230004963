"""The thread of the server that gives the demo's answers; it also takes up demos that a crash interrupted."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from django.db import close_old_connections

from aiswe_site.demo import story
from projects.errors import ProjectsError

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from projects.models import Run

log = logging.getLogger("aiswe.demo")
LOOK_S = 0.3


class DemoPlayer:
    """Sleeps while no demo waits for an answer."""

    def __init__(self) -> None:
        self._wanted = threading.Event()
        self._wanted.set()  # a demo may have been interrupted
        self._pause = threading.Event()
        threading.Thread(target=self._play, name="demo", daemon=True).start()

    def begin(self, viewer: User) -> Run:
        """Start a demo for the person who pressed the button."""
        run = story.begin(viewer)
        self.look()
        return run

    def look(self) -> None:
        """Look for demos that wait."""
        self._wanted.set()

    def _play(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            while self._answer():
                self._pause.wait(LOOK_S)

    def _answer(self) -> bool:
        """Answer what waits; True while there are demos that will wait again."""
        close_old_connections()
        try:
            waiting = story.open_demos()
            for planning in waiting:
                try:
                    story.advance(planning)
                except ProjectsError as refusal:
                    log.info("demo run %s: %s", planning.pk, refusal)
            return bool(waiting)
        except Exception:
            log.exception("the demo cannot continue")
            return True
        finally:
            close_old_connections()
