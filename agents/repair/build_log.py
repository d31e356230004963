"""The cause of a failed build, read from its log: what kind of failure, of which tool, where, and what was printed.

A log is foreign text: it is bounded, stripped of what terminals and CI systems put around it, and of secrets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agents.languages.problems import Problem, one_line
from agents.languages.registry import languages
from agents.repair.traces import read_problems
from agents.secrets.redaction import redact

HEAD, TAIL, LONGEST = 200_000, 800_000, 2_000  # characters kept of the log's two ends, and of a line
BEFORE, AFTER, SHOWN = 8, 22, 1_800  # lines around the message, and characters of all of them
DEPENDENCY, COMPILE, TEST, LINT, DOCKER, MODULE, CRASH, OTHER = (
    "dependency conflict",
    "compile error",
    "failing test",
    "lint",
    "docker build",
    "missing module",
    "uncaught error",
    "other",
)
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-9;:?<=>]{0,64}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)?|[()][0-9A-B]|[@-Z\\^_=>78])"
)
# `gh run view --log` puts job and step before the time, GitLab the stream's name after it.
_TIME = re.compile(
    r"^\ufeff?(?:[^\t\n]{1,200}\t[^\t\n]{1,200}\t\ufeff?)?"
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z (?:\d\d[OE][ +])?"
)
_SECTION = re.compile(r"section_(?:start|end):\d{1,12}:[^\r\n]{0,300}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_GROUP, _ERROR = "##[group]Run ", "##[error]Process completed"
_ANNOTATION = re.compile(
    r"^(?:##\[(?:error|warning)\]|::(?:error|warning)[^:\n]{0,600}::)"
)  # before a tool's own words
_ECHOED = re.compile(r"^(?:\$|\+|%) (\S.{0,500})$")
_SCRIPT = re.compile(r"^> \S{1,200}@\S{1,100} \S{1,100}$")
_NOISE = re.compile(
    r"^##\[|^shell: |^Looking in |^ {2,}(?:Downloading|Using cached) |━|A complete log of this run|^WARNING:"
    r"|^npm (?:error|ERR!)(?: (?:\[|Options:|Usage:)?)? *$|^npm (?:error|ERR!) (?:  *-|\[-)"
    r"|^Running with gitlab-runner|^Executing \"|^DEPRECATED: The legacy"
    r"|^ +(?:BuildKit is currently|environment-variable)"
    r"|^Sending build context|^ ---> |^Removing intermediate"
)
_END = re.compile(r"^(?:Post job cleanup\.|ERROR: Job failed|Cleaning up (?:project directory|orphan))")
_DOCKER = re.compile(
    r"^(?:Step \d+/\d+ : |#\d+ (?:\[|ERROR|\d+\.\d+ )|.{0,80}dockerfile parse error|.{0,80}failed to solve: )", re.M
)
_STEP = re.compile(r"^Step \d+/\d+ : (?P<step>.{1,1000})$", re.M)
_PLACE = re.compile(r"^(?:\S{0,200}/)?(?P<file>[\w.-]{0,60}[Dd]ockerfile[\w.-]{0,60}):(?P<line>\d{1,6})$", re.M)
_WRONG = re.compile(
    r"^(?:Error response from daemon: |ERROR: )?(?:failed to (?:build|solve): ){0,5}"
    r"(?P<said>(?:dockerfile parse error (?:on )?line (?P<line>\d{1,6}).{0,400}|(?:COPY|ADD) failed: .{1,500}"
    r"|The command '.{1,500}' returned a non-zero code: \d+|process \".{1,500}\" did not complete .{1,100}"
    r"|failed to (?:compute|read|create|process|fetch|resolve) .{1,500}|pull access denied .{1,300}"
    r"|manifest (?:for|unknown).{1,300}))$",
    re.M,
)


@dataclass(frozen=True)
class BuildCause:
    """Why a build failed. `file` is a path of the repository where the log names one; `command` is a claim of the log.

    `excerpt` holds the lines around the message, few enough for a small model; `more` counts further failures.
    """

    kind: str
    tool: str
    message: str
    file: str = ""
    line: int = 0
    test: str = ""
    command: str = ""
    excerpt: str = ""
    more: int = 0

    @property
    def place(self) -> str:
        """`file:line`, or what of it is known."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def sentence(self) -> str:
        """The cause on one line."""
        at = f" at {self.place}" if self.place else ""
        more = f", and {self.more} more" if self.more else ""
        return f"{self.kind.capitalize()} ({self.tool}){at}: {self.message}{more}"

    def to_json(self) -> dict[str, Any]:
        """The cause as plain data, as it is stored."""
        return asdict(self)


