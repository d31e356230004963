"""Commands judged by what they can do, not by how they look."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from agents.firewall.base import ALLOW, FirewallContext, Verdict, rules, words, worst
from agents.firewall.file_effects import URL, FileEffects, approve, deny, is_remote
from agents.firewall.paths import is_secret, normal
from agents.firewall.shell import Script, Simple, Unparsable, Word, parse

_MAX_DEPTH = 6
_BIDI = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*|@[a-z0-9-]+/[a-z0-9._-]+)(\[[\w,-]*\])?([=<>~!]=?.*|@[\w.^~-]+)?$")
_ASSIGNED_DANGER = re.compile(
    r"^(LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|PATH|BASH_ENV|ENV|PROMPT_COMMAND|PYTHONSTARTUP|PYTHONHOME|NODE_OPTIONS|PERL5OPT|RUBYOPT|GIT_\w+)="
)
_LOOSE = re.compile(
    r"(?i)rm\s+-\w*[rf]\w*\s+(-\w+\s+)*[\"']?(/|~|\$HOME)[\"']?(\s|/?\*|$)|:\s*\(\)\s*\{|/dev/(tcp|udp)/|\bmkfs|of=/dev/[sh]d|(curl|wget)\b.*\|\s*(sudo\s+)?\w*sh\b"
)

CodeJudge = Callable[[str, FirewallContext], Verdict]


def judge_command(text: str, context: FirewallContext, judge_code: CodeJudge, depth: int = 0) -> Verdict:
    """Judge a shell command line; `judge_code` judges Python given to an interpreter."""
    if _BIDI.search(text):
        return deny("invisible-character", "The command contains invisible or direction-changing characters.")
    if depth > _MAX_DEPTH:
        return deny("nesting", "The command wraps shells in shells too deeply.")
    try:
        script = parse(text)
    except Unparsable as error:
        if _LOOSE.search(text) or str(error) in ("too long", "contains NUL"):
            return deny("unparsable", f"The command could not be understood ({error}); write it simpler.")
        return approve("unparsable", f"The command could not be understood ({error}).")
    if script.fork_bomb:
        return deny("fork-bomb", "A function calls itself without end.")
    return worst(_Judge(context, judge_code, depth).script(script))


class _Judge(FileEffects):
    """Walks the commands of one script, following `cd`."""

    def __init__(self, context: FirewallContext, judge_code: CodeJudge, depth: int) -> None:
        super().__init__(context)
        self.judge_code, self.depth = judge_code, depth

    def script(self, script: Script) -> Iterator[Verdict]:
        for simple in script.commands:
            yield from self.simple(simple)

    def simple(self, simple: Simple) -> Iterator[Verdict]:
        for assigned in simple.assigned:
            if found := _ASSIGNED_DANGER.match(assigned):
                yield approve("environment", f"Setting {found[1]} changes what later programs run.")
        for word in simple.writes:
            yield self.write_to(word)
        for word in simple.reads:
            if is_secret(word.text):
                yield deny("secret", f"Reads {word.text}, which holds secrets.")
        if not simple.words:
            return
        if not simple.words[0].literal:
            yield approve("unknown-program", "The program to run is known only at run time.")
        yield from self.run(simple.words, simple)

    def run(self, given: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        name = given[0].text.rpartition("/")[2].lstrip("\\") if given[0].literal else ""
        arguments = given[1:]
        plain = [word for word in arguments if not word.text.startswith("-")]
        yield from self.reading(name, arguments)
        if name in words("commands", "wrappers"):
            yield from self.unwrap(name, arguments, simple)
        elif name in words("commands", "shells"):
            yield from self.shell(arguments, simple)
        elif name in words("commands", "pythons") or re.fullmatch(r"python[\d.]+", name):
            yield from self.python(arguments, simple)
        elif name in words("commands", "interpreters"):
            yield from self.interpreter(name, arguments, simple)
        elif name in ("eval", "source", "."):
            yield from self.evaluate(name, arguments)
        elif name in ("cd", "pushd"):
            self.enter(plain)
        elif name == "git":
            yield from self.git(arguments)
        elif name in words("commands", "machine"):
            yield deny("machine", f"{name} changes the machine itself.")
        elif name in words("commands", "privilege"):
            yield self.privilege(name, arguments)
            if name in ("sudo", "doas", "chroot", "unshare", "nsenter"):
                rest = _after_options(arguments, {"-u", "-g", "-p", "-C", "-h"})
                yield from self.run(rest, simple) if rest else ()
        elif name in words("commands", "kill"):
            yield self.kill(name, arguments)
        elif name in words("commands", "package_managers"):
            yield self.packages(name, arguments)
        elif name == "rsync" and not any(is_remote(word.text) for word in plain):
            yield from self.writes(name, arguments, plain)
        elif name in words("commands", "network") or name == "rsync":
            yield from self.network(name, arguments)
        elif name == "find":
            yield from self.find(arguments, simple)
        elif name == "dd":
            yield from (
                self.write_to(Word(word.text[3:], word.literal)) for word in arguments if word.text.startswith("of=")
            )
        elif name == "tar":
            yield from self.tar(arguments)
        elif name == "sed" and any(re.match(r"-[a-zA-Z]*i|--in-place", word.text) for word in arguments):
            yield from (self.write_to(word) for word in plain[1:])
        elif name in rules()["writes"]:
            yield from self.writes(name, arguments, plain)

    def reading(self, name: str, arguments: Sequence[Word]) -> Iterator[Verdict]:
        if name in ("echo", "printf", "grep", "egrep", "git", "man", "test", "["):
            arguments = arguments[-1:] if name.endswith("grep") else ()
        for word in arguments:
            if is_secret(word.text.partition("=")[2] or word.text.removeprefix("@")):
                yield deny("secret", f"{name or 'The program'} is given {word.text}, which holds secrets.")

    def enter(self, plain: Sequence[Word]) -> None:
        if not plain:
            self.folder = normal("~", "/")
        elif not plain[0].literal or plain[0].text == "-":
            self.folder = None
        else:
            self.folder = normal(plain[0].text, self.folder or self.context.workspace)

    def unwrap(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        takes = {
            "xargs": {"-I", "-n", "-P", "-L", "-d", "-s", "-E", "-a"},
            "nice": {"-n"},
            "timeout": {"-k", "-s"},
            "watch": {"-n"},
            "env": {"-u", "-C"},
        }
        rest = _after_options(arguments, takes.get(name, set()))
        if name == "timeout":
            rest = rest[1:]
        while name == "env" and rest and "=" in rest[0].text:
            if found := _ASSIGNED_DANGER.match(rest[0].text):
                yield approve("environment", f"Setting {found[1]} changes what later programs run.")
            rest = rest[1:]
        if name == "watch" and len(rest) == 1 and " " in rest[0].text:
            yield judge_command(rest[0].text, self.context, self.judge_code, self.depth + 1)
        elif rest:
            yield from self.simple(Simple(words=list(rest), piped_from=None if name == "xargs" else simple.piped_from))

    def shell(self, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        if simple.text_in is not None:
            yield judge_command(simple.text_in, self.context, self.judge_code, self.depth + 1)
        script = _option_value(arguments, "c")
        plain = [word for word in arguments if not word.text.startswith("-")]
        if script is not None:
            yield self.nested(script)
        elif any(word.text.startswith("<(") and re.search(r"\b(curl|wget)\b", word.text) for word in arguments):
            yield deny("network-to-shell", "A shell runs what the network answers.")
        elif plain:
            return
        elif simple.piped_from is not None:
            source = _chain(simple.piped_from)
            if simple.piped_from.name == "cat" and simple.piped_from.text_in is not None:
                yield judge_command(simple.piped_from.text_in, self.context, self.judge_code, self.depth + 1)
            elif any(part in words("commands", "network") for part in source):
                yield deny("network-to-shell", "A shell runs what the network answers.")
            elif {"base64", "xxd", "rev", "openssl", "tr", "gunzip", "uudecode", "base32"} & set(source):
                yield deny("decoded-to-shell", "A shell runs text that was decoded on the way.")
            else:
                yield approve("text-to-shell", "A shell runs text from another program.")

    def nested(self, script: Word) -> Verdict:
        if script.literal:
            return judge_command(script.text, self.context, self.judge_code, self.depth + 1)
        verdict = judge_command(script.text, self.context, self.judge_code, self.depth + 1)
        if re.search(r"\b(curl|wget)\b", script.text):
            return deny("network-to-shell", "A shell runs what the network answers.")
        return verdict

    def python(self, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        code = _option_value(arguments, "c")
        module = _option_value(arguments, "m")
        if code is not None:
            yield self.judge_code(code.text, self.context)
        elif module is not None and module.text in ("pip", "ensurepip", "easy_install"):
            after = [word.text for word in arguments].index(module.text) + 1 if module in arguments else len(arguments)
            yield self.packages("pip", arguments[after:])
        elif simple.text_in is not None:
            yield self.judge_code(simple.text_in, self.context)
        elif simple.piped_from is not None and not [w for w in arguments if w.text != "-"]:
            if any(part in words("commands", "network") for part in _chain(simple.piped_from)):
                yield deny("network-to-shell", "An interpreter runs what the network answers.")
            yield approve("text-to-shell", "An interpreter runs text from another program.")

    def interpreter(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        code = _option_value(arguments, "e") or _option_value(arguments, "r")
        if code is not None and re.search(
            r"(?i)\bsystem\b|\bexec\b|`|socket|fork|child_process|unlink|qx|net::|https?:", code.text
        ):
            yield approve("inline-program", f"{name} runs a program that starts others or talks to the network.")
        elif code is None and simple.piped_from is not None and not arguments:
            network = any(part in words("commands", "network") for part in _chain(simple.piped_from))
            yield (
                deny("network-to-shell", "An interpreter runs what the network answers.")
                if network
                else approve("text-to-shell", "An interpreter runs text from another program.")
            )

    def evaluate(self, name: str, arguments: Sequence[Word]) -> Iterator[Verdict]:
        if name != "eval":
            yield from (deny("secret", "Reads secrets.") for word in arguments if is_secret(word.text))
            return
        if all(word.literal for word in arguments):
            yield judge_command(
                " ".join(word.text for word in arguments), self.context, self.judge_code, self.depth + 1
            )
        elif any(re.search(r"\b(curl|wget)\b", word.text) for word in arguments):
            yield deny("network-to-shell", "A shell runs what the network answers.")
        else:
            yield approve("eval", "eval runs text known only at run time.")

    def git(self, arguments: Sequence[Word]) -> Iterator[Verdict]:
        texts = [word.text for word in arguments]
        for text in texts:
            key = text.partition("=")[0].casefold()
            if key in words("git", "steering") or (
                key.startswith(("alias.", "filter.", "url.")) and ("config" in texts or "-c" in texts)
            ):
                yield deny("git-steering", f"{key} makes git run other programs.")
            if text.startswith(("ext::", "--upload-pack", "--receive-pack", "--exec=")):
                yield deny("git-steering", f"{text.partition('=')[0]} makes git run other programs.")
        rest = _after_options(arguments, {"-c", "-C", "--git-dir", "--work-tree"})
        verb = rest[0].text if rest else ""
        if verb in words("git", "network") and not (verb == "remote" and len(rest) <= 2):
            yield approve("network", f"git {verb} talks to the network.")
        if verb == "config" and any(text in ("--global", "--system") for text in texts):
            yield approve("git-config", "Changes git's settings outside the project.")

    def privilege(self, name: str, arguments: Sequence[Word]) -> Verdict:
        texts = [word.text for word in arguments]
        said = " ".join([name, *texts])
        if any(
            said == form or (" " in form and said.startswith(form)) for form in words("commands", "privilege_reading")
        ):
            return ALLOW
        # These only show something unless they are given a value to set.
        if name == "hostname" and all(text.startswith("-") and text not in ("-F", "-b") for text in texts):
            return ALLOW
        if name == "ifconfig" and len([text for text in texts if text != "-a"]) <= 1:
            return ALLOW
        return approve("privilege", f"{name} acts with, or on, more rights than the task has.")

    def kill(self, name: str, arguments: Sequence[Word]) -> Verdict:
        targets = [word.text for word in arguments if not re.fullmatch(r"-(\d+|[A-Z]+\d?|s|l|n|0)", word.text)]
        if name == "kill" and any(word.text == "-l" for word in arguments):
            return ALLOW
        if (name == "kill" and any(text in ("1", "-1") for text in targets)) or (
            name == "kill" and [w.text for w in arguments][1:2] == ["-1"]
        ):
            return deny("kill-all", "Ends every process.")
        if name == "kill" and targets and all(text.startswith("%") or text in ("$!", "$$") for text in targets):
            return ALLOW
        return approve("kill", f"{name} ends processes.")

    def packages(self, name: str, arguments: Sequence[Word]) -> Verdict:
        texts = [word.text for word in arguments]
        verb = next(
            (text for text in texts if not text.startswith("-") or text in words("commands", "install_verbs")), ""
        )
        if name == "uv" and verb == "pip":
            texts = texts[texts.index("pip") + 1 :]
            verb = next((text for text in texts if not text.startswith("-")), "")
        if name not in ("npx", "uvx", "easy_install") and not (
            verb in words("commands", "install_verbs") or re.match(r"-[SUi]", verb)
        ):
            return ALLOW
        if any(
            text.startswith(("--extra-index-url", "--index-url", "-i=", "--trusted-host", "--find-links", "--registry"))
            or "git+" in text
            or URL.match(text)
            for text in texts
        ):
            return approve("package-source", f"{name} {verb} takes packages from another source.")
        named = [text for text in texts[texts.index(verb) + 1 if verb in texts else 0 :] if not text.startswith("-")]
        found = [_PACKAGE.match(text) for text in named]
        pythonic = name in ("pip", "pip3", "uv", "poetry", "pdm", "npm", "pnpm", "yarn")
        if (
            pythonic
            and named
            and all(match and match[1].lower().replace("_", "-") in self.context.allowed_packages for match in found)
        ):
            return ALLOW
        return approve("package-install", f"{name} {verb} installs or changes packages.")

    def network(self, name: str, arguments: Sequence[Word]) -> Iterator[Verdict]:
        texts = [word.text for word in arguments]
        if name in ("nc", "ncat", "netcat", "socat") and any(
            re.match(r"-[a-z]*[ec]$|--(sh-)?exec|--lua|(?i:exec|system):", text) for text in texts
        ):
            yield deny("reverse-shell", f"{name} connects a program to the network.")
        if any(re.match(r"^(file|gopher|dict)://", text) for text in texts) or any(
            "169.254.169.254" in text or "metadata.google" in text for text in texts
        ):
            yield deny("metadata", f"{name} reads the machine's own services.")
        for index, text in enumerate(texts[:-1]):
            if text in ("-o", "-O", "--output", "--output-document", "-P"):
                yield self.write_to(arguments[index + 1]) if not (name == "curl" and text == "-O") else ALLOW
        if texts in (["--version"], ["-V"], ["--help"], ["-h"]):
            return
        local = [text for text in texts if re.match(r"^(https?://)?(127\.0\.0\.1|localhost|\[::1\])([:/]|$)", text)]
        remote = [text for text in texts if URL.match(text) and text not in local]
        if name in ("curl", "wget", "http", "httpie") and local and not remote:
            return
        yield approve("network", f"{name} talks to the network.")


def _after_options(arguments: Sequence[Word], with_value: set[str]) -> Sequence[Word]:
    index = 0
    while index < len(arguments) and arguments[index].text.startswith("-"):
        text = arguments[index].text
        index += 2 if text in with_value else 1
        if text == "--":
            break
    return arguments[index:]


def _option_value(arguments: Sequence[Word], letter: str) -> Word | None:
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


def _chain(simple: Simple | None) -> list[str]:
    names: list[str] = []
    while simple is not None and len(names) < 50:
        names.append(simple.name)
        if simple.name in words("commands", "wrappers") | {"sudo"}:
            names += [word.text.rpartition("/")[2] for word in simple.words[1:4]]
        simple = simple.piped_from
    return names
