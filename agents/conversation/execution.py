"""EXEC: a command in a sandbox of its own, on a copy of the files. What it changed there is kept only with leave.

The command passes judge() of agents/firewall/judge.py, then permitted(), then WarmSandbox.exec() of sandbox/warm.py.
The result goes back through tools.py to take_turn() of turn.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from agents.conversation.contracts import NotText, PermissionRequest, TalkContext
from agents.conversation.permission import Screened, apply_changes, blocked, diff_of, permitted, screen
from agents.conversation.results import done, failed, refused
from agents.conversation.state import Command, FileChange, HalfDone, ToolResult
from agents.engine.effects import effect
from agents.events.effects import CommandRan
from agents.firewall.base import FirewallContext
from agents.firewall.judge import judge
from agents.languages.problems import WORKSPACE
from agents.languages.registry import languages
from agents.prompts.provenance import Source
from agents.repair.feedback import clip
from agents.replies.paths import BadPath, check_path
from agents.secrets.redaction import redact
from sandbox.base import ExecResult, PackageRefused, Sandbox, SandboxError, SandboxUnavailable
from sandbox.package_index.errors import IndexUnavailable
from sandbox.paths import regular_files
from sandbox.test_setup import TestSetup

SECONDS = 30.0  # of a command
TOLD_CHARS = 6_000  # of its output
MOST_KEPT, LARGEST_KEPT = 200, 1_000_000  # files that a command changed, and bytes of one
_INSTALL = re.compile(
    r"\s*(?:python3?\s+-m\s+)?pip3?\s+install\s+(?P<pip>[^;&|<>\n]+)$|\s*npm\s+(?:install|i|add)\s+(?P<npm>[^;&|<>\n]+)$"
)
# Every sandbox has the packages, so a virtual environment is neither needed nor would it outlive its command.
_ENVIRONMENT = re.compile(
    r"\s*(?:(?:python3?\s+-m\s+venv|virtualenv)\s+[\w./-]+|(?:source|\.)\s+[\w./-]*activate|cd\s+(?:/workspace/?|\./?))?\s*"
)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BETWEEN = re.compile(r"(&&|\n)")
_NO_GIT = "Git is not for commands here: what was written is committed at the end of each turn. Go on without it."
_OWN = re.compile(r"\./?(?:\[[\w,.-]*\])?")  # the workspace itself, also with extras
# Left by tools, and nobody's work.
LEFT = frozenset({".git", *(line[:-1] for one in languages() for line in one.ignored if line.endswith("/"))})


def execute(ctx: TalkContext, command: Command) -> ToolResult:
    """Judge it, ask, run it for at most 30 s without a network, and offer to keep the files that it changed."""
    turn = ctx.conversation.turn
    if turn is not None and turn.half_done is not None:
        return _decided(ctx, command, turn.half_done)
    parts = _BETWEEN.split(command.argument)  # commands, and what stands between them
    installed: ToolResult | None = None
    while parts and ((install := _INSTALL.match(parts[0])) or _ENVIRONMENT.fullmatch(parts[0])):
        if install:
            installed = _install(ctx, command, (install["pip"] or install["npm"]).split())
            if not installed.ok:
                return installed
        del parts[:2]
    line = "".join(parts).strip()
    if not line:
        return installed or done(command, "OK: no environment is needed. `pip install NAME` alone adds a package.")
    return _allowed(ctx, command, line)


def _allowed(ctx: TalkContext, command: Command, line: str) -> ToolResult:
    """Run the line if the firewall and a person allow it."""
    context = FirewallContext(canaries=(ctx.canary,) if ctx.canary else ())
    found = judge("command", line, context=context, guard=ctx.guard)
    if found.verdict.decision == "deny":
        blocked(ctx, line, found)
        return failed(command, f"Refused by the firewall: {found.verdict.reason}", "adjust: another command", "skip")
    doubt = found.verdict.reason.rstrip(".") if found.verdict.decision == "approve" else ""
    first, _, more = line.partition("\n")
    request = PermissionRequest("exec", f"run {first}{' …' if more else ''}", doubt, line, each_time=bool(doubt))
    if not permitted(ctx, request):
        return refused(command, request.why)
    try:
        return _run(ctx, command, line)
    except SandboxUnavailable as problem:
        return failed(command, f"No sandbox runs it: {problem}", "retry", "skip: `aiswe doctor` shows what is missing")
    except (PackageRefused, IndexUnavailable) as problem:
        return failed(command, f"Its packages cannot be had: {problem}", "retry", "skip")


def _run(ctx: TalkContext, command: Command, line: str) -> ToolResult:
    number = ctx.conversation.number
    key = f"exec/{number}/{ctx.event_log.head().seq}"
    argv = ["sh", "-c", line]
    announcement = CommandRan(summary=f"{line[:300]} …", role="coder", effect="command", argv=argv)
    with effect(ctx.event_log, announcement, key=key):
        there = ctx.elsewhere(line)  # where the person chose to run it: what it changes there is theirs already
        ran, changes, note, place = _on_a_copy(ctx, line) if there is None else (there, [], "", "editor")
    outcome = CommandRan(
        summary=f"{line[:300]} → {_ending(ran)} · {ran.seconds:.1f} s",
        role="coder",
        outcome="ok" if ran.ok else "fail",
        duration_ms=int(ran.seconds * 1000),
        argv=argv,
        exit_code=ran.exit_code,
        seconds=round(ran.seconds, 2),
        cpu_seconds=round(ran.cpu_seconds, 2),
        tail=f"{ran.out}\n{ran.err}"[-4000:],
        timed_out=ran.timed_out,
        backend=place,
    )
    ctx.event_log.emit(outcome, key=key)
    return _decided(ctx, command, HalfDone("\n".join(filter(None, [_told(ran), note])), ran.ok, changes))


def _decided(ctx: TalkContext, command: Command, ran: HalfDone) -> ToolResult:
    """Ask what becomes of the files it changed. Until that is answered it counts as half done."""
    told, turn = ran.output, ctx.conversation.turn
    if ran.changes:
        if turn is not None:
            turn.half_done = ran
            ctx.save()
        told = f"{told}\n{_keep(ctx, ran.changes)}"
        if turn is not None:
            turn.half_done = None
    result = done(command, told, Source.TESTS)
    if not ran.ok:
        result.ok, result.next_steps = False, ["retry", "adjust: read the output and mend the cause", "skip"]
    result.changes = ran.changes
    return result


def _on_a_copy(ctx: TalkContext, line: str) -> tuple[ExecResult, list[FileChange], str, str]:
    """What it gave, the files that it changed, a sentence about what cannot be kept of it, and the sandbox's kind."""
    folder = ctx.files.folder()
    before = _hashes(folder)
    with _sandbox(ctx) as box:
        box.mirror(folder)
        prepared = [*_own_name(line, before), *_import_folders(ctx.test_setup), "sh", "-c", line]
        ran = box.exec(prepared, seconds=SECONDS, env=ctx.test_setup.environment)
        return ran, *_changes(folder, box, before), box.backend


