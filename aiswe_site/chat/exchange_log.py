"""The log of exchanges: a line of JSON each, with the names that the requirements give its fields."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from agents.secrets.redaction import redact

FILE = "aide_log.jsonl"  # the name that the requirements give it, in the data folder


def append(file: Path, prompt: str, response: str) -> None:
    """Add an exchange; secrets are taken out of both texts. Raises OSError."""
    row = {
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "prompt_text": str(redact(prompt)),
        "response_text": str(redact(response)),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as log:
        log.write(json.dumps(row, ensure_ascii=False) + "\n")
