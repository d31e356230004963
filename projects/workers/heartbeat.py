"""Keeping a lease while the work lasts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DatabaseError, connection

from projects.errors import ProjectsError

log = logging.getLogger("aiswe.jobs")


@contextmanager
def heartbeat(renew: Callable[[], None]) -> Iterator[None]:
    """Renew a lease from a thread of its own while the work lasts; ends by itself when the lease is lost."""
    done = threading.Event()

    def beat() -> None:
        try:
            while not done.wait(settings.LEASE_SECONDS / 3):
                try:
                    renew()
                except DatabaseError as trouble:
                    # The next beat may get through; giving up here would hand live work to a second worker.
                    log.warning("lease not renewed: %s", trouble)
                    connection.close()
        except ProjectsError as lost:
            log.warning("lease lost: %s", lost)
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(5)
