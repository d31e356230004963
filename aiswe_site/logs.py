"""How log lines look: one line for people on stderr, the whole trace in a file. Neither steers a terminal or
holds a secret.

Messages carry words of strangers (addresses, file names, errors of tools): a line break in them would forge a line of
the log, an escape code would move the cursor of whoever reads it.
"""

from __future__ import annotations

import logging
from typing import Any

from agents.secrets.redaction import redact


def tame(text: str, *, kept: str = "") -> str:
    """The text with every character that is not plainly visible written as its code, except those in `kept`."""
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


class OneLineFormatter(logging.Formatter):
    """Says what failed without the trace, which is kept in AISWE_HOME/logs/aiswe.log."""

    def format(self, record: logging.LogRecord) -> str:
        """The record in one line; an exception is named, not unrolled."""
        line = f"{self.formatTime(record)} {record.levelname} {record.name}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line += f" ({type(error).__name__}: {error}; more in logs/aiswe.log)"
        return tame(str(redact(line)).replace("\n", " "))


class WholeFormatter(logging.Formatter):
    """The message on one line, then the trace. Its lines are indented, so that none passes for a line of the log."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line of the message."""
        return tame(str(redact(super().formatMessage(record))))

    def formatException(self, ei: Any) -> str:
        """The trace, indented and without control characters."""
        trace = str(redact(super().formatException(ei)))
        return "\n".join("    " + tame(line, kept="\t") for line in trace.split("\n"))
