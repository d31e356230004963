"""Reading commands out of a reply: as the prompt shows them, and as small models misspell them.

`<<READ: path>>`, `<<WRITE: path>>` with lines up to `<</WRITE>>`, `<<EDIT: path>>` with SEARCH/REPLACE blocks,
`<<DELETE: path>>`, `<<FIND: words>>`, `<<EXEC: command>>`, `<<SEARCH: "words">>` and `<<CONFIRM: "question">>`. Nothing
between a WRITE and its end is a command. What cannot be understood becomes a command with a problem: the model is told.
Nothing is done here: turn.py hands each command to do() of tools.py.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from agents.conversation.spelling import WITH_BODY, as_documented, as_heading, as_markdown, form, in_paragraphs
from agents.conversation.state import Command
from agents.languages.registry import language_of

TOOLS = ("read", "write", "edit", "delete", "find", "exec", "search", "confirm")
_WORDS = {
    **{tool: tool for tool in TOOLS},
    **dict.fromkeys(("open", "cat", "view", "show"), "read"),
    **dict.fromkeys(("create", "save", "file"), "write"),
    **dict.fromkeys(("patch", "modify"), "edit"),
    **dict.fromkeys(("remove", "rm"), "delete"),
    **dict.fromkeys(("list", "ls", "tree", "glob", "grep"), "find"),
    **dict.fromkeys(("execute", "run", "cmd", "shell", "bash"), "exec"),
    **dict.fromkeys(("web_search", "websearch"), "search"),
    **dict.fromkeys(("ask", "confirmation"), "confirm"),
}
_NAMES = "|".join(sorted(_WORDS, key=len, reverse=True))
# One angle bracket alone opens a command only for the documented words in capitals: `<read>` may be HTML.
_OPEN = re.compile(
    rf"(?<![<\w])(?:<{{2,3}}(?!<)|«|‹‹)[ \t]*(?P<word>{_NAMES})\b[ \t]*(?P<colon>[:=]?)"
    rf"|(?<![<\w])<(?P<bare>{'|'.join(tool.upper() for tool in TOOLS)})(?P<bare_colon>:)",
    re.IGNORECASE,
)
_END = re.compile(
    r"(?:<{1,3}|«|‹‹)[ \t]*(?:[/\\][ \t]*(?:WRITE|EDIT|CREATE|FILE|SAVE|PATCH)?|"
    r"END[ _-]{0,3}(?:OF[ _-]{0,3})?(?:WRITE|EDIT|FILE)?|(?:WRITE|EDIT)[ _-]{0,3}END)[ \t]*"
    r"(?:[:=][^<>\n]*)?(?:>{1,3}|»|››)(?!\w)|^[ \t]*\[/(?:WRITE|EDIT)\][ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_EXEC_END = re.compile(r"(?:<{1,3}|«)[ \t]*[/\\][ \t]*(?:EXEC|EXECUTE|RUN|CMD|SHELL|BASH)?[ \t]*(?:>{1,3}|»)", re.I)
_CLOSE = re.compile(r">{2,3}|»|››")
_LINE_OF_COMMAND = re.compile(rf"^[ \t`*>-]*(?:<{{2,3}}|«|‹‹)[ \t]*(?:{_NAMES})\b[ \t]*[:=]", re.I | re.M)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})([^\n`]*)$")
# Around a command, where a model put it into a fence.
_FENCE_BELOW = re.compile(r"(?:\A|\n)[ \t]*(?:`{3,}|~{3,})[^\n`]*\s*\Z")
_FENCE_ABOVE = re.compile(r"\A\s*(?:`{3,}|~{3,})[ \t]*(?:\n|\Z)")
_FENCE_CLOSED = re.compile(r"[ \t]*\n\s*(?:`{3,}|~{3,})[ \t]*(?=\n|\Z)")
_HERE = re.compile(r"<<-?[ \t]*[\"']?([A-Za-z_]\w*)")
_CLOSED_LINE = re.compile(r"[ \t]*(?:>{2,3}|»|››)[ \t`*.]*$", re.MULTILINE)
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’"}
_EXAMPLE = re.compile(r"path|path/to/.*|file(?:name)?|command|cmd|query|question|words|…|\.\.\.", re.IGNORECASE)
# A model that does not wait for the result of its command, and writes one itself.
_INVENTED = re.compile(
    r"`?\s*(?:[#*_]+[ \t]*)?(?:\[done:|"
    r"[^\n<«‹]{0,60}\b(?:outputs?|results?|stdout)\b[^\n<«‹]{0,40}:[*_]*[ \t]*(?:\n|\Z))",
    re.IGNORECASE,
)
_CLAIMED = re.compile(
    r"\b(?:\d+|tests?|checks?|suite)[^\S\n]+(?:have[^\S\n]+|all[^\S\n]+|now[^\S\n]+)?passed\b", re.IGNORECASE
)
_WITH_RESULT = frozenset(TOOLS) - {"write", "edit", "delete"}
_REPLACE_MARK = re.compile(r"^[ \t]*>{5,9}[ \t]*REPLACE[ \t]*$", re.MULTILINE)
_SEARCH_MARK = re.compile(r"^[ \t]*<{5,9}[ \t]*SEARCH[ \t]*$", re.MULTILINE)


@dataclass
class ReadReply:
    """A reply taken apart: its commands in order, and its text with each command in it as Markdown for people.

    `outline` is the same with one line for each command, `spelt` with each command as it is documented: what a model is
    shown of its own words, it writes again. Results that the model `invented` are in none of them.
    """

    commands: list[Command] = field(default_factory=list)
    shown: str = ""
    outline: str = ""
    spelt: str = ""
    invented: bool = False
    parts: list[str | Command] = field(default_factory=list)  # the words and the commands in their order


@dataclass(frozen=True)
class _Found:
    command: Command
    start: int
    end: int
    invented: bool = False  # the text up to `end` holds a made-up result


def read_commands(text: str, *, truncated: bool = False) -> ReadReply:
    """The commands of a reply. Of one that was cut off, a WRITE without its end is not taken."""
    text = text.replace("\r\n", "\n")
    out, words, written, at = ReadReply(), list[str](), list[str](), 0
    for found in _with_surroundings(text, truncated):
        words.append(text[at : found.start])
        written.append(text[found.start : found.end])
        out.parts += [words[-1], found.command]
        out.commands.append(found.command)
        out.invented = out.invented or found.invented
        at = found.end
    words.append(text[at:])
    out.parts.append(words[-1])
    out.shown = in_paragraphs(words, [as_markdown(command) for command in out.commands])
    out.outline = in_paragraphs(words, [as_heading(command) for command in out.commands])
    spelt = words[0]
    for command, raw, after in zip(out.commands, written, words[1:], strict=True):
        spelt += raw if command.problem else as_documented(command)
        alone = command.tool in WITH_BODY or not after.strip()  # nothing else stands on its last line
        spelt += "\n" + after.lstrip(" \t") if alone and not after.startswith("\n") else after
    out.spelt = spelt.strip()
    return out


def prose_of(text: str, *, whole: bool = True) -> str:
    """What a reply says beside its commands; of one that is still being written, what no further word can change."""
    text = text.replace("\r\n", "\n")
    parts, at, fenced, unsure = list[str](), 0, False, False
    for found in _with_surroundings(text, truncated=False):
        before = text[at : found.start]
        if _fences(before) % 2:
            before = _FENCE_BELOW.sub("\n", before)
        parts.append(_FENCE_ABOVE.sub("\n", before) if fenced else before)
        fenced, unsure = before != text[at : found.start], bool(found.command.problem)
        at = found.end
    rest = _FENCE_ABOVE.sub("\n", text[at:]) if fenced else text[at:]
    if not whole:
        rest = _settled(rest, after_command=bool(parts), unsure=unsure)
    return re.sub(r"\n{3,}", "\n\n", "".join([*parts, rest])).strip()


def _settled(rest: str, *, after_command: bool, unsure: bool) -> str:
    """The text without its end that may become a command, or still belong to the one before."""
    lines, newline, unfinished = rest.rpartition("\n")
    if after_command and (unsure or not lines.strip()):
        return ""
    unfinished = re.split(r"[<«‹\[`~]", unfinished, maxsplit=1)[0]
    if not unfinished.strip():  # a fence may be there for the command that comes
        lines = _FENCE_BELOW.sub("", lines)
    return lines + newline + unfinished


def commands_apart(text: str, truncated: bool) -> Iterator[tuple[Command, int, int]]:
    """Each command of a reply with where it begins and ends, as far as they are asked for."""
    return ((found.command, found.start, found.end) for found in _all(text, truncated))


def _all(text: str, truncated: bool) -> Iterator[_Found]:
    at = 0
    while opening := _OPEN.search(text, at):
        if opening["bare"] and opening["bare"].upper() != opening["bare"]:
            at = opening.end()
            continue
        tool = _WORDS[(opening["word"] or opening["bare"]).lower()]
        bare = bool(opening["bare"])
        if tool in WITH_BODY:
            found = _with_body(text, opening, tool, bare, truncated)
        elif tool == "exec":
            found = _exec(text, opening, bare)
        else:
            found = _in_line(text, opening, tool, bare)
        if found is None:
            at = opening.end()
            continue
        yield found
        at = found.end


def _with_surroundings(text: str, truncated: bool) -> list[_Found]:
    """The commands with what belongs to them: a fence around one or several, and results that the model made up."""
    all_found = list(_all(text, truncated))
    first = at = 0
    for index, found in enumerate(all_found):
        following = all_found[index + 1].start if index + 1 < len(all_found) else len(text)
        if not text[found.end : following].strip() and following < len(text):
            continue  # the next one stands in the same fence
        before = text[at : all_found[first].start]
        closing = _FENCE_CLOSED.match(text, found.end)
        opening = _FENCE_BELOW.search(before) if closing else None
        if opening and closing and _fences(before) % 2:
            start = at + opening.start() + (before[opening.start()] == "\n")
            all_found[first] = replace(all_found[first], start=start)
            found = all_found[index] = replace(all_found[index], end=closing.end())
        said = text[found.end : following]
        claims = found.command.tool == "exec" and _CLAIMED.search(said)
        if claims or (found.command.tool in _WITH_RESULT and _INVENTED.match(said)):
            end = found.end + len(said.rstrip())
            all_found[index] = replace(found, end=end, invented=True)
        first, at = index + 1, all_found[index].end
    return all_found


def _fences(text: str) -> int:
    return sum(bool(_FENCE.match(line)) for line in text.split("\n"))


def _argument(text: str, start: int, tool: str, bare: bool) -> tuple[str, int, bool]:
    """What stands between the colon and the end of the command, where that ends, and whether it was closed."""
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    following = _OPEN.search(text, start, line_end) or (
        _EXEC_END.search(text, start, line_end) if tool == "exec" else None
    )
    limit = following.start() if following else line_end
    closings = list(_CLOSE.finditer(text, start, limit))
    if bare and not closings:
        closings = list(re.finditer(r">", text[start:limit]))
        if closings:
            return text[start : start + closings[-1].start()], start + closings[-1].end(), True
    if not closings:
        part = text[start:limit].rstrip()
        return part.removesuffix(">"), limit, False
    close = closings[0]
    if tool == "exec":  # `>>` may also be of the command
        ends = [one for one in closings if not text[one.end() : limit].strip(" \t`*.,;:!)")]
        close = ends[0] if ends else closings[-1]
    return text[start : close.start()], close.end(), True


def _in_line(text: str, opening: re.Match[str], tool: str, bare: bool) -> _Found | None:
    raw, end, closed = _argument(text, opening.end(), tool, bare)
    argument = _unquoted(raw)
    if not (opening["colon"] or opening["bare_colon"]) and not closed:
        return None  # "<<read" in prose
    if not argument and tool != "find":
        return _Found(Command(tool, problem=f"{tool.upper()} names nothing: write {form(tool)}."), opening.start(), end)
    if _EXAMPLE.fullmatch(argument):
        return None  # the form is being explained
    return _Found(Command(tool, argument), opening.start(), end)


def _exec(text: str, opening: re.Match[str], bare: bool) -> _Found | None:
    raw, end, closed = _over_lines(text, opening.end()) or _argument(text, opening.end(), "exec", bare)
    argument = _unquoted(raw)
    if not argument:  # the command stands on the lines below
        below = text[end:]
        stop = _EXEC_END.search(below) or re.search(r"^[ \t]*(?:>{2,3}|»)[ \t]*$", below, re.MULTILINE)
        if stop is None:
            return _Found(Command("exec", problem=f"EXEC names nothing: write {form('exec')}."), opening.start(), end)
        return _Found(Command("exec", _unfenced(below[: stop.start()])[0].strip()), opening.start(), end + stop.end())
    if _EXAMPLE.fullmatch(argument) or (not closed and not (opening["colon"] or opening["bare_colon"])):
        return None
    if stop := _EXEC_END.match(text, end):
        end = stop.end()
    return _Found(Command("exec", argument), opening.start(), end)


def _over_lines(text: str, start: int) -> tuple[str, int, bool] | None:
    """A shell command that its first line does not end: a here-document, an open quotation mark, a continuation."""
    line_end = text.find("\n", start)
    line = text[start:line_end] if line_end >= 0 else ""
    if not line.strip() or _CLOSED_LINE.search(line):
        return None
    if here := _HERE.search(line):
        mark = re.compile(rf"^[ \t]*{re.escape(here[1])}[ \t]*(?=$|>{{2,3}}|»|››)", re.MULTILINE)
        last = mark.search(text, line_end)
        if last is None:
            return None
    elif _goes_on(line):
        last = None
    else:
        return None
    at = last.end() if last else line_end
    following = _OPEN.search(text, at)
    limit = following.start() if following else len(text)
    ends = [found for found in (_CLOSED_LINE.search(text, at, limit), _EXEC_END.search(text, at, limit)) if found]
    if ends:
        end = min(ends, key=lambda found: found.start())
        return text[start : end.start()].rstrip(), end.end(), True
    return (text[start:at].rstrip(), at, False) if last else None


def _goes_on(line: str) -> bool:
    if line.rstrip().endswith(("\\", "&&", "||", "|")):
        return True
    try:
        shlex.split(line)
    except ValueError:
        return True
    return False


def _with_body(text: str, opening: re.Match[str], tool: str, bare: bool, truncated: bool) -> _Found | None:
    raw, start, closed = _argument(text, opening.end(), tool, bare)
    path = _unquoted(raw)
    if _EXAMPLE.fullmatch(path) or (not closed and not (opening["colon"] or opening["bare_colon"])):
        return None
    body, end, whole = _body(text, start, path, tool)
    command = Command(tool, path, body)
    if not path:
        command.problem = f"{tool.upper()} names no file: write {form(tool)}."
    elif not whole and truncated:
        command.problem = (
            f"Your reply was cut off before <</{tool.upper()}>>, so {path} was not written. Send a shorter file, or "
            "write it in parts: first a short version, then EDIT."
        )
    elif not whole and not body.strip():
        command.problem = f"{tool.upper()} {path} has no content: write {form(tool)}."
    if command.problem:
        command.body = ""
    return _Found(command, opening.start(), end)


def _body(text: str, start: int, path: str, tool: str) -> tuple[str, int, bool]:
    """What a WRITE or EDIT holds, where it ends, and whether its end was certain."""
    fenced = _fenced_below(text, start)
    if fenced is not None:
        body, end = fenced
        closing = _END.match(text, end + len(text[end:]) - len(text[end:].lstrip()))
        return body, closing.end() if closing else end, True
    close = _END.search(text, start)
    following = _LINE_OF_COMMAND.search(text, start)
    if close is not None and (
        following is None or close.start() < following.start() or _ends_own(text, close, following)
    ):
        return _trimmed(text[start : close.start()], path), close.end(), True
    end = following.start() if following else len(text)
    marks = list(_REPLACE_MARK.finditer(text, start, end)) if tool == "edit" else []
    if marks and not _SEARCH_MARK.search(text, marks[-1].end(), end):  # else the last block has no end
        return _trimmed(text[start : marks[-1].end()], path), marks[-1].end(), True
    opening = _FENCE_BELOW.search(text, start, end) if following else None
    if opening and _fences(text[start:end]) % 2:
        end = opening.start()  # the fence is around the command that follows
    body = _trimmed(text[start:end], path)
    return _without_prose(path, body), end, False


def _ends_own(text: str, close: re.Match[str], following: re.Match[str]) -> bool:
    """Whether a command inside a WRITE is text of the file: it is, unless another file begins before the end."""
    between = text[following.start() : close.start()]
    return not any(_WORDS[found["word"].lower()] in WITH_BODY for found in _OPEN.finditer(between) if found["word"])


def _fenced_below(text: str, start: int) -> tuple[str, int] | None:
    """The content of a fence that begins right below, and where it ends; None without one that is closed."""
    lines = text[start:].split("\n")
    first = next((row for row, line in enumerate(lines) if line.strip()), None)
    if first is None or not (opening := _FENCE.match(lines[first])):
        return None
    mark = opening[1]
    depth, at = 0, start + sum(len(line) + 1 for line in lines[: first + 1])
    for line in lines[first + 1 :]:
        found = _FENCE.match(line)
        if found and _indent(line) > _indent(lines[first]) + 3:
            pass  # in a text of the file, like a docstring
        elif found and found[2].strip() and len(found[1]) <= len(mark):
            depth += 1
        elif found and not found[2].strip() and found[1].startswith(mark):
            if not depth:
                begin = start + sum(len(one) + 1 for one in lines[: first + 1])
                return text[begin:at], at + len(line)
            depth -= 1
        if _END.match(line.strip()):
            return None
        at += len(line) + 1
    return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _unfenced(body: str) -> tuple[str, bool]:
    """A body without the fence around it."""
    lines = body.strip("\n").split("\n")
    if lines and _FENCE.match(lines[0]):
        end = len(lines) - 1
        while end > 0 and not lines[end].strip():
            end -= 1
        closing = _FENCE.match(lines[end]) if end else None
        return "\n".join(lines[1 : end if closing and not closing[2].strip() else end + 1]), True
    return body, False


def _trimmed(body: str, path: str) -> str:
    inner, fenced = _unfenced(body)
    inner = inner if fenced else re.sub(r"\A[ \t]*\n", "", body)
    inner = inner.rstrip(" \t\n")
    return f"{inner}\n" if inner else ""


def _without_prose(path: str, body: str) -> str:
    """The lines of a file whose end was not marked, without the sentence that a model wrote below them."""
    language = language_of(path)
    made = language.without_talk(body) if language is not None else None
    return body if made is None else made


def _unquoted(raw: str) -> str:
    argument = raw.strip().removesuffix("**").strip()
    argument = re.sub(r"\A(?:path|file|filename|command|cmd|query|q)\s*[:=]\s*", "", argument, flags=re.IGNORECASE)
    if len(argument) > 1 and _QUOTES.get(argument[0]) == argument[-1] and argument[0] not in argument[1:-1]:
        argument = argument[1:-1]
    return argument.strip()
