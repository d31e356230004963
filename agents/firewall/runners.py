"""Programs that run other programs: what they run is found and judged like a command of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from agents.firewall.base import ALLOW, FirewallContext, Verdict, rules, words
from agents.firewall.expanding import output
from agents.firewall.file_effects import FileEffects, approve, deny, mild
from agents.firewall.inline import judge_inline
from agents.firewall.paths import is_secret, normal
from agents.firewall.shell import Simple, Word
from agents.firewall.steering import dangerous_assignment

CodeJudge = Callable[[str, FirewallContext], Verdict]
_FETCH = re.compile(r"\b(curl|wget|nc|ncat|fetch|aria2c|lwp-request)\b")
_DECODERS = frozenset(
    {"base64", "xxd", "rev", "openssl", "tr", "gunzip", "zcat", "uudecode", "base32", "basenc", "gpg", "bzcat", "xzcat"}
)
_DANGER_NAMES = frozenset(
    {"sudo", "ssh", "git", "ls", "cd", "cat", "su", "python", "python3", "npm", "pip", "make", "pytest", "rm", "cp"}
)

_KINDS = r"\*\.(py|js|ts|go|rs|java|c|cpp|rb|php)"
_LISTS_EVERYTHING = re.compile(
    rf"git ls-files( -z| {_KINDS})*|ls( -[1aAU]+| \./?| (src/)?{_KINDS})*|find( \./?)?( -type f)?( -name {_KINDS})?( -print0)?"
)


def after_options(arguments: Sequence[Word], with_value: set[str]) -> Sequence[Word]:
    """What follows a program's own options."""
    index = 0
    while index < len(arguments) and arguments[index].text.startswith("-"):
        text = arguments[index].text
        index += 2 if text in with_value else 1
        if text == "--":
            break
    return arguments[index:]


def option_value(arguments: Sequence[Word], letter: str) -> Word | None:
    """The word after -c, -lc, -ec …, as shells and interpreters read it."""
    for index, word in enumerate(arguments):
        if not word.text.startswith("-") or word.text.startswith("--"):
            if not word.text.startswith("-"):
                return None
            continue
        if letter in word.text[1:]:
            attached = word.text[word.text.index(letter) + 1 :]
            if letter in ("c", "m") and attached and word.text[1] == letter:
                return Word(attached, word.literal)
            return arguments[index + 1] if index + 1 < len(arguments) else None
    return None


def chain(simple: Simple | None) -> list[str]:
    """The programs before this one in the pipe, nearest first, those behind wrappers too."""
    names: list[str] = []
    while simple is not None and len(names) < 50:
        names.append(simple.name)
        if simple.name in words("commands", "wrappers") | {"sudo"}:
            names += [word.text.rpartition("/")[2] for word in simple.words[1:4]]
        simple = simple.piped_from
    return names


