"""Play a scenario from the command line: `python -m agents.llm.scripted_server --scenario DIR --port P`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from agents.llm.scripted_server.scenario import ScenarioError
from agents.llm.scripted_server.server import ScriptedOllama


def main(argv: list[str] | None = None) -> int:
    """Serve until interrupted; the first line on stdout is the server's address."""
    parser = argparse.ArgumentParser(
        prog="scripted_server", description="Plays a recorded model over Ollama's protocol."
    )
    parser.add_argument("--scenario", type=Path, required=True, help="folder with scenario.toml and the replies")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--tokens-per-s", type=float, default=60.0, help="writing speed; 0 is as fast as possible")
    parser.add_argument("--prefill-per-s", type=float, default=0.0, help="reading speed; 0 is as fast as possible")
    parser.add_argument("--parallel", type=int, default=1, help="calls answered at the same time")
    options = parser.parse_args(argv)
    try:
        server = ScriptedOllama(
            options.scenario,
            tokens_per_s=options.tokens_per_s,
            prefill_per_s=options.prefill_per_s,
            parallel=options.parallel,
            port=options.port,
        )
        server.start()
    except (ScenarioError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 3
    done = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: done.set())
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    done.wait()
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
