"""Programs in other languages given on the command line: awk, sed, Perl, Ruby, Node and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agents.firewall.base import ALLOW, Verdict, worst
from agents.firewall.file_effects import approve, deny
from agents.firewall.javascript import judge_javascript
from agents.firewall.paths import is_secret
from agents.firewall.shell import Simple, Word

if TYPE_CHECKING:
    from agents.firewall.runners import Runners

_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
_NODES = frozenset({"node", "nodejs", "deno", "bun", "ts-node", "tsx"})
# Options with a program as their value; those of sed and awk are read apart.
_CODE = {
    "perl": ("-e", "-E"), "ruby": ("-e",), "php": ("-r", "-B", "-R", "-E"), "lua": ("-e",), "luajit": ("-e",), "node": ("-e", "-p", "-pe", "--eval", "--print"),
    "deno": ("eval",), "bun": ("-e", "--eval"), "osascript": ("-e",), "powershell": ("-c", "-Command", "-EncodedCommand", "-enc", "-e"), "Rscript": ("-e",), "R": ("-e",),
    "julia": ("-e", "-E"), "irb": ("-e",), "tclsh": ("-c",), "expect": ("-c",), "guile": ("-c",), "ghci": ("-e",), "groovy": ("-e",),
    "scala": ("-e",), "elixir": ("-e", "--eval"), "erl": ("-eval",), "octave": ("--eval",), "octave-cli": ("--eval",), "sbcl": ("--eval",), "swipl": ("-g", "-t"), "clojure": ("-e",),
}  # fmt: skip
_STRINGS = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_STARTS = {
    "perl": r"\bsystem\b|\bexec\b|\bfork\b|\bsyscall\b|\bkill\b|socket|\bunlink\b|\brmdir\b|\brmtree\b|\brename\b|\bqx\b|`|\beval\s*[^\s{;]|\beval\s*\{?\s*(?:pack|decode)|\bpack\b"
    r"|\|\s*[\"']|[\"']\s*\||IO::|LWP|HTTP::|Net::|MIME::Base64|Socket|File::Path|POSIX|/[gimsx]*e[gimsx]*e|open\s*\(?[^,]+,\s*[\"']?\s*[+>|]|%ENV|\bdo\s+[\"'$]|\brequire\s+[\"'$]|\bglob\b.*\bunlink|<\s*/|\$0\b.*=",
    "ruby": r"\bsystem\b|\bexec\b|\bspawn\b|\bfork\b|`|%x|IO\.popen|Open3|\beval\b|instance_eval|socket|Net::|open-uri|URI|FileUtils|File\.(delete|unlink|write|rename|symlink|chmod)|Dir\.(rmdir|delete)"
    r"|\bENV\b(?!\[)|Process\.|Kernel|\bsend\b|\bpack\b|unpack|Marshal|Fiddle|\bload\b|require\s+[\"']\.|__send__|public_send|define_method|syscall",
    "php": r"\b(system|exec|shell_exec|passthru|popen|proc_open|pcntl_\w+|eval|assert|create_function|fsockopen|stream_socket_client|curl_\w+|unlink|rmdir|file_put_contents|include|require|base64_decode|gzinflate|str_rot13|mail|dl|call_user_func|array_map|preg_replace_callback|posix_\w+|rename|symlink|chmod|chown)\b|`|\$_(ENV|SERVER)|getenv\(\)|https?://|ftp://|\$\w+\(",
    "lua": r"os\.(execute|remove|rename|exit|getenv)|io\.(popen|open)|require|load(string|file)?\b|dofile|package\.|debug\.|ffi|socket",
}  # fmt: skip
_STARTS_ANY = r"(?i)\bsystem\b|\bunix\s*\(|\bshell_cmd\b|\bexec\w*|\bspawn\b|\bfork\b|`|socket|https?:|\bshell\b|\brun\b|\bprocess\b|\bdelete|\bunlink|\bremove|\brm\b|\beval\b|open\(|getRuntime|Invoke-|iwr|iex|download|unsafe|ENV"


def judge_inline(judge: Runners, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
    """Judge what one interpreter is told to run."""
    family = re.sub(r"[\d.]+$", "", name)
    if family in _AWKS:
        yield from _awk(judge, arguments)
    elif family in ("sed", "gsed"):
        yield from _sed(judge, arguments)
    else:
        yield from _other(judge, family, arguments, simple)


def _other(judge: Runners, family: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
    options = _CODE.get(
        {"nodejs": "node", "ts-node": "node", "tsx": "node", "pwsh": "powershell"}.get(family, family), ()
    )
    texts = [word.text for word in arguments]
    found = False
    for index, text in enumerate(texts):
        code = None
        if text in options or (
            re.fullmatch(r"-[a-zA-Z0-9]*[eE]", text) and "-e" in options and family in ("perl", "ruby", "node")
        ):
            code = arguments[index + 1] if index + 1 < len(texts) else None
        elif (
            text.startswith("-e") and "-e" in options and len(text) > 2 and family not in ("node", "erl", "powershell")
        ):
            code = Word(text[2:], arguments[index].literal)
        elif any(text.startswith(option + "=") for option in options if option.startswith("--")):
            code = Word(text.partition("=")[2], arguments[index].literal)
        if code is not None:
            found = True
            yield _code(judge, family, code, " ".join(texts[: index + 1]))
    if found:
        return
    plain = [word for word in arguments if not word.text.startswith("-")]
    if family == "deno" and plain and plain[0].text in ("run", "eval", "install"):
        plain = plain[1:]
    if any(text.startswith(("http://", "https://", "data:")) for text in texts):
        yield deny("network-to-shell", "An interpreter runs what the network answers.")
    elif any(word.text.startswith("<(") for word in arguments):
        yield approve("text-to-shell", "An interpreter runs what another program prints.")
    elif plain and plain[0].text not in ("/dev/stdin", "repl"):
        yield judge.program_file(plain[0].text)
        if re.search(r"(^|\s)(-r|--require|--import|--loader|--experimental-loader|--inspect)\b", " ".join(texts)):
            yield approve("startup-file", f"{family} loads another file first, or opens a port.")
    elif simple.text_in is not None or simple.blind_in or simple.piped_from is not None or simple.reads:
        yield from judge.fed(simple, lambda text: _code(judge, family, Word(text), ""), "interpreter")


def _code(judge: Runners, family: str, code: Word, before: str) -> Verdict:
    if not code.literal and re.match(r"\s*(\$\(|`|\$\w+\s*$)", code.text):
        if re.search(r"\b(curl|wget)\b", code.text):
            return deny("network-to-shell", "An interpreter runs what the network answers.")
        return approve("text-to-shell", "An interpreter runs text known only at run time.")
    verdicts = [_names_secrets(code.text)]
    if family in _NODES:
        verdicts.append(judge_javascript(code.text, judge.context))
    else:
        pattern = _STARTS.get(family, _STARTS_ANY)
        if found := re.search(pattern, code.text):
            verdicts.append(
                approve(
                    "inline-program",
                    f"The {family} program uses {found[0].strip()[:30]!r}: it may start others, reach the network or change files.",
                )
            )
            # What it would start is worth a look: it may be refused outright.
            for text in _texts(code.text):
                if " " in text.strip() or "/" in text:
                    inner = judge.nested(text)
                    verdicts.append(inner if inner.decision == "deny" and inner.rule != "command.unparsable" else ALLOW)
        if re.search(r"-M\s*\w*(Socket|IO::|LWP|HTTP|Net|MIME)|-r\s*(socket|net|open-uri|fiddle|drb)", before):
            verdicts.append(
                approve("inline-program", f"{family} loads a library that talks to the network or decodes.")
            )
    return worst(verdicts)


def _names_secrets(code: str) -> Verdict:
    for text in _texts(code):
        if len(text) < 300 and is_secret(text):
            return deny("secret", f"The program names {text}, which holds secrets.")
    return ALLOW


def _texts(code: str) -> list[str]:
    return [found[1] or found[2] or "" for found in _STRINGS.finditer(code)][:50]


def _awk(judge: Runners, arguments: Sequence[Word]) -> Iterator[Verdict]:
    program, index = None, 0
    while index < len(arguments):
        text = arguments[index].text
        if text in ("-f", "--file", "-i", "--include", "-l", "--load", "-E"):
            if index + 1 < len(arguments):
                yield judge.program_file(arguments[index + 1].text)
            return
        if text in ("-F", "-v", "--assign", "--field-separator"):
            index += 2
            continue
        if text in ("-e", "--source") and index + 1 < len(arguments):
            program = arguments[index + 1]
            break
        if not text.startswith("-") or text == "-":
            program = arguments[index]
            break
        index += 1
    if program is None:
        return
    code = program.text
    yield _names_secrets(code)
    if re.search(r"in\s+ENVIRON", code):
        yield approve("environment-dump", "awk shows all environment variables.")
    if re.search(r"/inet[46]?/(tcp|udp|raw)?", code):
        yield deny("network-device", "awk opens a network connection.")
    for found in re.finditer(r"\bsystem\s*\(\s*(\"(?:[^\"\\]|\\.)*\")?\s*(.)", code):
        if found[1] and found[2] == ")":
            yield judge.nested(found[1][1:-1].replace('\\"', '"'))
        else:
            yield approve("inline-program", "awk starts a program known only at run time.")
    for found in re.finditer(
        r"\|&?\s*(?:getline\s*<\s*)?\"((?:[^\"\\]|\\.)*)\"|\"((?:[^\"\\]|\\.)*)\"\s*\|&?\s*getline", code
    ):
        yield judge.nested((found[1] or found[2] or "").replace('\\"', '"'))
    if re.search(
        r"(?<!\|)\|&?(?!\|)\s*(\w+\s*($|[;}\n])|getline|\()|\w\s*\|\s*getline",
        re.sub(r"\"(?:[^\"\\]|\\.)*\"|/(?:[^/\\\n]|\\.)+/", '""', code).replace('"" | getline', ""),
    ):
        yield approve("inline-program", "awk starts a program known only at run time.")
    for found in re.finditer(r"(?:print|printf)[^;{}\n]*?>>?\s*\"([^\"]+)\"", code):
        yield judge.write_to(Word(found[1]), adds=True)


def _sed(judge: Runners, arguments: Sequence[Word]) -> Iterator[Verdict]:
    scripts, plain, index, in_place = [], [], 0, False
    while index < len(arguments):
        text = arguments[index].text
        if text in ("-e", "--expression") or re.fullmatch(r"-[nrEsuz]*e", text):
            scripts += [arguments[index + 1]] if index + 1 < len(arguments) else []
            index += 1
        elif text.startswith("--expression="):
            scripts.append(Word(text.partition("=")[2], arguments[index].literal))
        elif re.fullmatch(r"-[nrEsuzi]*f|--file", text):
            if index + 1 < len(arguments):
                yield judge.program_file(arguments[index + 1].text)
            scripts.append(Word(""))
            index += 1
        elif text.startswith("-") and text != "-":
            in_place |= bool(re.match(r"-[nrEsuz]*i|--in-place", text))
        else:
            plain.append(arguments[index])
        index += 1
    if not scripts and plain:
        scripts, plain = plain[:1], plain[1:]
    for script in scripts:
        for letter, value in _sed_effects(script.text):
            if letter == "e":
                yield judge.nested(value) if value else approve("inline-program", "sed runs lines of text as commands.")
                yield approve("inline-program", "sed runs a program.")
            elif letter in "wW" and value:
                yield judge.write_to(Word(value), adds=True)
            elif letter in "rR" and is_secret(value):
                yield deny("secret", f"sed reads {value}, which holds secrets.")
    if in_place and any(script.text.strip() in ("d", "1,$d", "1d;$d") for script in scripts):
        yield approve("whole-files", "sed empties files.")
    if in_place:
        for word in plain:
            yield judge.write_to(word)


def _sed_effects(script: str) -> Iterator[tuple[str, str]]:
    """The commands of a sed script that reach beyond its text: e, w, W, r, R, and the flags e and w of s."""
    index, end = 0, len(script)

    def past(delimiter: str, start: int) -> int:
        while start < end and script[start] != delimiter:
            start += 2 if script[start] == "\\" else 1
        return start + 1

    while index < end:
        char = script[index]
        if char in " \t\n;{}!,+~" or char.isdigit() or char == "$":
            index += 1
        elif char == "/":
            index = past("/", index + 1)
            while index < end and script[index] in "IM":
                index += 1
        elif char == "\\" and index + 1 < end:
            index = past(script[index + 1], index + 2)
        elif char in "sy" and index + 1 < end:
            delimiter = script[index + 1]
            index = past(delimiter, past(delimiter, index + 2))
            flags = re.compile(r"[gpiImM0-9ew]*").match(script, index)
            used = flags[0] if flags else ""
            index += len(used)
            if char == "s" and "w" in used:
                line = script[index:].partition("\n")[0]
                yield "w", line.strip()
                index += len(line)
            if char == "s" and "e" in used:
                yield "e", ""
        elif char in "aic" or char in "rRwWe":
            line = script[index + 1 :].partition("\n")[0]
            if char in "rRwWe":
                yield char, re.split(r"[;}]\s*$", line)[0].strip()
            index += 1 + len(line)
        elif char in "bBtTvlLqQ:":
            index += 1 + len(re.split(r"[;\n}]", script[index + 1 :], maxsplit=1)[0])
        else:
            index += 1