class Runners(FileEffects):
    """What wrappers, shells, interpreters and their like would run."""

    allow = ALLOW

    def __init__(self, context: FirewallContext, judge_code: CodeJudge, depth: int) -> None:
        """Judge for one script, `depth` shells inside shells."""
        super().__init__(context)
        self.judge_code, self.depth = judge_code, depth
        self.functions: set[str] = set()

    def nested(self, text: str, extra: int = 1) -> Verdict:
        """Judge a command line inside this one; the judge of whole commands answers."""
        raise TypeError("Runners judges single programs only; use the judge of commands")

    def run(self, given: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """Judge one program with its arguments; the judge of whole commands answers."""
        raise TypeError("Runners judges single programs only; use the judge of commands")

    def given_text(self, simple: Simple) -> str | None:
        """What is fed to a command, when that can be known."""
        return simple.text_in if simple.text_in is not None else output(simple.piped_from)

    def hiding(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """Options whose value is a command line, and arguments that may hold a program (tables `runs`, `hides`)."""
        table = rules()
        name = table["same"].get(name, name)
        texts = [word.text for word in arguments]
        for option in table["runs"].get(name, ()):
            for index, text in enumerate(texts):
                if text == option:
                    value = arguments[index + 1] if index + 1 < len(texts) else None
                elif text.startswith(option + "=") or (
                    len(option) == 2 and option[0] == "-" and text.startswith(option)
                ):
                    value = Word(text[len(option) :].removeprefix("="), arguments[index].literal)
                else:
                    continue
                if value is None or not value.text:
                    continue
                if not value.literal and re.match(r"\s*[$`]", value.text):
                    yield approve("hidden-program", f"{name} {option} runs a program known only at run time.")
                yield self.nested(
                    re.sub(r"^exec[= ]", "", value.text).replace(",", " ")
                    if "wrapper" in option
                    else re.sub(r"^exec=", "", value.text)
                )
        if pattern := table["hides"].get(name):
            given = self.given_text(simple) if pattern != "." else None
            if found := re.search(pattern, " ".join(["", *texts, given or ""])):
                yield approve(
                    "hidden-program", f"{name} may run or reach more than it seems ({found[0].strip()[:40] or name})."
                )

    def unwrap(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """Judge what a wrapper runs."""
        takes = {
            "xargs": {"-I", "-n", "-P", "-L", "-d", "-s", "-E", "-a", "-J", "-R"},
            "parallel": {"-j", "-S", "--joblog", "-N", "--colsep", "-a", "--arg-file"},
            "nice": {"-n"}, "ionice": {"-c", "-n", "-p"}, "timeout": {"-k", "-s"}, "watch": {"-n"}, "env": {"-u", "-C"},
            "exec": {"-a"}, "taskset": {"-p"}, "systemd-run": {"-p", "--unit", "-u"}, "prlimit": set(), "stdbuf": {"-i", "-o", "-e"},
        }.get(name, set())  # fmt: skip
        rest = after_options(arguments, takes)
        if name in ("timeout", "taskset", "chrt", "faketime", "logsave", "setarch"):
            rest = rest[1:]
        while name == "env" and rest and "=" in rest[0].text:
            yield from dangerous_assignment(rest[0].text)
            rest = rest[1:]
        if name in ("env", "command") and any(re.match(r"-S|--split-string", word.text) for word in arguments):
            said = " ".join(re.sub(r"^(-S|--split-string=?)", "", word.text) for word in arguments)
            yield self.nested(said)
        if name == "exec" and any(word.text == "-a" for word in arguments):
            yield approve("false-name", "exec -a gives a program the name of another.")
        if name == "xargs" and any(
            re.fullmatch(r"-P(0|\d{3,})", a.text + (b.text if a.text == "-P" else ""))
            for a, b in zip(arguments, [*arguments[1:], Word("")], strict=False)
        ):
            yield approve("many-programs", "xargs starts very many programs beside each other.")
        if name == "setsid" or (name == "systemd-run"):
            yield approve("background", f"{name} starts a program that outlives the command.")
        if name in ("torsocks", "torify", "proxychains", "proxychains4"):
            yield approve("network", f"{name} sends connections through other machines.")
        if name in ("xargs", "parallel"):
            yield from self.spread(name, list(rest), simple)
        elif name == "watch" and rest:
            yield self.nested(" ".join(word.text for word in rest))
        elif name in ("command",) and any(word.text in ("-v", "-V") for word in arguments):
            return
        elif rest:
            yield from self.simple(Simple(words=list(rest), piped_from=simple.piped_from, text_in=simple.text_in))

    def spread(self, name: str, rest: list[Word], simple: Simple) -> Iterator[Verdict]:
        """xargs and parallel: the arguments come from elsewhere."""
        given = self.given_text(simple)
        if not rest:
            if name == "parallel":
                yield approve("text-to-shell", "parallel runs lines of text as commands.")
            return
        if rest[0].text in ("{}", "%", "@"):
            yield approve("text-to-shell", f"{name} runs lines of text as commands.")
        if name == "parallel" and ":::" in [word.text for word in rest]:
            rest = (
                rest[: [word.text for word in rest].index(":::")]
                + [w for w in rest if not w.text.startswith(":::")][len(rest) :]
            )
        if name == "parallel" and len(rest) == 1 and " " in rest[0].text:
            yield self.nested(rest[0].text)
            return
        texts = [word.text for word in rest]
        program = texts[0].rpartition("/")[2]
        if program in words("commands", "shells") | words("commands", "pythons"):
            code = option_value(rest[1:], "c")
            if (code is None and len(rest) == 1) or (
                code is not None and re.fullmatch(r"\s*[\"']?(\{\}|%|@|_)[\"']?\s*", code.text)
            ):
                yield approve("text-to-shell", f"{name} lets a shell run lines of text.")
        if given is not None:
            yield from self.simple(Simple(words=[*rest, *(Word(text) for text in given.split()[:50])]))
            return
        if program == "kill" and {"jobs", "lsof"} & set(chain(simple.piped_from)):
            return  # the shell's own jobs, or who holds a port of the sandbox's own network
        yield from self.simple(Simple(words=rest))
        starts = self.starts(simple.piped_from)
        if program in ("rm", "shred", "truncate") and self.lists_everything(simple.piped_from):
            yield approve("whole-workspace", f"{program} takes everything in the workspace.")
        if starts and program in ("rm", "shred", "mv", "unlink", "chmod", "chown", "truncate", "kill"):
            for start in starts:
                verdict = self.write_to(start, adds=program in ("chmod", "chown"), narrow=True)
                if program == "chmod" and verdict.decision == "approve" and mild(rest):
                    continue
                yield (
                    verdict
                    if verdict.decision != "deny"
                    else approve("outside-files", f"{program} changes files below {start.text}.")
                )

    def lists_everything(self, simple: Simple | None) -> bool:
        """Whether a pipe begins with a list of all files of the workspace."""
        if simple is None or simple.piped_from is not None or not simple.words:
            return False
        texts = [word.text for word in simple.words]
        return bool(_LISTS_EVERYTHING.fullmatch(" ".join([simple.name, *texts[1:]])))

    def starts(self, simple: Simple | None) -> list[Word]:
        """The folders that a `find` or `ls` at the head of a pipe looks in."""
        while simple is not None and simple.piped_from is not None:
            simple = simple.piped_from
        if simple is None or simple.name not in ("find", "ls", "locate", "fd"):
            return []
        found = []
        for word in simple.words[1:]:
            if simple.name == "find" and word.text.startswith(("-", "(", "!", "\\")):
                break
            if word.text.startswith(("/", "~", "..")):
                found.append(word)
        return found

    def shell(self, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """Judge what a shell is told to run."""
        script = option_value(arguments, "c")
        plain = [
            word for word in after_options(arguments, {"-o", "+o", "--rcfile", "--init-file", "-O"}) if word.text != "-"
        ]
        texts = [word.text for word in arguments]
        for option in ("--rcfile", "--init-file"):
            if option in texts:
                yield approve("startup-file", "A shell reads a startup file of the command's choice.")
        if script is not None:
            yield self.nested(script.text)
            if _FETCH.search(script.text) and not script.literal:
                yield deny("network-to-shell", "A shell runs what the network answers.")
            if (
                not script.literal
                and re.match(r"\s*(\$\(|`|\$\w+\s*$|\$\{\w+\}\s*$)", script.text)
                and "SHELL" not in script.text
            ):
                yield approve("text-to-shell", "A shell runs text known only at run time.")
            return
        if any(word.text.startswith("<(") for word in arguments):
            network = any(_FETCH.search(word.text) for word in arguments)
            yield (
                deny("network-to-shell", "A shell runs what the network answers.")
                if network
                else approve("text-to-shell", "A shell runs what another program prints.")
            )
            return
        from_input = "s" in "".join(text for text in texts if re.fullmatch(r"-[a-z]+", text))
        if plain and not from_input and plain[0].text not in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            yield self.program_file(plain[0].text)
            return
        if texts and all(re.fullmatch(r"--?(version|help|V|h)", text) for text in texts):
            return
        yield from self.fed(simple, lambda text: self.nested(text), "shell")

    def fed(self, simple: Simple, judge: Callable[[str], Verdict], what: str) -> Iterator[Verdict]:
        """Judge the text that an interpreter reads from its input."""
        text = self.given_text(simple)
        source = chain(simple.piped_from)
        if text is not None:
            yield judge(text)
            if simple.text_in is None and _DECODERS & set(source):
                yield deny("decoded-to-shell", f"A {what} runs text that was decoded on the way.")
        elif simple.blind_in:
            yield approve("text-to-shell", f"A {what} runs text known only at run time.")
        elif simple.piped_from is not None:
            if simple.piped_from.name == "cat" and simple.piped_from.text_in is not None:
                yield judge(simple.piped_from.text_in)
            elif any(part in words("commands", "network") for part in source):
                yield deny("network-to-shell", f"A {what} runs what the network answers.")
            elif _DECODERS & set(source):
                yield deny("decoded-to-shell", f"A {what} runs text that was decoded on the way.")
            else:
                yield approve("text-to-shell", f"A {what} runs text from another program.")
        elif simple.reads:
            for word in simple.reads:
                yield self.program_file(word.text)
        else:
            yield approve("bare-shell", f"A {what} without a program waits for anybody's commands.")

    def program_file(self, path: str) -> Verdict:
        """A script to run: one of the workspace was judged when it was written; others were not."""
        if re.match(r"(/tmp|/var/tmp|/dev/|/proc/|~|https?://|\.\./)", path):
            return approve("foreign-program", f"{path} is a program from outside the workspace.")
        return ALLOW

    def python(self, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """Judge Python given in the command, as a file or from another program."""
        code, module = option_value(arguments, "c"), option_value(arguments, "m")
        rest = [word for word in arguments if word.text != "-"]
        if code is not None:
            verdict = self.judge_code(re.sub(r"\bprint\s+(?![(=])([^;\n]+)", r"print(\1)", code.text), self.context)
            if verdict.rule == "code.unparsable":
                verdict = approve("unparsable", verdict.reason)  # Python 2, or text put in by the shell
            yield verdict
            if not code.literal and re.match(r"\s*(\$\(|`|\$\w+\s*$)", code.text):
                yield approve("text-to-shell", "Python runs text known only at run time.")
        elif module is not None and module.text in ("pip", "ensurepip", "easy_install"):
            after = [word.text for word in arguments].index(module.text) + 1 if module in arguments else len(arguments)
            yield self.packages("pip", arguments[after:])
        elif any(word.text.startswith("<(") for word in arguments):
            yield approve("text-to-shell", "Python runs what another program prints.")
        elif not rest and (simple.text_in is not None or simple.piped_from is not None or simple.blind_in):
            yield from self.fed(simple, lambda text: self.judge_code(text, self.context), "Python")
        elif plain := after_options(arguments, {"-W", "-X", "-m"}):
            yield self.program_file(plain[0].text)

    def packages(self, name: str, arguments: Sequence[Word]) -> Verdict:
        """Judge a package manager; Tools answers."""
        raise TypeError("Runners judges single programs only; use the judge of commands")

    def interpreter(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """Judge programs in other languages, given in the command or fed to it."""
        yield from judge_inline(self, name, arguments, simple)

    def evaluate(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """eval, source and the dot."""
        text = " ".join(word.text for word in arguments)
        if any(_FETCH.search(word.text) for word in arguments if not word.literal or word.text.startswith("<(")):
            yield deny("network-to-shell", "A shell runs what the network answers.")
        elif name != "eval":
            if arguments and (arguments[0].text.startswith("<(") or arguments[0].text == "/dev/stdin"):
                yield approve("text-to-shell", "A shell runs what another program prints.")
            elif arguments:
                yield (
                    self.program_file(arguments[0].text)
                    if not re.match(r"~/\.\w+rc$|~/\.nvm|~/\.profile|~/\.bash_profile", arguments[0].text)
                    else ALLOW
                )
        elif all(word.literal for word in arguments):
            yield self.nested(text)
        else:
            yield approve("eval", "eval runs text known only at run time.")

    def alias(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """An alias is a command for later."""
        for word in arguments:
            own, joint, value = word.text.partition("=")
            if joint:
                yield self.nested(value)
                first = value.split()[0].rpartition("/")[2] if value.split() else own
                if own in _DANGER_NAMES and re.search(r"--no-verify|hookspath|\|\|\s*true", value):
                    yield approve("alias", f"{own} would leave checks out.")
                if own in _DANGER_NAMES and first not in (own, "sudo", "command", "builtin"):
                    yield approve("alias", f"{own} would run {first} instead.")

    def trap(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """A trap is a command for later."""
        rest = after_options(arguments, set())
        if rest and rest[0].text not in ("", "-"):
            yield self.nested(rest[0].text)

    def assign(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """export and its like."""
        for word in arguments:
            yield from dangerous_assignment(word.text)
            if name == "unset" and word.text.startswith(("HIST", "PROMPT_COMMAND", "AISWE_")):
                yield approve("history", "Stops the shell from recording what it runs.")
        if name == "setenv" and len(arguments) > 1:
            yield from dangerous_assignment(f"{arguments[0].text}={arguments[1].text}")

    def settings(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """set and shopt, where they switch the record off."""
        texts = [word.text for word in arguments]
        if texts[:2] == ["+o", "history"] or (name == "shopt" and texts[:2] == ["-ou", "history"]):
            yield approve("history", "Stops the shell from recording what it runs.")

    def enter(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """Follow cd."""
        plain = [word for word in arguments if not word.text.startswith("-") or word.text == "-"]
        if not plain:
            self.folder = normal("~", "/")
        elif not plain[0].literal or plain[0].text == "-":
            self.folder = None
        else:
            self.folder = normal(plain[0].text, self.folder or self.context.workspace)
            if is_secret(self.folder):
                yield deny("secret", f"{plain[0].text} holds secrets.")

    def find_files(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """find, with what it runs."""
        for index, word in enumerate(arguments[:-1]):
            if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
                following = [w.text for w in arguments[index + 1 : index + 4]]
                program = following[0].rpartition("/")[2]
                if following[0] == "{}" or (
                    program in words("commands", "shells")
                    and following[1:2] not in (["{}"], ["-c"])
                    and "{}" not in following
                ):
                    yield approve("text-to-shell", "find runs what it finds, or a bare shell.")
        yield from self.find(arguments, simple)