def _own_name(line: str, there: Mapping[str, str]) -> list[str]:
    """What goes before a command that calls the workspace by its name, so that both ways to name a file work."""
    named = re.search(r"(?:^|[\s=\"'])(?:\./)?workspace/", line)
    if not named or any(path.startswith("workspace/") for path in there):
        return []
    return ["sh", "-c", 'ln -s . workspace; exec "$@"', "sh"]


def _import_folders(setup: TestSetup) -> list[str]:
    """What goes before a command so that it imports from the folders that the repository's tests import from."""
    words: list[str] = []
    for spoken in languages():
        found, name = setup.of(spoken.name), spoken.import_variable
        roots = [f"{WORKSPACE}/{root}".rstrip("/") for root in (found.python_path if found and name else ())]
        if roots:
            words += ["sh", "-c", f'export {name}="$0${{{name}:+:${name}}}"; exec "$@"', ":".join(roots)]
    return words


def _told(ran: ExecResult) -> str:
    parts = [f"exit code: {ran.exit_code}" if ran.exit_code is not None else _ending(ran)]
    if ran.timed_out:
        parts = [f"stopped after {ran.seconds:.0f} s: it did not end. A server never does: test it without a start."]
    for name, text in (("stdout", ran.out), ("stderr", ran.err)):
        if text.strip():
            parts.append(f"{name}:\n{clip(str(redact(_COLOURS.sub('', text))).rstrip(), TOLD_CHARS)}")
    if "not a git repository" in ran.err:
        parts.append(_NO_GIT)
    if not ran.out.strip() and not ran.err.strip():
        parts.append("It printed nothing.")
    return "\n".join(parts)


def _ending(ran: ExecResult) -> str:
    if ran.timed_out:
        return "time-out"
    return "out of memory" if ran.out_of_memory else f"exit {ran.exit_code}"


def _sandbox(ctx: TalkContext) -> Sandbox:
    names = sorted({*ctx.conversation.packages, *ctx.test_packages})
    return ctx.backend().open(packages=ctx.supply.fetch(names) if names else None, label=ctx.label)


