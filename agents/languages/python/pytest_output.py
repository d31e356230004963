"""The report of pytest in any of its styles (`--tb=long`, `short`, `line`, `native`)."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise, takewhile

from agents.languages.problems import WORKSPACE, Frame, Problem, problem, relative
from agents.languages.python.dumps import read_fatal, read_hung
from agents.languages.python.tracebacks import ERROR, frame_of, outermost, tracebacks, with_code

MAX_BLOCK = 200_000  # characters of one failure
MAX_LINE = 2_000
_TITLE = re.compile(r"^_{3,} (.{1,600}?) _{3,}$")
_SECTION = re.compile(r"^={3,} (.{1,200}?) ={3,}$")
_PLACE = re.compile(r"^(?:E\s+)?(?P<file>[^\s:][^:\n]{0,1024}):(?P<line>\d{1,9}): ?(?P<rest>.*)$")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - (.*))?$")
_FIXTURE = re.compile(r"^file (.{1,1024}), line (\d{1,9})$")
_CONFTEST = re.compile(r"^(?:ImportError while loading conftest|Exception: .*conftest) ?'?([^'\n]*)'?")
_FIXTURE_MISSING = re.compile(r"fixture '([^'\n]{1,200})' not found")
_INTERNAL = re.compile(r"^INTERNALERROR> ?", re.M)
_CAPTURED = re.compile(r"^-{3,} Captured .{1,60} -{3,}$")
_WORKER = re.compile(r"^worker '\w{1,20}' crashed while running '([^'\n]{1,1000})'")
_DETAIL = re.compile(r"^(?:Expected|Actual|Obtained|assert)\b")
_USAGE = re.compile(
    r"^ERROR: (?:usage: |((?:(?:file or directory )?not found: |Error importing plugin ).{1,1000})$"
    r"|(?P<file>\S.{0,1000}?(?:pytest\.ini|pyproject\.toml|tox\.ini"
    r"|setup\.cfg)):(?:(?P<line>\d{1,9}):)? ?(?P<what>.{0,300})$)",
    re.M,
)
_USAGE_SAID = re.compile(r"^\S.{0,200}: error: (.{1,300})$", re.M)


def is_pytest(text: str) -> bool:
    """Whether this looks like pytest's own words."""
    return bool(
        re.search(r"^=+ (?:FAILURES|ERRORS|short test summary info|test session starts) =+$", text, re.M)
        or re.search(r"^(?:ImportError while loading conftest|INTERNALERROR> )", text, re.M)
        or re.search(r"^\S.{0,200}pytest\S*: error: ", text, re.M)
        or ((usage := _USAGE.search(text)) and (usage["file"] or usage[1]))
    )


def read_pytest(text: str, root: str) -> list[Problem]:
    """Failures and errors, one for each titled block; of a run that broke before its first test, the reason."""
    if _INTERNAL.search(text):
        inner = "\n".join(_INTERNAL.sub("", line) for line in text.splitlines() if line.startswith("INTERNALERROR>"))
        return [replace(one, tool="pytest") for one in outermost(list(tracebacks(inner, root)))[-1:]]
    blocks, names = _blocks(text)
    if not blocks and (conftest := re.search(_CONFTEST.pattern, text, re.M)):
        return _problems("conftest", text[conftest.start() :].splitlines()[1:], root, "")
    found = []
    for title, lines in blocks:
        bare = re.sub(r"^ERROR (?:collecting|at (?:setup|teardown) of) ", "", title)
        ends = ("::" + bare.replace(".", "::"), bare, bare.removeprefix("[doctest] "))
        test = next((name for name in names if name.endswith(ends)), bare)
        found += _problems(test, lines, root, names.get(test, ""))
    if found:
        return found
    if ended := read_fatal(text, root) or read_hung(text, root):
        return [replace(ended, tool="pytest")]
    return [_summed_up(name, reason) for name, reason in names.items()] or _usage(text, root)


def _summed_up(test: str, reason: str) -> Problem:
    """A failure of which only the line in the summary is there (`--tb=no`)."""
    found = ERROR.match(reason)
    kind = found["kind"] if found else "AssertionError" if reason.startswith("assert") else "Failed"
    message = found["message"] or "" if found else reason
    return Problem("pytest", kind, message, _file_of(test), test=test)


def _usage(text: str, root: str) -> list[Problem]:
    """What pytest says when it cannot begin: no such file, no such option, settings that cannot be read."""
    found = _USAGE.search(text)
    if found is None:
        return []
    if found["file"]:
        place = [Frame(relative(found["file"], root), int(found["line"] or 0))]
        return [problem("pytest", "UsageError", found["what"], place)]
    said = found[1] or next(iter(_USAGE_SAID.findall(text)), "")
    return [problem("pytest", "UsageError", said)]


def _file_of(test: str) -> str:
    file = test.partition("::")[0]
    return file if file.endswith((".py", ".txt", ".rst", ".md")) else ""


def read_block(test: str, text: str, root: str = WORKSPACE) -> Problem:
    """The problem in one failure's own text, as a report keeps it; kind "Failure" when it names no error.

    Never raises.
    """
    lines = [line[:MAX_LINE] for line in text[:MAX_BLOCK].splitlines()]
    return _problems(test, lines, root, "")[0]


