"""How log lines look: one line for people on stderr, the whole trace in a file."""

from __future__ import annotations

import logging


class OneLineFormatter(logging.Formatter):
    """Says what failed without the trace, which is kept in AISWE_HOME/logs/aiswe.log."""

    def format(self, record: logging.LogRecord) -> str:
        """The record in one line; an exception is named, not unrolled."""
        line = f"{self.formatTime(record)} {record.levelname} {record.name}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line += f" ({type(error).__name__}: {error}; more in logs/aiswe.log)"
        return line.replace("\n", " ")
