"""Judging one requirement: a name with versions, of Python (`requests>=2`) or of npm (`npm:express@^4`)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from sandbox.package_index.allowlist import NODE, PYTHON, AllowList
from sandbox.package_index.typosquat import Alike, look_alikes

LOCK = Path(__file__).resolve().parents[2] / "requirements" / "sandbox.lock.txt"
NPM = "npm:"
MAX_LINE = 500
MAX_NAME = 120  # a question names it whole
NPM_NAME = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")
NPM_RANGE = re.compile(r"[0-9A-Za-z.^~<>=|*+ -]{1,100}")
BUILTIN = frozenset(
    (
        "assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain "
        "events fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl "
        "stream string_decoder sys test timers tls trace_events tty url util v8 vm wasi worker_threads zlib"
    ).split()
)
ONLY_NAMES = "addresses and files are not allowed: only a package's name, with versions"


class Judgement(StrEnum):
    """What is to be done with a requirement."""

    ALLOWED = "allowed"
    NEEDS_APPROVAL = "needs_approval"
    REFUSED = "refused"


@dataclass(frozen=True)
class NameVerdict:
    """The judgement of one requirement, with the reason and the well-known names that it resembles."""

    judgement: Judgement
    name: str  # as a question names it: `npm:` before a name of npm
    reason: str
    look_alikes: tuple[str, ...] = ()
    ecosystem: str = PYTHON

    @property
    def allowed(self) -> bool:
        """True when nobody needs to be asked."""
        return self.judgement is Judgement.ALLOWED


def base_packages(lock: Path = LOCK) -> dict[str, str]:
    """What the sandbox's own environment holds: normalised name to version."""
    with contextlib.suppress(OSError):
        lines = [line.rstrip("\\ ") for line in lock.read_text().splitlines() if "==" in line and line[0].isalnum()]
        pins = [pin for pin in map(Requirement, lines) if pin.marker is None or pin.marker.evaluate()]
        return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}
    return {}


def is_npm(requirement: str) -> bool:
    """Whether a requirement is one of npm's."""
    return requirement.lstrip().startswith(NPM)


def npm_parts(requirement: str) -> tuple[str, str]:
    """Name and range of an npm requirement, with or without `npm:`; "*" when it names no range."""
    text = requirement.strip().removeprefix(NPM)
    name, _, versions = text[1:].partition("@") if text.startswith("@") else text.partition("@")
    return ("@" + name if text.startswith("@") else name).strip(), versions.strip() or "*"


def plain_name(line: str) -> str:
    """The normalised name of a requirement, as questions name it."""
    if is_npm(line):
        return NPM + npm_parts(line)[0]
    return canonicalize_name(re.split(r"[<>=!~\[;@ ]", line.strip(), maxsplit=1)[0])


def without_comment(line: str) -> str:
    """A requirement line as it counts."""
    return line.split(" #")[0].strip()


def judge(line: str, lists: Mapping[str, AllowList], approved: Iterable[str], base: Mapping[str, str]) -> NameVerdict:
    """Judge one requirement; `approved` are names that a person allowed, `base` what the sandbox has already."""
    line = line.strip()
    ecosystem = NODE if is_npm(line) else PYTHON
    if len(line) > MAX_LINE or "\n" in line or "\r" in line:
        return _refused(line, "not one requirement on one line", ecosystem)
    if ecosystem == NODE:
        return _judge_npm(line, lists[NODE], frozenset(approved))
    return _judge_python(line, lists[PYTHON], frozenset(approved), base)


def _judge_python(line: str, known: AllowList, approved: frozenset[str], base: Mapping[str, str]) -> NameVerdict:
    line = without_comment(line)
    if line.startswith("-"):
        return _refused(line, "options are not allowed: only a package's name, with versions")
    if "://" in line or line.startswith((".", "/", "~")) or line.endswith((".whl", ".gz", ".zip")):
        return _refused(line, ONLY_NAMES)
    try:
        requirement = Requirement(line)
    except InvalidRequirement as error:
        return _refused(line, f"not a requirement: {str(error).splitlines()[0]}")
    if requirement.url:
        return _refused(line, ONLY_NAMES)
    name = canonicalize_name(requirement.name)
    if len(name) > MAX_NAME:
        return _refused(line, f"a name of more than {MAX_NAME} letters")
    if name in base:
        if requirement.specifier.contains(base[name], prereleases=True):
            return NameVerdict(Judgement.ALLOWED, name, f"already in the sandbox ({base[name]})")
        return NameVerdict(
            Judgement.REFUSED, name, f"the sandbox has {name} {base[name]}; another version cannot replace it"
        )
    return _by_list(name, name, known, approved, PYTHON)


def _judge_npm(line: str, known: AllowList, approved: frozenset[str]) -> NameVerdict:
    name, versions = npm_parts(line)
    if not NPM_NAME.fullmatch(name) or len(name) > MAX_NAME:
        return _refused(line, "not the name of an npm package", NODE)
    if not NPM_RANGE.fullmatch(versions):
        return _refused(line, ONLY_NAMES, NODE)
    if name in BUILTIN:
        return _refused(line, f"{name} is part of Node itself: import it as node:{name}", NODE)
    return _by_list(name, NPM + name, known, approved, NODE)


def _by_list(name: str, shown: str, known: AllowList, approved: frozenset[str], ecosystem: str) -> NameVerdict:
    if name in known.names:
        return NameVerdict(Judgement.ALLOWED, shown, "on the allow-list", ecosystem=ecosystem)
    if shown in approved:
        return NameVerdict(Judgement.ALLOWED, shown, "approved by a person", ecosystem=ecosystem)
    if known.index_for(name):
        return NameVerdict(Judgement.ALLOWED, shown, "reserved for an index of your own", ecosystem=ecosystem)
    alike = () if name in known.popular else look_alikes(name, known.names | known.popular)
    reason = "not on the allow-list: a person must approve it"
    if alike:
        reason = f"not on the allow-list, and looks like {in_words(alike)}"
    return NameVerdict(Judgement.NEEDS_APPROVAL, shown, reason, tuple(one.name for one in alike), ecosystem)


def in_words(alike: Iterable[Alike]) -> str:
    """Look-alikes with their reasons in one line."""
    return ", ".join(f"{one.name} ({one.why})" for one in alike)


def _refused(line: str, reason: str, ecosystem: str = PYTHON) -> NameVerdict:
    shown = line if len(line) <= 80 else line[:77] + "…"
    return NameVerdict(Judgement.REFUSED, shown, reason, ecosystem=ecosystem)
