"""Node itself and the test runners on it (`node --test`, Mocha, Jest, Vitest), and the TypeScript compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from agents.languages.problems import WORKSPACE, Frame, Problem, is_library, problem, relative

_ERROR = re.compile(
    r"^\s{0,12}\[?(?:Exception during run: )?(?:Uncaught )?(?P<kind>[A-Z]\w*(?:Error|Exception|Rejection)"
    r"|Error)(?: \[(?P<code>\w+)\])?(?:: (?P<message>.*))?$"
)
_OWN_ERROR = re.compile(r"^\s{0,12}(?P<kind>[A-Z]\w*)(?: \[(?P<code>\w+)\])?(?:: (?P<message>.*))?$")
_AT = re.compile(
    r"^\s*(?:at |❯ )?(?:async )?(?:(?P<function>[^()\n]{1,200}?) )?\(?(?P<file>(?:file://)?[^\s():]{1,1024}|node:[\w/.-]{1,200}):(?P<line>\d{1,9}):\d{1,9}\)?\s*\{?$"
)
_HEADER = re.compile(r"^(?: Exception during run: )?(?P<file>(?:file://)?/[^\n:]{1,1024}):(?P<line>\d{1,9})$", re.M)
_THROWN = re.compile(
    r"^(?P<file>(?:file://)?/[^\n:]{1,1024}):(?P<line>\d{1,9})\n.*\n\s*\^+\n(?P<what>(?:.*\n){1,20}?)(?:\(Use `node"
    r"|\nNode\.js v)",
    re.M,
)
_OUT_OF_MEMORY = re.compile(r"^FATAL ERROR: (.{1,200}heap out of memory)$", re.M)
_HUNG = re.compile(
    r"^(?:Error: )?(?:thrown: \"?)?(?:Test timed out in|test timed out after|Timeout of \d+ms exceeded"
    r"|Exceeded timeout of)"
)
_IN_MESSAGE = re.compile(r"^(?P<file>/[^\n:]{1,1024}\.\w{1,5}): (?P<what>.*?) \((?P<line>\d{1,9}):\d{1,9}\)")
_PLUGIN_FILE = re.compile(r"^\s+File: (?P<file>/[^\n:]{1,1024}):(?P<line>\d{1,9}):\d{1,9}$", re.M)
_IMPORTED_FROM = re.compile(r"imported from (/.{1,1024})$")
_NAMED_FILE = re.compile(r"^FAIL (?P<file>\S{1,1024})", re.M)
_CHANGED = re.compile(r"^    ([-+] +(?!Expected|Received).*)$", re.M)
_PLAIN = re.compile(r'^\s*message: "(.*)"$', re.M)
_LOCATION = re.compile(
    r"^\s*(?:location: '|at: \"|test at )(?P<file>[^'\n]{1,1024}?):(?P<line>\d{1,9}):\d{1,9}['\"]?$", re.M
)
_UNHANDLED = re.compile(r"^⎯{3,} (?P<name>Uncaught Exception|Unhandled Rejection|Unhandled Error) ⎯{3,}$", re.M)
_RULE = re.compile(r"^⎯{12,}", re.M)
_WANTED = re.compile(r"^\s+((?:Expected|Received)\b[^:\n]{0,40}(?:: .*| did not throw))$", re.M)
_MISSING = re.compile(r"Cannot find (?:module|package) '([^'\n]{1,300})'(?: imported from (\S{1,1024}))?")
_REQUIRED_BY = re.compile(r"^- (/.{1,1024})$", re.M)
_TSC = re.compile(
    r"^(?P<file>[^\s(:][^(\n:]{0,400})[(:](?P<line>\d{1,9})[,:]\d{1,9}\)?(?:: "
    r"| - )error (?P<code>TS\d{1,6}): (?P<message>.*)$",
    re.M,
)
_TSC_ALONE = re.compile(r"^error (?P<code>TS\d{1,6}): (?P<message>.*)$", re.M)
_TAP = re.compile(r"^(?P<pad> {0,40})not ok \d+ - (?P<name>[^\n#]{1,400})", re.M)
_SPEC = re.compile(r"^\s{0,20}✖ (?P<name>.{1,400}?) \([\d.]+ms\)$", re.M)
_MOCHA = re.compile(r"^  \d{1,4}\) (?P<name>.{1,400})$", re.M)
_JEST = re.compile(r"^  ● (?P<name>.{1,400})$", re.M)
_VITEST = re.compile(r"^ FAIL  (?P<name>.{1,600})$", re.M)
_SCRIPT = re.compile(r"\.[cm]?[jt]sx?$")
_PARTS = {"error": re.compile(r"^\s*error: (.*)$", re.M), "name": re.compile(r"^\s*name: ['\"](.*)['\"]$", re.M)}


def read_tsc(text: str, root: str) -> list[Problem]:
    """Errors of the TypeScript compiler, plain or pretty."""
    placed = [
        Problem("tsc", found["code"], found["message"].strip(), relative(found["file"], root), int(found["line"]))
        for found in _TSC.finditer(text)
    ]
    return placed or [Problem("tsc", one["code"], one["message"].strip()) for one in _TSC_ALONE.finditer(text)]


def read_failure(test: str, text: str, root: str = WORKSPACE) -> Problem:
    """The problem in one failure of a test report; kind "Failure" when it names no error."""
    if types := read_tsc(text, root):
        return replace(types[0], test=test)
    said = _error(text, root)
    if said is None:
        return Problem("node", "Failure", "", test=test)
    one = _settled("node", *said, text, root, test=test)
    path = test.partition("::")[0]
    return one if one.file or not _SCRIPT.search(path) else _in_file(one, Frame(path, 0))


def read_runner(text: str, root: str) -> list[Problem]:
    """Failures of whichever test runner wrote this; [] when none did."""
    if re.search(r"^TAP version \d+$", text, re.M):
        return _tap(text, root)
    if "✖ failing tests:" in text:
        at = text.index("✖ failing tests:")
        return _titled("node-test", _SPEC, text[at + 16 :], root, before=text[:at])
    if counted := re.search(r"^\s+\d+ failing$", text, re.M):
        return _titled("mocha", _MOCHA, text[counted.end() :], root)
    if re.search(r"^Test Suites: ", text, re.M):
        return _titled("jest", _JEST, text, root)
    if re.search(r"^\s*Test Files\s+\d", text, re.M):
        return _titled("vitest", _VITEST, text, root) + _titled("vitest", _UNHANDLED, text, root)
    return []


def read_node(text: str, root: str = WORKSPACE) -> list[Problem]:
    """The error that ended a Node program."""
    if memory := _OUT_OF_MEMORY.search(text):
        return [Problem("node", "OutOfMemory", memory[1])]
    if "Node.js v" not in text and not re.search(r"^\s+at .{1,400}\(?(?:node:|/)", text, re.M):
        return []
    one = _error(text, root)
    if one is None and (thrown := _THROWN.search(text)):  # anything may be thrown: a string, an object
        place = Frame(relative(thrown["file"], root), int(thrown["line"]))
        one = "Uncaught", " ".join(thrown["what"].split()), [place]
    return [_settled("node", *one, text, root)] if one else []


def _titled(tool: str, title: re.Pattern[str], text: str, root: str, *, before: str = "") -> list[Problem]:
    found: list[Problem] = []
    for head, body in _headed(title, text):
        name = head["name"].strip()
        if tool == "vitest" and (rule := _RULE.search(body)):
            body = body[: rule.start()]
        if "'test did not finish before its parent and was cancelled'" in body:
            continue  # the parent's own failure is told beside it
        if body.strip() == "'test failed'" and (said := _error(before, root)):  # the file broke before its first test
            found.append(_settled(tool, *said, before, root, test=name))
            continue
        if tool == "mocha" and (rest := re.match(r"\n((?:       .{1,400}\n)*?       (.{1,400}):\n)", body)):
            name, body = f"{name} {' '.join(rest[1].split()).rstrip(':')}", body[rest.end() :]
        said = _error(body, root)
        if said is None:  # Jest's own matchers name no error
            words = next((line.strip() for line in body.splitlines() if line.strip()), "")
            if not words:
                continue
            kind = "NoTests" if words == "Your test suite must contain at least one test." else "AssertionError"
            message = " ".join([words, *(_WANTED.findall(body)[:3] or _CHANGED.findall(body)[:6])])
            said = kind, message, _frames(body, root)
        one = _settled(tool, *said, body if tool == "vitest" else "", root, test=name)
        found.append(one if one.file else _in_file(one, _file_of(tool, name, body, text[: head.start()], root)))
    return found


def _headed(title: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each title that is found, and the text up to the next one."""
    heads = list(title.finditer(text))
    for head, after in zip_longest(heads, heads[1:]):
        yield head, text[head.end() : after.start() if after else len(text)]


