"""Reads one file of the sandbox: `main FORMAT` turns the file `document` into `reading.json`, whatever is in it."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

from agents.requirements.readers.inside.markdown import Unreadable

HERE = "agents.requirements.readers.inside"
PACKAGES = Path(sys.prefix) / "readers"  # beside those that generated code may import


def main(kind: str) -> None:
    try:
        answer = import_module(f"{HERE}.{kind}").read(Path("document").read_bytes())
    except Unreadable as refusal:
        answer = {"refused": refusal.reason, "hint": refusal.hint}
    except ImportError as missing:
        answer = {"refused": f"The sandbox has no {missing.name}.", "hint": "`make install` brings it."}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  what is damaged breaks libraries in more ways than they name
        answer = {
            "refused": f"It is damaged, or not {kind.upper()} at all ({type(error).__name__}).",
            "hint": "Open it where it was made and save it again.",
        }
    Path("reading.json").write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    sys.path.append(str(PACKAGES))
    main(sys.argv[1])
