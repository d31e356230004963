"""Programs that run other programs: what they run is found and judged like a command of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.firewall.base import FirewallVerdict
from agents.firewall.paths import is_secret, normal
from agents.firewall.shell.file_effects import approve, deny, mild, option_values
from agents.firewall.shell.interpreters import Interpreters, chain
from agents.firewall.shell.script import SimpleCommand, Word
from agents.firewall.shell.tables import names, pattern, rules

_FETCH = re.compile(r"\b(curl|wget|nc|ncat|fetch|aria2c|lwp-request)\b")
_AT_RUN_TIME = re.compile(r"\s*(\$\(|\$\w+\s*$|\$\{\w+\}\s*$)")
_INPUT = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_CHANGERS = frozenset({"rm", "shred", "mv", "unlink", "chmod", "chown", "truncate", "kill"})


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
        if not word.text.startswith("-"):
            return None
        if letter in word.text[1:] and not word.text.startswith("--"):
            attached = word.text[word.text.index(letter) + 1 :]
            if attached and word.text[1] == letter:
                return Word(attached, word.literal)
            return arguments[index + 1] if index + 1 < len(arguments) else None
    return None


def dangerous_assignment(assigned: str) -> Iterator[FirewallVerdict]:
    """Judge a variable that steers what later programs run, where they connect to, or what is recorded of them."""
    name, joint, value = assigned.partition("=")
    name = name.removesuffix("+")
    if not joint or not pattern("env", "steering").fullmatch(name):
        return
    for variables, values in rules()["env"]["values"].items():
        if re.fullmatch(variables, name) and (
            not re.search(values.get("when", ""), value) or re.search(values.get("unless", "(?!)"), value)
        ):
            return
    yield approve("environment", f"Setting {name} changes what later programs run or record.")


class Launchers(Interpreters):
    """Judges what wrappers, shells and their like would run."""

    def run(self, given: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Judge one program with its arguments."""
        raise NotImplementedError

    def packages(self, name: str, arguments: Sequence[Word]) -> FirewallVerdict:
        """Judge a package manager."""
        raise NotImplementedError

    def hiding(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Options whose value is a command line, and arguments that may hold a program (tables `runs`, `hides`)."""
        name = rules()["same"].get(name, name)
        yield from self.option_commands(name, arguments)
        if expression := rules()["hides"].get(name):
            given = self.given_text(simple) if expression != "." else None
            if found := re.search(expression, " ".join(["", *(word.text for word in arguments), given or ""])):
                shown = found[0].strip()[:40] or name
                yield approve("hidden-program", f"{name} may run or reach more than it seems ({shown}).")

    def option_commands(self, name: str, arguments: Sequence[Word]) -> Iterator[FirewallVerdict]:
        """Judge the values of options that are command lines (table `runs`)."""
        for option in rules()["runs"].get(name, ()):
            for value in option_values(arguments, option):
                if not value.literal and re.match(r"\s*[$`]", value.text):
                    yield approve("hidden-program", f"{name} {option} runs a program known only at run time.")
                text = re.sub(r"^exec[= ]" if "wrapper" in option else r"^exec=", "", value.text)
                if text:
                    yield self.nested(text.replace(",", " ") if "wrapper" in option else text)

    def unwrap(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Judge what a wrapper runs."""
        rest = after_options(arguments, set(rules()["takes_value"].get(name, ())))
        if name in ("timeout", "taskset", "chrt", "faketime", "logsave", "setarch"):
            rest = rest[1:]
        while name == "env" and rest and "=" in rest[0].text:
            yield from dangerous_assignment(rest[0].text)
            rest = rest[1:]
        texts = [word.text for word in arguments]
        if name in ("env", "command") and any(re.match(r"-S|--split-string", text) for text in texts):
            yield self.nested(" ".join(re.sub(r"^(-S|--split-string=?)", "", text) for text in texts))
        if name in ("xargs", "parallel"):
            yield from self.spread(name, list(rest), simple)
        elif name == "watch" and rest:
            yield self.nested(" ".join(word.text for word in rest))
        elif rest and not (name == "command" and {"-v", "-V"} & set(texts)):
            inner = SimpleCommand(words=list(rest), piped_from=simple.piped_from, text_in=simple.text_in)
            yield from self.simple(inner)

    def spread(self, name: str, rest: list[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """xargs and parallel: the arguments come from elsewhere."""
        texts = [word.text for word in rest]
        if not rest or texts[0] in ("{}", "%", "@"):
            if rest or name == "parallel":
                yield approve("text-to-shell", f"{name} runs lines of text as commands.")
            if not rest:
                return
        if name == "parallel" and ":::" in texts:
            values, rest = rest[texts.index(":::") + 1 :], rest[: texts.index(":::")]
            yield from (self.nested(" ".join([*texts[: len(rest)], value.text])) for value in values)
            texts = texts[: len(rest)]
        if name == "parallel" and len(rest) == 1 and " " in texts[0]:
            yield self.nested(texts[0])
            return
        program = texts[0].rpartition("/")[2] if texts else ""
        if _runs_lines(program, rest):
            yield approve("text-to-shell", f"{name} lets a shell run lines of text.")
        if (given := self.given_text(simple)) is not None:
            yield from self.simple(SimpleCommand(words=[*rest, *(Word(text) for text in given.split()[:50])]))
        elif program != "kill" or not {"jobs", "lsof"} & set(chain(simple.piped_from)):
            # The shell's own jobs, or who holds a port of the sandbox's own network, may be ended.
            yield from self.simple(SimpleCommand(words=rest))
            yield from self.spread_files(program, rest, simple.piped_from)

    def spread_files(
        self, program: str, rest: Sequence[Word], source: SimpleCommand | None
    ) -> Iterator[FirewallVerdict]:
        """What a changing program does to the files that the pipe lists."""
        if source is not None and source.piped_from is None and program in ("rm", "shred", "truncate"):
            listed = " ".join([source.name, *(word.text for word in source.words[1:])])
            if pattern("sets", "lists_everything").fullmatch(listed):
                yield approve("whole-workspace", f"{program} takes everything in the workspace.")
        for start in _starts(source) if program in _CHANGERS else ():
            verdict = self.write_to(start, adds=program in ("chmod", "chown"), narrow=True)
            if verdict.decision == "deny":
                yield approve("outside-files", f"{program} changes files below {start.text}.")
            elif program != "chmod" or not mild(rest):
                yield verdict

    def shell(self, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Judge what a shell runs."""
        script = option_value(arguments, "c")
        texts = [word.text for word in arguments]
        printed = [text for text in texts if text.startswith("<(")]
        rest = after_options(arguments, {"-o", "+o", "--rcfile", "--init-file", "-O"})
        file = next((word.text for word in rest if word.text != "-"), "")
        if script is not None:
            yield from self._script(script)
        elif any(_FETCH.search(text) for text in printed):
            yield deny("network-to-shell", "A shell runs what the network answers.")
        elif printed:
            yield approve("text-to-shell", "A shell runs what another program prints.")
        elif file and file not in _INPUT and not any(re.fullmatch(r"-[a-z]*s[a-z]*", text) for text in texts):
            yield self.program_file(file)
        elif not texts or not all(re.fullmatch(r"--?(version|help|V|h)", text) for text in texts):
            yield from self.fed(simple, self.nested, "shell")

    def _script(self, script: Word) -> Iterator[FirewallVerdict]:
        yield self.nested(script.text)
        if not script.literal and _FETCH.search(script.text):
            yield deny("network-to-shell", "A shell runs what the network answers.")
        if not script.literal and _AT_RUN_TIME.match(script.text) and "SHELL" not in script.text:
            yield approve("text-to-shell", "A shell runs text known only at run time.")

    def python(self, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Judge Python given in the command, as a file or from another program."""
        code, module = option_value(arguments, "c"), option_value(arguments, "m")
        if code is not None:
            text = re.sub(r"\bprint\s+(?![(=])([^;\n]+)", r"print(\1)", code.text)
            verdict = self.code_judges.python(text, self.context)
            if verdict.rule == "code.unparsable":
                verdict = approve("unparsable", verdict.reason)  # Python 2, or text put in by the shell
            yield verdict
            if not code.literal and _AT_RUN_TIME.match(code.text):
                yield approve("text-to-shell", "Python runs text known only at run time.")
        elif module is not None and module.text in ("pip", "ensurepip", "easy_install"):
            after = arguments.index(module) + 1 if module in arguments else len(arguments)
            yield self.packages("pip", arguments[after:])
        elif any(word.text.startswith("<(") for word in arguments):
            yield approve("text-to-shell", "Python runs what another program prints.")
        elif all(word.text == "-" for word in arguments):
            if simple.text_in is not None or simple.piped_from is not None or simple.blind_in:
                yield from self.fed(simple, lambda text: self.code_judges.python(text, self.context), "Python")
        elif plain := after_options(arguments, {"-W", "-X", "-m"}):
            yield self.program_file(plain[0].text)

    def evaluate(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """eval, source and the dot."""
        first = arguments[0].text if arguments else ""
        if any(_FETCH.search(word.text) for word in arguments if not word.literal or word.text.startswith("<(")):
            yield deny("network-to-shell", "A shell runs what the network answers.")
        elif name == "eval" and all(word.literal for word in arguments):
            yield self.nested(" ".join(word.text for word in arguments))
        elif name == "eval":
            yield approve("eval", "eval runs text known only at run time.")
        elif first.startswith("<(") or first == "/dev/stdin":
            yield approve("text-to-shell", "A shell runs what another program prints.")
        elif first and not re.match(r"~/\.\w+rc$|~/\.nvm|~/\.profile|~/\.bash_profile", first):
            yield self.program_file(first)

    def alias(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """An alias is a command for later."""
        for own, joint, value in (word.text.partition("=") for word in arguments):
            if joint:
                yield self.nested(value)
            if joint and own in names("sets", "dangerous_to_alias"):
                first = value.split()[0].rpartition("/")[2] if value.split() else own
                if re.search(r"--no-verify|hookspath|\|\|\s*true", value):
                    yield approve("alias", f"{own} would leave checks out.")
                if first not in (own, "sudo", "command", "builtin"):
                    yield approve("alias", f"{own} would run {first} instead.")

    def trap(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """A trap is a command for later."""
        rest = after_options(arguments, set())
        if rest and rest[0].text not in ("", "-"):
            yield self.nested(rest[0].text)

    def assign(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """export and its like."""
        assigned = [word.text for word in arguments]
        for text in [*assigned, "=".join(assigned[:2])] if name == "setenv" else assigned:
            yield from dangerous_assignment(text)

    def enter(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Follow cd."""
        target = next((word for word in arguments if not word.text.startswith("-") or word.text == "-"), Word("~"))
        if not target.literal or target.text == "-":
            self.folder = None
        else:
            self.folder = normal(target.text, self.folder or self.context.workspace)
            if is_secret(self.folder):
                yield deny("secret", f"{target.text} holds secrets.")


def _starts(simple: SimpleCommand | None) -> list[Word]:
    """The folders outside the workspace that a `find` or `ls` at the head of a pipe looks in."""
    while simple is not None and simple.piped_from is not None:
        simple = simple.piped_from
    found: list[Word] = []
    if simple is not None and simple.name in ("find", "ls", "locate", "fd"):
        for word in simple.words[1:]:
            if simple.name == "find" and word.text.startswith(("-", "(", "!")):
                break
            if word.text.startswith(("/", "~", "..")):
                found.append(word)
    return found


def _runs_lines(program: str, rest: Sequence[Word]) -> bool:
    """Whether a shell or Python gets lines of text as its program."""
    if program not in names("commands", "shells") and not pattern("commands", "pythons").fullmatch(program):
        return False
    code = option_value(rest[1:], "c")
    if code is None:
        return len(rest) == 1
    return re.fullmatch(r"\s*[\"']?(\{\}|%|@|_)[\"']?\s*", code.text) is not None