def _file_of(tool: str, name: str, body: str, before: str, root: str) -> Frame:
    """Where a test stands that names no place in the project: its file, as far as the report tells it."""
    if located := _LOCATION.search(body) or next(iter(list(_LOCATION.finditer(before))[-1:]), None):
        return Frame(relative(located["file"], root), int(located["line"]))
    if tool == "vitest":
        return Frame(re.split(r" > | \[ ", name)[0], 0)
    if tool == "mocha" and (named := re.search(r"\((/[^()\n]{1,1024}\.[cm]?[jt]sx?)\)$", body, re.M)):
        return Frame(relative(named[1], root), 0)
    files = _NAMED_FILE.findall(before)
    return Frame(files[-1] if tool == "jest" and files else "", 0)


def _in_file(one: Problem, place: Frame) -> Problem:
    return replace(one, file=place.file, line=place.line)


def _tap(text: str, root: str) -> list[Problem]:
    found, end = [], 0
    for head, body in _headed(_TAP, text):
        above, end = text[end : head.start()], head.end()
        if "failureType: 'subtestsFailed'" in body:
            continue  # its subtests are told one by one
        if "failureType: 'cancelledByParent'" in body and "failureType: 'hookFailed'" in text:
            continue  # so is the hook it waited for
        if "exitCode: " in body and "error: 'test failed'" in body:  # the file broke before its first test
            inner = "\n".join(line[2:] for line in above.splitlines() if line.startswith("# "))
            if broken := _error(inner, root):
                found.append(_settled("node-test", *broken, inner, root, test=relative(head["name"].strip(), root)))
                continue
        name, error = _PARTS["name"].search(body), _PARTS["error"].search(body)
        message = (error[1] if error else "").strip().strip("\"'")
        if not message and (plain := _PLAIN.search(body)):  # as Vitest writes it
            message = plain[1]
        if message in ("|-", "|"):
            block = body[error.end() :] if error else ""
            message = " ".join(re.split(r"^\s{0,40}code:", block, maxsplit=1, flags=re.M)[0].split())
        frames = _frames(re.split(r"stack: \|-\n", body)[-1], root)
        kind = name[1] if name else "Error"
        one = _settled("node-test", kind, message, frames, "", root, test=head["name"].strip())
        found.append(one if one.file else _in_file(one, _file_of("node-test", "", body, "", root)))
    return found


