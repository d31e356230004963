"""Node itself and the test runners on it (`node --test`, Mocha, Jest, Vitest), and the TypeScript compiler."""

from __future__ import annotations

import re

from agents.repair.traces.base import Frame, Problem, problem, relative

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ERROR = re.compile(
    r"^\s{0,12}(?:Uncaught )?(?P<kind>[A-Z]\w*(?:Error|Exception)|Error)(?: \[(?P<code>\w+)\])?(?:: (?P<message>.*))?$"
)
_AT = re.compile(
    r"^\s*(?:at |❯ )?(?:async )?(?:(?P<function>[^()\n]{1,200}?) )?\(?(?P<file>(?:file://)?[^\s():]{1,1024}|node:[\w/.-]{1,200}):(?P<line>\d{1,9}):\d{1,9}\)?\s*\{?$"
)
_HEADER = re.compile(r"^(?P<file>(?:file://)?/[^\n:]{1,1024}):(?P<line>\d{1,9})$", re.M)
_MISSING = re.compile(r"Cannot find (?:module|package) '([^'\n]{1,300})'(?: imported from (\S{1,1024}))?")
_REQUIRED_BY = re.compile(r"^- (/.{1,1024})$", re.M)
_TSC = re.compile(
    r"^(?P<file>[^\s(:][^(\n:]{0,400})[(:](?P<line>\d{1,9})[,:]\d{1,9}\)?(?:: | - )error (?P<code>TS\d{1,6}): (?P<message>.*)$",
    re.M,
)
_TAP = re.compile(r"^(?P<pad> {0,40})not ok \d+ - (?P<name>[^\n#]{1,400})", re.M)
_SPEC = re.compile(r"^\s{0,20}✖ (?P<name>.{1,400}?) \([\d.]+ms\)$", re.M)
_MOCHA = re.compile(r"^  \d{1,4}\) (?P<name>.{1,400})$", re.M)
_JEST = re.compile(r"^  ● (?P<name>.{1,400})$", re.M)
_VITEST = re.compile(r"^ FAIL  (?P<name>.{1,600})$", re.M)
_PARTS = {"error": re.compile(r"^\s*error: (.*)$", re.M), "name": re.compile(r"^\s*name: '(.*)'$", re.M)}


def read_tsc(text: str, root: str) -> list[Problem]:
    """Errors of the TypeScript compiler, plain or pretty."""
    return [
        Problem("tsc", found["code"], found["message"].strip(), relative(found["file"], root), int(found["line"]))
        for found in _TSC.finditer(text)
    ]


def read_runner(text: str, root: str) -> list[Problem]:
    """Failures of whichever test runner wrote this; [] when none did."""
    if re.search(r"^TAP version \d+$", text, re.M):
        return _tap(text, root)
    if "✖ failing tests:" in text:
        return _titled("node-test", _SPEC, text[text.index("✖ failing tests:") + 16 :], root)
    if counted := re.search(r"^\s+\d+ failing$", text, re.M):
        return _titled("mocha", _MOCHA, text[counted.end() :], root)
    if re.search(r"^Test Suites: ", text, re.M):
        return _titled("jest", _JEST, text, root)
    if re.search(r"^\s*Test Files\s+\d", text, re.M):
        return _titled("vitest", _VITEST, text, root)
    return []


def read_node(text: str, root: str) -> list[Problem]:
    """The error that ended a Node program."""
    if "Node.js v" not in text and not re.search(r"^\s+at .{1,400}\(?(?:node:|/)", text, re.M):
        return []
    one = _error(text, root)
    if one is None:
        return []
    kind, message, frames = one
    return [_settled("node", kind, message, frames, text, root)]


def _titled(tool: str, title: re.Pattern[str], text: str, root: str) -> list[Problem]:
    heads = list(title.finditer(text))
    found: list[Problem] = []
    for at, head in enumerate(heads):
        body = text[head.end() : heads[at + 1].start() if at + 1 < len(heads) else len(text)]
        name = head["name"].strip()
        if tool == "mocha" and (rest := re.match(r"\n((?:       .{1,400}\n)*?       (.{1,400}):\n)", body)):
            name, body = f"{name} {' '.join(rest[1].split()).rstrip(':')}", body[rest.end() :]
        said = _error(body, root)
        if said is None:  # Jest's own matchers name no error
            words = next((line.strip() for line in body.splitlines() if line.strip()), "")
            wanted = re.search(r"^\s+Expected: (.*)\n\s+Received: (.*)$", body, re.M)
            if not words:
                continue
            text_of = f"{words} {wanted[1]} {wanted[2]}" if wanted else words
            said = ("AssertionError", text_of, _frames(body, root))
        kind, message, frames = said
        found.append(_settled(tool, kind, message, frames, "", root, test=name))
    return found


def _tap(text: str, root: str) -> list[Problem]:
    found = []
    heads = list(_TAP.finditer(text))
    for at, head in enumerate(heads):
        body = text[head.end() : heads[at + 1].start() if at + 1 < len(heads) else len(text)]
        if "failureType: 'subtestsFailed'" in body:
            continue  # its subtests are told one by one
        name, error = _PARTS["name"].search(body), _PARTS["error"].search(body)
        message = (error[1] if error else "").strip().strip("\"'")
        if message in ("|-", "|"):
            block = body[error.end() :] if error else ""
            message = " ".join(re.split(r"^\s{0,40}code:", block, maxsplit=1, flags=re.M)[0].split())
        frames = _frames(re.split(r"stack: \|-\n", body)[-1], root)
        found.append(
            _settled("node-test", name[1] if name else "Error", message, frames, "", root, test=head["name"].strip())
        )
    return found


def _error(text: str, root: str) -> tuple[str, str, list[Frame]] | None:
    lines = text.splitlines()
    for at, line in enumerate(lines):
        found = _ERROR.match(line)
        if found is None:
            continue
        more: list[str] = []
        for following in lines[at + 1 : at + 8]:
            if _AT.match(following) or following.lstrip().startswith(("at ", "❯", "+ expected", "Require stack")):
                break
            more.append(following.strip())
        tail = " ".join(word for word in more if word) if (found["message"] or "").endswith(":") else ""
        message = f"{found['message'] or ''} {tail}".strip()
        return found["kind"], message, _frames("\n".join(lines[at + 1 :]), root)
    return None


def _frames(text: str, root: str) -> list[Frame]:
    """Frames, deepest last, as everywhere else (JavaScript prints it first)."""
    found = []
    for line in text.splitlines():
        if at := _AT.match(line):
            found.append(Frame(relative(at["file"], root), int(at["line"]), (at["function"] or "").strip()))
    return found[::-1]


def _settled(
    tool: str, kind: str, message: str, frames: list[Frame], text: str, root: str, *, test: str = ""
) -> Problem:
    """The problem; a missing module is blamed on the file that asked for it, a syntax error on the file that has it."""
    if missing := _MISSING.search(message):
        asked = missing[2] or next(iter(_REQUIRED_BY.findall(text)), "")
        own = next((frame for frame in frames if asked and frame.file == relative(asked, root)), None)
        place = [own or Frame(relative(asked, root), 0)] if asked else frames
        return problem(tool, "ModuleNotFound", f"Cannot find module '{missing[1]}'", place, test=test)
    if kind == "SyntaxError" and (header := _HEADER.search(text)):
        frames = [*frames, Frame(relative(header["file"], root), int(header["line"]))]
    return problem(tool, kind, message, frames, test=test)
