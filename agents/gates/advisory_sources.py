"""Who says whether a package is known to be vulnerable: OSV files, the package index, and a snapshot that comes along.

The files that `AISWE_ADVISORIES` names answer for the ecosystems of which they hold records, the index for the rest.
The snapshot knows a few old weaknesses of common packages: what it finds counts, but its silence proves nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from agents.gates.advisories import Advisory, Index, load_index, package_key, read_record
from agents.gates.base import Policy
from agents.gates.pins import Pin
from sandbox.package_index.allowlist import NODE, PYTHON, load, plain
from sandbox.package_index.errors import IndexUnavailable
from sandbox.package_index.index import IndexClient, npm_registry, python_index
from sandbox.package_index.published import Published, npm_advisories, npm_licence, python_release

SNAPSHOT = Path(__file__).with_name("snapshot.json")
FRESH_SECONDS, USABLE_SECONDS = 24 * 3600.0, 14 * 24 * 3600.0
_ASK_SECONDS, _AWAY_SECONDS, _AT_ONCE = 10.0, 60.0, 8
_LISTS = {"PyPI": PYTHON, "npm": NODE}
_Answered = TypeVar("_Answered")
_away: dict[str, tuple[float, str]] = {}  # index that did not answer → when to ask again, and why


@dataclass(frozen=True, slots=True)
class PackageStatus:
    """What is known of one pin. `problem` says why nobody could tell whether it is vulnerable."""

    advisories: tuple[Advisory, ...] = ()
    licence: str = ""
    problem: str = ""
    days_old: int = 0


@lru_cache(maxsize=2)  # the snapshot, and what is configured now
def _files(place: str, stamp: int) -> Index:
    return load_index(Path(place))


def osv_files() -> Index:
    """The records that `AISWE_ADVISORIES` names; empty without it. Raises AdvisoryError."""
    place = os.environ.get("AISWE_ADVISORIES", "").strip()
    try:
        stamp = Path(place).stat().st_mtime_ns
    except OSError:
        stamp = 0
    return _files(place, stamp) if place else {}


def in_snapshot(pin: Pin) -> list[Advisory]:
    """What the snapshot that comes along knows of a version."""
    known = _files(str(SNAPSHOT), 0).get(package_key(pin.ecosystem, pin.name), ())
    return [one for one in known if one.affects(pin.version)]


def look_up(
    pins: Iterable[Pin], policy: Policy, deadline: float, *, licences: bool = False
) -> dict[Pin, PackageStatus]:
    """What the sources say about each pin; `licences` asks the index for those that no file states.

    Raises AdvisoryError when a configured file cannot be read, and SandboxError for a broken list of indexes.
    """
    files = osv_files()
    covered = {ecosystem for ecosystem, _ in files}
    known = list(dict.fromkeys(pins))
    wanted = [pin for pin in known if pin.ecosystem not in covered or (licences and not pin.licence)]
    asked = _Indexes(policy, deadline, licences).ask(wanted) if wanted else {}
    found = {}
    for pin in known:
        said, problem, age = asked.get(pin, (None, "", 0.0))
        filed = files.get(package_key(pin.ecosystem, pin.name), ())
        published = [one for record in (said.records if said else ()) for _, one in read_record(record)]
        merged: list[Advisory] = []
        for one in [*filed, *published, *in_snapshot(pin)]:
            if one.affects(pin.version) and not any(one.numbers & other.numbers for other in merged):
                merged.append(one)
        licence = pin.licence or (said.licence if said else "")
        found[pin] = PackageStatus(
            tuple(merged), licence, "" if pin.ecosystem in covered else problem, int(age // 86_400)
        )
    return found


_Said = tuple[Published | None, str, float]  # what an index said, else why it did not; how many seconds ago


class _Indexes:
    """One round of questions to the package indexes, through the answers that are kept."""

    def __init__(self, policy: Policy, deadline: float, licences: bool) -> None:
        self._deadline, self._licences, self._kept = deadline, licences, policy.answers
        more = [Path(file).expanduser() for file in (os.environ.get("AISWE_PACKAGES_FILE", "").strip(),) if file]
        self._lists = {kind: load(name, *more, *policy.package_lists) for kind, name in _LISTS.items()}
        self._clients: dict[str, IndexClient] = {}
        self._lock = threading.Lock()

    def ask(self, pins: Sequence[Pin]) -> dict[Pin, _Said]:
        """What is kept where it is fresh enough, else what the indexes say now; a kept answer helps out."""
        found = {pin: kept for pin in pins if (kept := self._read(pin)) is not None}
        missing = [pin for pin in pins if pin not in found or found[pin][2] > FRESH_SECONDS]
        by_index: dict[IndexClient, list[Pin]] = {}
        for pin in missing:
            if pin.ecosystem == "npm":
                by_index.setdefault(self._index_of(pin), []).append(pin)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            rounds = [*pool.map(self._python, [pin for pin in missing if pin.ecosystem == "PyPI"])]
            rounds += [*pool.map(self._npm, by_index, by_index.values())]
        for pin, said in (item for one in rounds for item in one.items()):
            if isinstance(said, Published):
                self._keep(pin, said)
                found[pin] = (said, "", 0.0)
            else:
                found.setdefault(pin, (None, said, 0.0))
        return found

    def _index_of(self, pin: Pin) -> IndexClient:
        """The one index that may hear this name: a reserved name is never told to another."""
        reserved = self._lists[pin.ecosystem].index_for(plain(pin.name, _LISTS[pin.ecosystem]))
        address = reserved or (python_index() if pin.ecosystem == "PyPI" else npm_registry())
        with self._lock:
            return self._clients.setdefault(address, IndexClient(address, _ASK_SECONDS))

    def _ask(self, index: IndexClient, question: Callable[[], _Answered]) -> _Answered:
        """Raises IndexUnavailable; an index that was away is left alone for a while."""
        until, why = _away.get(index.address, (0.0, ""))
        if time.monotonic() < until:
            raise IndexUnavailable(why)
        if time.monotonic() > self._deadline:
            raise IndexUnavailable(f"{index.address} took too long")
        try:
            return question()
        except IndexUnavailable as error:
            _away[index.address] = (time.monotonic() + _AWAY_SECONDS, str(error))
            raise

    def _python(self, pin: Pin) -> dict[Pin, Published | str]:
        index = self._index_of(pin)
        try:
            said = self._ask(index, lambda: python_release(index, pin.name, pin.version))
        except IndexUnavailable as error:
            return {pin: str(error)}
        return {pin: said or f"{index.address} offers no advisories for it"}

    def _npm(self, index: IndexClient, pins: Sequence[Pin]) -> dict[Pin, Published | str]:
        wanted: dict[str, list[str]] = {}
        for pin in pins:
            wanted.setdefault(pin.name, []).append(pin.version)
        try:
            said = self._ask(index, lambda: npm_advisories(index, wanted))
        except IndexUnavailable as error:
            return dict.fromkeys(pins, str(error))
        if said is None:
            return dict.fromkeys(pins, f"{index.address} offers no advisories")
        return {pin: Published(said[pin.name].records, self._licence(index, pin)) for pin in pins}

    def _licence(self, index: IndexClient, pin: Pin) -> str:
        if not self._licences or pin.licence:
            return pin.licence
        try:
            return self._ask(index, lambda: npm_licence(index, pin.name, pin.version))
        except IndexUnavailable:
            return ""

    def _file(self, pin: Pin) -> Path | None:
        more = self._licences and pin.ecosystem == "npm"  # PyPI tells licences with everything else
        key = f"{pin.ecosystem} {pin.name} {pin.version} {self._index_of(pin).address} {more}"
        return self._kept and self._kept / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _read(self, pin: Pin) -> _Said | None:
        file = self._file(pin)
        try:
            kept = json.loads(file.read_text("utf-8")) if file else {}
            age = time.time() - kept["time"]
            return (Published(tuple(kept["records"]), kept["licence"]), "", age) if 0 <= age < USABLE_SECONDS else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _keep(self, pin: Pin, said: Published) -> None:
        file = self._file(pin)
        if file is None:
            return
        scratch = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}.new")
        with suppress(OSError):  # it is asked again then
            file.parent.mkdir(parents=True, exist_ok=True)
            scratch.write_text(json.dumps({**asdict(said), "time": time.time()}), "utf-8")
            scratch.replace(file)
