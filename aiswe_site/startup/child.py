"""The child: web server in the main thread, job worker and clock in threads of their own.

Started by the supervisor, never by hand. Threads and not processes, because the queue and the doorbell live in memory;
the truth lies in the database, so what dies here is found again at the next start.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import os
import signal
import socket
import sys
import threading
from typing import Any

from aiswe_site.startup import django
from aiswe_site.startup.embedded import EmbeddedWorker
from aiswe_site.startup.home import note
from aiswe_site.startup.supervisor import CANNOT_START

log = logging.getLogger("aiswe.child")
STOP_GRACE_S = 10.0


def main() -> int:
    """Serve until SIGTERM. Exit code 78: starting again would not help."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--listen-fd", "--life-fd", "--ready-fd"):
        parser.add_argument(name, type=int, required=True)
    options = parser.parse_args()
    threading.Thread(target=follow_parent, args=(options.life_fd,), name="lifeline", daemon=True).start()
    try:
        # Daphne's module installs the asyncio reactor; it must come before anything else that knows Twisted.
        server_module = importlib.import_module("daphne.server")
        django.start()
        worker = start_worker()
    except Exception as error:  # noqa: BLE001  whatever it is, a restart would meet it again
        place = note(error)
        print(f"aiswe: cannot start: {type(error).__name__}: {error}\n  details: {place}", file=sys.stderr)  # noqa: T201
        return CANNOT_START
    recover()
    register()
    offer_setup(options.listen_fd)
    threading.Thread(target=ready_sandboxes, name="ready-sandboxes", daemon=True).start()
    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    try:
        serve(server_module, options.listen_fd, options.ready_fd)
    finally:
        warm = worker.stop(STOP_GRACE_S)
    if not warm:
        # A thread cannot be killed; its step is repeated at the next start.
        logging.shutdown()
        os._exit(0)
    return 0


def start_worker() -> EmbeddedWorker:
    """The job worker of this process, already taking jobs."""
    from django.conf import settings
    from django.utils.module_loading import import_string

    worker = EmbeddedWorker(import_string(settings.JOB_QUEUE), concurrency=settings.WORKER_CONCURRENCY)
    worker.start()
    return worker


def register() -> None:
    """Offer the pages what only this process can give: the demo, which needs the thread that gives its answers."""
    from aiswe_site.demo.player import DemoPlayer
    from projects.services.work import demo

    demo.register(DemoPlayer().begin)


def offer_setup(listen_fd: int) -> None:
    """Say where this listens and, while there is no administrator, print the token that makes the first one."""
    from projects.services.accounts import console_token, users

    with socket.socket(fileno=os.dup(listen_fd)) as listener:
        console_token.bind(str(listener.getsockname()[0]))
    if users.needs_first_admin():
        token = console_token.issue(console_token.SETUP)
        where = "; not asked for on this machine itself" if console_token.is_bound_to_loopback() else ""
        print(f"Set-up token (makes the first administrator, once{where}): {token}", file=sys.stderr)  # noqa: T201


def warm_up() -> None:
    """Load what the first task would wait for: the vector store and the model client take seconds to import."""
    with contextlib.suppress(Exception):  # whatever is wrong with them is said where they are used
        from agents.llm.registry import DEFAULT_PROVIDER, PROVIDERS
        from projects.engine import building, model_clients

        model_clients.runner()
        PROVIDERS[DEFAULT_PROVIDER].load()
        building.lessons().by_signature("warm-up")


def ready_sandboxes() -> None:
    """Look after what dead workers left in sandboxes, have the image made and the next ones ready.

    Says when none can be trusted.
    """
    from projects.engine import sandboxes
    from sandbox.base import SandboxError, SandboxPreparing

    try:
        sandboxes.tidy()
        if progress := sandboxes.tend_image():
            log.warning("the sandbox image for Docker is being made (%s): aiswe doctor, or the page System", progress)
        sandboxes.keep_ready()
    except SandboxPreparing:
        log.warning("tasks wait until it is ready, because there is no other sandbox")
    except SandboxError as error:
        log.error("tasks wait, because %s", error)


def recover() -> None:
    """Take up again what a dead worker left; the sweep does the same later should this fail."""
    try:
        importlib.import_module("projects.jobs.upkeep").sweep()
    except Exception as error:  # noqa: BLE001  pages must be served even then
        log.error("recovery at start-up failed (%s); the sweep will try again; details: %s", error, note(error))


def serve(server_module: Any, listen_fd: int, ready_fd: int) -> None:
    """Run Daphne on the parent's socket until SIGTERM or SIGINT."""
    from channels.layers import get_channel_layer
    from channels.routing import get_default_application
    from twisted.internet import reactor

    from aiswe_site.startup.channel_layer import ThreadBridgeLayer

    def ready() -> None:
        os.write(ready_fd, b"r")
        os.close(ready_fd)

    layer = get_channel_layer()
    if isinstance(layer, ThreadBridgeLayer):
        reactor.callWhenRunning(lambda: layer.bind(server_module.twisted_loop))
    reactor.callWhenRunning(ready)
    server_module.Server(
        get_default_application(),
        endpoints=[f"fd:fileno={listen_fd}"],
        signal_handlers=True,
        application_close_timeout=5,
        websocket_handshake_timeout=60,  # tabs that come back together are let in one after the other
        server_name="",
    ).run()


def follow_parent(life_fd: int) -> None:
    """A byte from the parent means that there is work in the database; the end of the pipe that the parent is gone."""
    with contextlib.suppress(OSError):
        while os.read(life_fd, 1):
            look_for_work()
    os.kill(os.getpid(), signal.SIGTERM)


def look_for_work() -> None:
    """Run the sweep now instead of at its next turn."""
    from projects.workers.queue import send

    send("projects.jobs.sweep", ())


if __name__ == "__main__":
    sys.exit(main())