def _blocks(text: str) -> tuple[list[tuple[str, list[str]]], dict[str, str]]:
    """The titled blocks of the failure sections, and the names in the summary with what it says of each."""
    blocks: list[tuple[str, list[str]]] = []
    names: dict[str, str] = {}
    section, loose = "", []
    for line in text.splitlines():
        if head := _SECTION.match(line):
            section = head[1]
        elif section in ("FAILURES", "ERRORS"):
            if title := _TITLE.match(line):
                blocks.append((title[1], []))
            elif blocks:
                blocks[-1][1].append(line)
            else:
                loose.append(line)
        elif section == "short test summary info" and (entry := _SUMMARY.match(line)):
            names[entry[1]] = entry[2] or ""
    if not blocks and loose:  # --tb=line: an error and its place, nothing else
        blocks = [(name, loose) for name in list(names)[:1]] or [("", loose)]
    return blocks, names


def _problems(test: str, lines: list[str], root: str, reason: str) -> list[Problem]:
    """What one block tells: nearly always one problem, of a group of exceptions each of its members.

    `reason` is what the summary says of the test; it may be cut.
    """
    # What a program wrote may look like a failure.
    lines = list(takewhile(lambda line: not _CAPTURED.match(line), lines))
    frames, named = _frames(lines, root)
    runs = _runs(lines)
    kind, message, cause = _error(runs, named or _kind_of(reason))
    marked = [line for run in runs for line in run]
    code = next((after for line, after in pairwise(marked) if frame_of(line, root)), "")
    message = with_code(kind, message, code)
    if kind == "AssertionError" and not message:
        message = _asserted(lines)
    if not kind and (native := outermost(list(tracebacks("\n".join(lines), root)))):
        kept = native if any("Exception Group Traceback" in line for line in lines) else native[-1:]
        return [replace(one, tool="pytest", test=test) for one in kept]
    if not kind:
        words = _words(marked or _unmarked(lines), named)
        kind, message = named or _kind_of(reason) or ("Failed" if reason else "Failure"), " ".join(words[:6])
        if crashed := next(filter(None, map(_WORKER.match, words)), None):
            kind, message, test = "WorkerCrashed", "The worker died while it ran this test.", crashed[1]
    one = problem("pytest", kind, message, frames, test=test, cause=cause)
    return [one if one.file else replace(one, file=_file_of(test))]


def _frames(lines: list[str], root: str) -> tuple[list[Frame], str]:
    """The places that a block names, and the kind of error that stands behind the last of them, "" for none."""
    frames, named = list[Frame](), ""
    for line in lines:
        body = line[1:] if line.startswith("E ") else line
        if (frame := frame_of(body, root)) is not None:
            frames.append(frame)
        elif not line.startswith("E ") and (found := (_PLACE.match(line) or _FIXTURE.match(line))):
            rest = found.groupdict().get("rest") or ""
            frames.append(Frame(relative(found[1], root), int(found[2]), rest[3:] if rest.startswith("in ") else ""))
            named = rest if rest.isidentifier() else named
    return frames, named


def _asserted(lines: list[str]) -> str:
    """The line that failed, where an assert was not rewritten: what it says stands in the code only."""
    return next((line[1:].strip() for line in reversed(lines) if line.startswith(">  ")), "")


def _unmarked(lines: list[str]) -> list[str]:
    words = [line.strip() for line in lines if line.strip() and not _PLACE.match(line)]
    return [word for word in words if not word.startswith("[gw")]


def _words(lines: list[str], named: str) -> list[str]:
    """What a block says that names no error; of a doctest what was expected and found."""
    doctest = named == "DocTestFailure" and "Expected:" in lines
    return lines[lines.index("Expected:") :] if doctest else lines  # the lines before it are numbered


def _kind_of(reason: str) -> str:
    found = ERROR.match(reason)
    return found["kind"] if found and found["message"] is not None else ""


def _runs(lines: list[str]) -> list[list[str]]:
    """The marked lines (`E  …`), one list for each exception of a chain."""
    runs: list[list[str]] = []
    marked = False
    for line in lines:
        if line.startswith("E "):
            if not marked:
                runs.append([])
            runs[-1].append(line[1:].strip())
        marked = line.startswith("E ")
    return runs


def _error(runs: list[list[str]], named: str) -> tuple[str, str, str]:
    """Kind, message and cause from the marked lines: the last error named is the one that came through.

    `named` is the kind as it stands elsewhere in the report, "" when it does not.
    """
    kinds: list[tuple[str, str]] = []
    for run in runs:
        for line in run:
            if "recursive dependency involving fixture" in line:
                return "RecursiveFixture", line, ""
            if missing := _FIXTURE_MISSING.search(line):
                return "FixtureNotFound", f"fixture '{missing[1]}' not found", ""
        kinds += _raised(run)
    if not kinds:
        return "", "", ""
    at = next((at for at in range(len(kinds) - 1, -1, -1) if named and _bare(kinds[at][0]) == _bare(named)), -1)
    kind, message = kinds[at]
    before = kinds[:at] if at >= 0 else kinds[:-1]
    return kind, message, before[-1][0] if before else ""


def _raised(run: list[str]) -> list[tuple[str, str]]:
    """The error that a run of marked lines tells of; what follows its first line is explanation."""
    first = run[0]
    if first.startswith("assert"):
        return [("AssertionError", first)]
    found = ERROR.match(first)
    if found is None:  # of code that does not compile the place comes first
        later = [error for line in run if (error := ERROR.match(line)) and error["message"] is not None]
        return [(error["kind"], error["message"]) for error in later[-1:]]
    message = found["message"] or ""
    if _bare(found["kind"]) == "AssertionError":
        message = " ".join([message, *[line for line in run[1:8] if _DETAIL.match(line)][:3]]).strip()
    return [(found["kind"], message)]


def _bare(kind: str) -> str:
    return kind.rpartition(".")[2]