def _error(text: str, root: str) -> tuple[str, str, list[Frame]] | None:
    lines = text.splitlines()
    for at, line in enumerate(lines):
        found = _ERROR.match(line)
        if found is None and at + 1 < len(lines) and re.match(r"^\s{1,20}at ", lines[at + 1]):
            found = _OWN_ERROR.match(line)  # a class of the project's own, by the trace that follows
        if found is None:
            continue
        more: list[str] = []
        for following in lines[at + 1 : at + 8]:
            if _AT.match(following) or following.lstrip().startswith(("at ", "❯", "+ expected", "Require stack")):
                break
            more.append(following.strip())
        tail = " ".join(word for word in more if word) if (found["message"] or "").endswith(":") else ""
        message = re.sub(r"\] \{$", "", f"{found['message'] or ''} {tail}".strip())
        return found["kind"], message, _frames("\n".join(lines[at + 1 :]), root)
    return None


def _frames(text: str, root: str) -> list[Frame]:
    """Frames, deepest last, as everywhere else (JavaScript prints it first)."""
    found = []
    inside = root.rstrip("/") + "/"
    for line in text.replace(f"file://{inside}", "").replace(inside, "").splitlines():  # it may hold spaces
        if (at := _AT.match(line)) and not at["file"].isdigit():  # "Start at 16:21:35" is none
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
    if _HUNG.match(message):
        kind = "Timeout"
    if inside := _IN_MESSAGE.match(message):
        message, frames = inside["what"], [Frame(relative(inside["file"], root), int(inside["line"]))]
    elif (plugin := _PLUGIN_FILE.search(text)) and not any(not is_library(frame.file) for frame in frames):
        frames = [Frame(relative(plugin["file"], root), int(plugin["line"]))]
    elif asked_by := _IMPORTED_FROM.search(message):
        frames = [*frames, Frame(relative(asked_by[1], root), 0)]
    if kind == "SyntaxError" and (header := _HEADER.search(text)):
        frames = [*frames, Frame(relative(header["file"], root), int(header["line"]))]
    return problem(tool, kind, message, frames, test=test)
