"""Programs in other languages given on the command line or fed to an interpreter: awk, sed, Perl, Node and the like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from agents.firewall.base import ALLOW, CodeJudges, FirewallContext, FirewallVerdict, worst
from agents.firewall.paths import is_secret
from agents.firewall.shell.expansion import output
from agents.firewall.shell.file_effects import FileEffects, approve, deny
from agents.firewall.shell.script import SimpleCommand, Word
from agents.firewall.shell.tables import names, pattern, rules

_STRINGS = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_FAMILIES = {"nodejs": "node", "ts-node": "node", "tsx": "node", "pwsh": "powershell", "gsed": "sed"}
_AT_RUN_TIME = re.compile(r"\s*(\$\(|`|\$\w+\s*$)")
_NETWORK_TO_SHELL = "{} runs what the network answers."


def chain(simple: SimpleCommand | None) -> list[str]:
    """The programs before this one in the pipe, nearest first, those behind wrappers too."""
    programs: list[str] = []
    while simple is not None and len(programs) < 50:
        programs.append(simple.name)
        if simple.name in names("commands", "wrappers") | {"sudo"}:
            programs += [word.text.rpartition("/")[2] for word in simple.words[1:4]]
        simple = simple.piped_from
    return programs


class Interpreters(FileEffects):
    """Judges programs that run the text they are given."""

    def __init__(self, context: FirewallContext, code_judges: CodeJudges, depth: int) -> None:
        """Judge for one script, `depth` shells inside shells."""
        super().__init__(context)
        self.code_judges, self.depth = code_judges, depth

    def nested(self, text: str) -> FirewallVerdict:
        """Judge a command line inside this one."""
        raise NotImplementedError

    def given_text(self, simple: SimpleCommand) -> str | None:
        """What is fed to a command, when that can be known."""
        return simple.text_in if simple.text_in is not None else output(simple.piped_from)

    def program_file(self, path: str) -> FirewallVerdict:
        """A script to run: one of the workspace was judged when it was written; others were not."""
        if re.match(r"(/tmp|/var/tmp|/dev/|/proc/|~|https?://|\.\./)", path):
            return approve("foreign-program", f"{path} is a program from outside the workspace.")
        return ALLOW

    def fed(
        self, simple: SimpleCommand, judge: Callable[[str], FirewallVerdict], what: str
    ) -> Iterator[FirewallVerdict]:
        """Judge the text that an interpreter reads from its input."""
        text, before = self.given_text(simple), simple.piped_from
        source = set(chain(before))
        decoded = bool(names("sets", "decoders") & source)
        if text is not None:
            yield judge(text)
            if simple.text_in is None and decoded:
                yield deny("decoded-to-shell", f"A {what} runs text that was decoded on the way.")
        elif simple.blind_in:
            yield approve("text-to-shell", f"A {what} runs text known only at run time.")
        elif before is not None and before.name == "cat" and before.text_in is not None:
            yield judge(before.text_in)
        elif any(pattern("commands", "network").fullmatch(program) for program in source):
            yield deny("network-to-shell", _NETWORK_TO_SHELL.format(f"A {what}"))
        elif decoded:
            yield deny("decoded-to-shell", f"A {what} runs text that was decoded on the way.")
        elif before is not None:
            yield approve("text-to-shell", f"A {what} runs text from another program.")
        elif simple.reads:
            yield from (self.program_file(word.text) for word in simple.reads)
        else:
            yield approve("bare-shell", f"A {what} without a program runs whatever commands come in.")

    def interpreter(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Judge what one interpreter runs."""
        name = re.sub(r"[\d.]+$", "", name)
        family = _FAMILIES.get(name, name)
        if family.endswith("awk"):
            yield from self._awk(arguments)
        elif family == "sed":
            yield from self._sed(arguments)
        else:
            yield from self._other(family, arguments, simple)

    def _other(self, family: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        texts = [word.text for word in arguments]
        programs = list(_inline_programs(family, arguments))
        for code, before in programs:
            yield self._code(family, code, before)
        if programs:
            return
        plain = [text for text in texts if not text.startswith("-")]
        if family == "deno" and plain[:1] and plain[0] in ("run", "eval", "install"):
            plain = plain[1:]
        if any(text.startswith(("http://", "https://", "data:")) for text in texts):
            yield deny("network-to-shell", _NETWORK_TO_SHELL.format("An interpreter"))
        elif any(text.startswith("<(") for text in texts):
            yield approve("text-to-shell", "An interpreter runs what another program prints.")
        elif plain and plain[0] not in ("/dev/stdin", "repl"):
            yield self.program_file(plain[0])
            if re.search(r"(^|\s)(-r|--require|--import|--loader|--experimental-loader|--inspect)\b", " ".join(texts)):
                yield approve("startup-file", f"{family} loads another file first, or opens a port.")
        elif simple.text_in is not None or simple.blind_in or simple.piped_from is not None or simple.reads:
            yield from self.fed(simple, lambda text: self._code(family, Word(text), ""), "interpreter")

    def _code(self, family: str, code: Word, before: str) -> FirewallVerdict:
        if not code.literal and _AT_RUN_TIME.match(code.text):
            if re.search(r"\b(curl|wget)\b", code.text):
                return deny("network-to-shell", _NETWORK_TO_SHELL.format("An interpreter"))
            return approve("text-to-shell", "An interpreter runs text known only at run time.")
        verdicts = [_names_secrets(code.text)]
        if family in ("node", "deno", "bun"):
            return worst([*verdicts, self.code_judges.javascript(code.text, self.context)])
        starts = pattern("inline", "starts", family if family in rules()["inline"]["starts"] else "any")
        if found := starts.search(code.text):
            shown = f"The {family} program uses {found[0].strip()[:30]!r}"
            reason = f"{shown}: it may start others, reach the network or change files."
            verdicts.append(approve("inline-program", reason))
            # What it would start may be refused outright.
            inner = (self.nested(text) for text in _texts(code.text) if " " in text.strip() or "/" in text)
            verdicts += [one for one in inner if one.decision == "deny" and one.rule != "command.unparsable"]
        if re.search(r"-M\s*\w*(Socket|IO::|LWP|HTTP|Net|MIME)|-r\s*(socket|net|open-uri|fiddle|drb)", before):
            reason = f"{family} loads a library that talks to the network or decodes."
            verdicts.append(approve("inline-program", reason))
        return worst(verdicts)

    def _awk(self, arguments: Sequence[Word]) -> Iterator[FirewallVerdict]:
        rest = iter(enumerate(arguments))
        code = ""
        for index, word in rest:
            after = arguments[index + 1].text if index + 1 < len(arguments) else ""
            if word.text in ("-f", "--file", "-i", "--include", "-l", "--load", "-E"):
                yield self.program_file(after)
                return
            if word.text in ("-F", "-v", "--assign", "--field-separator"):
                next(rest, None)
            elif word.text in ("-e", "--source") or not word.text.startswith("-") or word.text == "-":
                code = after if word.text in ("-e", "--source") else word.text
                break
        yield _names_secrets(code)
        for found in re.finditer(r"\bsystem\s*\(\s*(\"(?:[^\"\\]|\\.)*\")?\s*(.)", code):
            if found[1] and found[2] == ")":
                yield self.nested(found[1][1:-1].replace('\\"', '"'))
            else:
                yield approve("inline-program", "awk starts a program known only at run time.")
        text = r"\"((?:[^\"\\]|\\.)*)\""
        for found in re.finditer(rf"\|&?\s*(?:getline\s*<\s*)?{text}|{text}\s*\|&?\s*getline", code):
            yield self.nested((found[1] or found[2] or "").replace('\\"', '"'))
        rest_of_code = re.sub(rf"{text}|/(?:[^/\\\n]|\\.)+/", '""', code).replace('"" | getline', "")
        if re.search(r"(?<!\|)\|&?(?!\|)\s*(\w+\s*($|[;}\n])|getline|\()|\w\s*\|\s*getline", rest_of_code):
            yield approve("inline-program", "awk starts a program known only at run time.")
        for found in re.finditer(r"(?:print|printf)[^;{}\n]*?>>?\s*\"([^\"]+)\"", code):
            yield self.write_to(Word(found[1]), adds=True)

    def _sed(self, arguments: Sequence[Word]) -> Iterator[FirewallVerdict]:
        scripts: list[str] = []
        plain: list[Word] = []
        rest, in_place, from_file = iter(arguments), False, False
        for word in rest:
            if word.text in ("-e", "--expression") or re.fullmatch(r"-[nrEsuz]*e", word.text):
                scripts += [following.text for following in [next(rest, None)] if following]
            elif word.text.startswith("--expression="):
                scripts.append(word.text.partition("=")[2])
            elif re.fullmatch(r"-[nrEsuzi]*f|--file", word.text):
                from_file = True
                yield self.program_file((next(rest, None) or Word("")).text)
            elif word.text.startswith("-") and word.text != "-":
                in_place |= bool(re.match(r"-[nrEsuz]*i|--in-place", word.text))
            else:
                plain.append(word)
        if not scripts and not from_file and plain:
            scripts.append(plain.pop(0).text)
        for letter, value in (effect for script in scripts for effect in sed_effects(script)):
            yield from self._sed_effect(letter, value)
        if in_place:
            if any(script.strip() in ("d", "1,$d", "1d;$d") for script in scripts):
                yield approve("whole-files", "sed empties files.")
            yield from (self.write_to(word) for word in plain)

    def _sed_effect(self, letter: str, value: str) -> Iterator[FirewallVerdict]:
        if letter == "e":
            yield approve("inline-program", "sed runs a program.")
            yield self.nested(value) if value else ALLOW
        elif letter in "wW" and value:
            yield self.write_to(Word(value), adds=True)
        elif letter in "rR" and is_secret(value):
            yield deny("secret", f"sed reads {value}, which holds secrets.")


def _inline_programs(family: str, arguments: Sequence[Word]) -> Iterator[tuple[Word, str]]:
    """The programs given as options, each with the words up to it."""
    options: list[str] = rules()["inline"]["options"].get(family, [])
    texts = [word.text for word in arguments]
    for index, text in enumerate(texts):
        combined = family in ("perl", "ruby", "node") and re.fullmatch(r"-[a-zA-Z0-9]*[eE]", text)
        before = " ".join(texts[: index + 1])
        if text in options or combined:
            yield from ((code, before) for code in arguments[index + 1 : index + 2])
        elif re.match(r"-e.", text) and "-e" in options and family not in ("node", "erl", "powershell"):
            yield Word(text[2:], arguments[index].literal), before
        elif any(text.startswith(option + "=") for option in options if option.startswith("--")):
            yield Word(text.partition("=")[2], arguments[index].literal), before


def sed_effects(script: str) -> Iterator[tuple[str, str]]:
    """The commands of a sed script that reach beyond its text: e, w, W, r, R, and the flags e and w of s."""
    for found in pattern("inline", "sed").finditer(script):
        if found["verb"]:
            yield found["verb"], re.split(r"[;}]\s*$", found["value"])[0].strip()
        if found["file"]:
            yield "w", found["file"].strip()
        if "e" in (found["flags"] or ""):
            yield "e", ""


def _names_secrets(code: str) -> FirewallVerdict:
    for text in _texts(code):
        if len(text) < 300 and is_secret(text):
            return deny("secret", f"The program names {text}, which holds secrets.")
    return ALLOW


def _texts(code: str) -> list[str]:
    return [found[1] or found[2] or "" for found in _STRINGS.finditer(code)][:50]