def read_log(log: str, paths: Collection[str] = ()) -> BuildCause | None:
    """What failed first in the step that ended the build; None where nothing in the log looks like a failure.

    `paths` are the files of the repository: by them the places of another machine are told. Never raises.
    """
    text = clean(log)
    for part in (_failed_step(text), text):
        commands, lines = _commands(part)
        for problems in _candidates("\n".join(lines)):
            return _cause(problems, lines, commands, paths)
    return None


def clean(log: str) -> str:
    """Both ends of a log without escapes, times, sections, control characters and secrets."""
    text = log if len(log) <= HEAD + TAIL else f"{log[:HEAD]}\n{log[-TAIL:]}"
    lines = (_plain(line[:LONGEST]) for line in text.replace("\r\n", "\n").split("\n"))
    return str(redact("\n".join(lines)))


def _plain(line: str) -> str:
    line = _SECTION.sub("", _ESCAPE.sub("", _TIME.sub("", line)))
    line = line if line.startswith(_ERROR) else _ANNOTATION.sub("", line)
    return _CONTROL.sub("", line.rstrip("\r").rpartition("\r")[2])


def _failed_step(text: str) -> str:
    """The part of a CI system's log that belongs to the step which failed; all of it where none is told apart."""
    lines = text.split("\n")
    if (end := next((at for at, line in enumerate(lines) if line.startswith(_ERROR)), None)) is not None:
        starts = [at for at, line in enumerate(lines[:end]) if line.startswith(_GROUP)]
        return "\n".join(lines[starts[-1] if starts else 0 : end])
    end = next((at for at, line in enumerate(lines) if _END.match(line)), len(lines))
    return "\n".join(lines[:end])


def _commands(part: str) -> tuple[list[str], list[str]]:
    """Commands that the log says were run, oldest first, and the other lines."""
    commands, kept, script = list[str](), list[str](), False
    for line in part.split("\n"):
        if line.startswith(_GROUP):
            commands.append(line.removeprefix(_GROUP))
        elif echoed := _ECHOED.match(line):
            commands.append(echoed[1])
        elif script and line.startswith("> "):
            commands.append(line[2:502])
        else:
            kept.append(line)
        script = bool(_SCRIPT.match(line))
    return commands, kept


def _candidates(text: str) -> Iterator[list[Problem]]:
    """Failures as each kind of reader finds them, the surest first."""
    if docker := _docker(text):
        yield [docker]
    for one in languages():
        if found := one.read_build(text):
            yield found
    if plain := list(read_problems(text)):
        yield plain


def _docker(text: str) -> Problem | None:
    """What ended `docker build`, of either builder."""
    if not _DOCKER.search(text) or not (wrong := _WRONG.search(text)):
        return None
    place, steps = _PLACE.search(text), [*_STEP.finditer(text[: wrong.start()])]
    line = int(wrong["line"] or (place["line"] if place else 0))
    file = place["file"] if place else "Dockerfile"
    step = f"{steps[-1]['step']}: " if steps else ""
    return Problem("docker", "BuildFailed", one_line(f"{step}{wrong['said']}"), file, line)


def _cause(problems: Sequence[Problem], lines: list[str], commands: list[str], paths: Collection[str]) -> BuildCause:
    first = problems[0]
    speaker = next((one for one in languages() if first.tool in one.build_kinds), None)
    kind = DOCKER if first.tool == "docker" else speaker.build_kind(first) if speaker else OTHER
    said = first.message if first.kind in first.message else f"{first.kind}: {first.message}"
    file = _ours(first.file, paths)
    if file and file != first.file:  # the rest of it is where that machine keeps the repository
        said = said.replace(first.file.removesuffix(file), "")
    named = [
        line
        for line in commands
        if any(word in line for word in (speaker.build_words(first.tool) if speaker else ["docker"]))
    ]
    command = (named or commands[-1:] or [""])[-1]
    return BuildCause(
        kind,
        first.tool,
        one_line(said),
        file,
        first.line,
        first.test,
        one_line(command),
        excerpt(lines, first),
        len(problems) - 1,
    )


def _ours(file: str, paths: Collection[str]) -> str:
    """The path in the repository of a file as another machine names it."""
    parts = file.split("/")
    return next((path for at in range(len(parts)) if (path := "/".join(parts[at:])) in paths), file)


def excerpt(lines: Sequence[str], problem: Problem) -> str:
    """The lines around the message, without noise."""
    kept = [line.rstrip()[:240] for line in lines if line.strip() and not _NOISE.search(line)]
    test = re.split(r"::| > ", problem.test)[-1]
    words = [word for word in (problem.message[:40], test, problem.place, problem.kind, problem.file) if word]
    flat = [" ".join(line.split()) for line in kept]
    at = next((n for word in words for n, line in enumerate(flat) if word in line), max(0, len(kept) - AFTER))
    return "\n".join(kept[max(0, at - BEFORE) : at + AFTER])[:SHOWN]
