"""The real site with a story in it, in a process of its own: `python -m tests.e2e.serve PORT`.

Commands come as JSON lines on stdin and are answered on stdout, so that a test can make events happen in the process
that serves them. It stops when stdin ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from tests.e2e import deliveries, happenings, scenes, states, talks


def main() -> None:
    """Migrate, build the story once, serve until stdin ends."""
    import daphne.server  # installs the asyncio reactor; before anything else that knows Twisted

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aiswe_site.settings")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)

    from channels.layers import get_channel_layer
    from twisted.internet import reactor

    from aiswe_site.asgi import application
    from projects.services.accounts import console_token
    from projects.services.installation import health
    from projects.workers import queue

    queue.send = lambda name, args: None  # nothing runs jobs here
    console_token.bind("127.0.0.1")
    health.register(
        lambda awaited=None: [
            {"name": "Database", "ok": True, "detail": "SQLite, WAL", "hint": "", "seconds": 0.01},
            {"name": "Ollama", "ok": False, "detail": "nobody answers", "hint": "ollama serve", "seconds": 2.0},
            {"name": "Docker", "ok": None, "detail": "not asked for", "hint": "", "seconds": 0.0},
        ]
    )
    layer = get_channel_layer()
    reactor.callWhenRunning(lambda: layer.bind(daphne.server.twisted_loop))
    reactor.callWhenRunning(lambda: threading.Thread(target=listen, daemon=True).start())
    daphne.server.Server(
        application,
        endpoints=[f"tcp:{sys.argv[1]}:interface=127.0.0.1"],
        signal_handlers=False,
        server_name="",
        verbosity=0,
    ).run()


def listen() -> None:
    """Answer commands until there are no more."""
    orders = vars(scenes) | vars(happenings) | vars(states) | vars(talks) | vars(deliveries)
    answer({"ready": True})
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer(orders[f"do_{order.pop('do')}"](**order) or {})
        except Exception as problem:
            answer({"error": f"{type(problem).__name__}: {problem}"})
    os._exit(0)


def answer(what: dict[str, Any]) -> None:
    """One JSON line on stdout."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