def _install(ctx: TalkContext, command: Command, words: list[str]) -> ToolResult:
    """Packages come from the index through the product's supply, into every later sandbox of this conversation."""
    own = [word for word in words if _OWN.fullmatch(word)]
    names = [word for word in words if not word.startswith("-") and word not in own]
    if own and not names:
        return done(command, "OK: nothing to install: every command imports from the workspace as it stands.")
    if not names or "-r" in words:
        names += [name for path in words if path.endswith(".txt") for name in _listed(ctx, path)]
        names = [name for name in names if not name.endswith(".txt")]
    if not names:
        return failed(command, "It names no package.", "adjust: pip install NAME")
    wanted = f"install {', '.join(names)}"
    if not permitted(
        ctx, PermissionRequest("packages", wanted, "their names leave this machine", command.argument, each_time=True)
    ):
        return refused(command)
    try:
        found = ctx.supply.fetch(sorted({*ctx.conversation.packages, *names}))
    except (PackageRefused, IndexUnavailable) as problem:
        return failed(command, str(problem), "adjust: another package", "skip")
    ctx.conversation.packages = sorted({*ctx.conversation.packages, *names})
    return done(command, f"OK: installed {', '.join(found.names or names)}; every later command has it.")


def _listed(ctx: TalkContext, path: str) -> list[str]:
    try:
        lines = (ctx.files.read(check_path(path)) or "").splitlines()
    except (BadPath, NotText):
        return []
    return [line.partition("#")[0].strip() for line in lines if line.strip() and line.strip()[0] not in "#-"]


def _hashes(folder: Path) -> dict[str, str]:
    return {
        path: hashlib.sha256(file.read_bytes()).hexdigest()
        for path, file, _ in regular_files(folder)
        if not set(path.split("/")[:-1]) & LEFT
    }


def _changes(folder: Path, box: Sandbox, before: Mapping[str, str]) -> tuple[list[FileChange], str]:
    """Text files that the command made, changed or took away, and a sentence about others.

    What tools leave behind is nobody's work.
    """
    try:
        listed = {path: one for path, one in box.listing().items() if not set(path.split("/")[:-1]) & LEFT}
        there = {path: one for path, one in listed.items() if one.regular}
        changed = [path for path, one in there.items() if before.get(path) != one.sha256]
        named = [path for path in changed if there[path].size <= LARGEST_KEPT and _is_plain(path)]
        contents = box.get(named[:MOST_KEPT])
    except SandboxError:
        return [], "What it changed cannot be read: nothing is kept."
    gone = [path for path in before if path not in there]
    made = []
    for path in sorted([*contents, *gone[:MOST_KEPT]]):
        new = contents[path].decode("utf-8", "replace") if path in contents else None
        if new is not None and ("\x00" in new or "\N{REPLACEMENT CHARACTER}" in new):
            continue
        old = (folder / path).read_text("utf-8", "replace") if path in before else None
        made.append(FileChange(path, old, new))
    left = len(changed) + len(gone) - len(made)
    return made, f"{left} more files are not kept: not text, too large, or too many." if left > 0 else ""


def _is_plain(path: str) -> bool:
    try:
        return check_path(path) == path
    except BadPath:
        return False


def _keep(ctx: TalkContext, ran: list[FileChange]) -> str:
    changes, refused_files, cares = _screened(ctx, ran)
    if not changes:
        return f"It ran on a copy. {refused_files}"
    words = ", ".join(f"{change.path} ({change.word})" for change in changes[:10])
    more = f" and {len(changes) - 10} more" if len(changes) > 10 else ""
    detail = "".join(diff_of(change) for change in changes[:20])
    gone = [change.path for change in changes if change.new is None]
    if trouble := ctx.files.refusal(changes):
        return f"It ran on a copy. Not kept: {words}{more}: {trouble}"
    doubts = [f"it takes away {', '.join(gone[:5])}"] if gone else []
    doubts += [*cares, *ctx.doubts(changes)]
    title = f"keep {len(changes)} changed file" + "s" * (len(changes) != 1)
    request = PermissionRequest("write", title, "; ".join(doubts), detail, tuple(changes), each_time=bool(doubts))
    if not permitted(ctx, request):
        return f"It ran on a copy. Not kept: {words}{more}."
    if trouble := apply_changes(ctx, changes):
        return f"It ran on a copy. Not kept: {trouble}"
    return f"Kept: {words}{more}. {refused_files}".strip()


def _screened(ctx: TalkContext, ran: list[FileChange]) -> tuple[list[FileChange], str, list[str]]:
    """What the firewall lets through, a sentence about what it does not, and what is to be asked each time."""
    passed, refused_files, cares = list[FileChange](), list[str](), list[str]()
    for change in ran:
        found = Screened() if change.new is None else screen(ctx, change)
        if found.denied is not None:
            blocked(ctx, change.path, found.denied)
            refused_files.append(f"{change.path}: {found.denied.verdict.reason}")
            continue
        passed.append(change)
        cares += found.doubts if found.each_time else []
    said = f"Refused by the firewall, and not kept: {' '.join(refused_files[:5])}" if refused_files else ""
    return passed, said, cares[:5]
