"""Semgrep's engine, started before the scan that it is for.

Starting the engine and reading the rules takes longer than scanning a change. An engine is therefore started when the
scan before has ended: it reads the rules, then waits for the last of them on its standard input, and gets none when the
files are there. Each engine scans once and ends. Nothing of one scan reaches another, scans at the same time never
share an engine, and the answer is that of an engine started for this scan. When this process ends, however it does, so
does its end of the pipe, and with it the engine.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agents.gates.program import MAX_OUTPUT, end_group, killed_at

IDLE_SECONDS = 600.0  # a waiting engine holds about 130 MB
# A file on which one rule takes so long blocks; its other rules would use up the time of all files.
RULE_SECONDS = 15
_OPTIONS = "-json_nodots -j 1 -timeout_threshold 1 -timeout"
# The folder is removed with the engine, also when this process was killed.
_SHELL = '"$@"; code=$?; rm -rf -- "$HOME"; exit $code'


def find_engine(program: Path) -> Path | None:
    """The engine in the environment of the command `semgrep`; None where it is laid out in another way."""
    environment = program.resolve().parent.parent
    found = sorted(environment.glob("lib/python3*/site-packages/semgrep/bin/semgrep-core"))
    return found[0] if found and os.access(found[0], os.X_OK) else None


class SemgrepEngine:
    """One process of the engine, which has read or is reading its rules."""

    def __init__(self, program: Path, rules: str) -> None:
        self.serves = _identity(program, rules)
        self.folder = Path(tempfile.mkdtemp(prefix="aiswe-engine-"))
        (self.folder / "rules.json").write_text(rules, encoding="utf-8")
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by let_go
        files = "-rules rules.json -rules /dev/stdin -targets targets.json"
        try:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", _SHELL, "sh", str(program), *_OPTIONS.split(), str(RULE_SECONDS), *files.split()],
                cwd=self.folder,
                env={"PATH": os.defpath, "HOME": str(self.folder), "TMPDIR": str(self.folder), "LANG": "C.UTF-8"},
                stdin=subprocess.PIPE,
                stdout=self._output,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            self._output.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def scan(self, targets: Sequence[object], deadline: float) -> bytes | None:
        """The answer about the targets, or None when the engine failed; it cannot be used again.

        Raises TimeoutError at the deadline, a `time.monotonic()` moment.
        """
        try:
            # Without its folder the engine is dead already.
            with killed_at(self.process, deadline), suppress(FileNotFoundError):
                (self.folder / "targets.json").write_text(json.dumps(["Targets", targets]), encoding="utf-8")
                self.process.communicate(b'{"rules": []}')
            self._output.seek(0)
            answer = self._output.read(MAX_OUTPUT + 1)
        finally:
            self.end()
        return answer if self.process.returncode == 0 and len(answer) <= MAX_OUTPUT else None

    def end(self) -> None:
        """Kill the engine if it still runs, and remove its folder."""
        if self.process.poll() is None:
            end_group(self.process)
        self.let_go()
        shutil.rmtree(self.folder, ignore_errors=True)

    def let_go(self) -> None:
        """Close what connects this process with the engine."""
        self._output.close()
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()


class _Spare:
    """The engine that waits for the next scan: one for the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: tuple[SemgrepEngine, threading.Timer] | None = None

    def swap(self, engine: SemgrepEngine | None) -> SemgrepEngine | None:
        """Keep this engine, and give back the one that was kept."""
        timer = threading.Timer(IDLE_SECONDS, self.retire, [engine])
        timer.daemon = True
        with self._lock:
            before, self._held = self._held, (engine, timer) if engine else None
        if engine:
            timer.start()
        if before:
            before[1].cancel()
        return before[0] if before else None

    def retire(self, engine: SemgrepEngine | None = None) -> None:
        """End the engine that waits, or only this one."""
        with self._lock:
            if not self._held or engine not in (None, self._held[0]):
                return
            (held, timer), self._held = self._held, None
        timer.cancel()
        held.end()

    def forget(self) -> None:
        """In a forked child: the engine belongs to the parent, and must see the parent's end of the pipe close."""
        self._lock = threading.Lock()
        if self._held:
            self._held[0].let_go()
            self._held[0].process.returncode = 0  # no child of this process: not to be waited for
            self._held = None


_spare = _Spare()
retire = _spare.retire
atexit.register(retire)
os.register_at_fork(after_in_child=_spare.forget)


def scan(program: Path, rules: str, targets: Sequence[object], deadline: float) -> bytes | None:
    """Scan with the engine that waits if it has these rules, else with one that is started now.

    None: the engine failed. Raises TimeoutError, and OSError when it does not start.
    """
    engine = _spare.swap(None)
    if engine and (engine.process.poll() is not None or engine.serves != _identity(program, rules)):
        engine.end()
        engine = None
    answer = (engine or SemgrepEngine(program, rules)).scan(targets, deadline)
    if answer is not None:
        with suppress(OSError):  # nothing is lost: the next scan starts its own
            surplus = _spare.swap(SemgrepEngine(program, rules))
            if surplus:
                surplus.end()
    return answer


def _identity(program: Path, rules: str) -> tuple[object, ...]:
    """What decides on an engine's answers besides the files."""
    status = program.stat()
    return program, status.st_ino, status.st_size, status.st_mtime_ns, rules
