"""Commands judged by what they can do, not by how they look."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from agents.firewall.base import FirewallContext, Verdict, rules, words, worst
from agents.firewall.file_effects import approve, deny
from agents.firewall.paths import is_secret, normal, patterns
from agents.firewall.resources import judge_use
from agents.firewall.runners import CodeJudge
from agents.firewall.shell import Script, Simple, Unparsable, Word, parse
from agents.firewall.steering import dangerous_assignment
from agents.firewall.tampering import judge_shadowed, judge_tampering, judge_whole
from agents.firewall.tools import Tools

MAX_DEPTH = 6
_BIDI = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_FOREIGN = re.compile("[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\uff01-\uff5e\U0001d400-\U0001d7ff]")
_LOOSE = re.compile(
    r"(?i)rm\s+-\w*[rf]\w*\s+(-\w+\s+)*[\"']?(/|~|\$HOME)[\"']?(\s|/?\*|$)|:\s*\(\)\s*\{|/dev/(tcp|udp)/|\bmkfs|of=/dev/[sh]d|(curl|wget)\b.*\|\s*(sudo\s+)?\w*sh\b"
)
_DUMPERS = frozenset({"env", "printenv", "set", "export", "declare", "compgen", "typeset"})
_ENCODERS = frozenset(
    {
        "base64",
        "base32",
        "xxd",
        "od",
        "hexdump",
        "gzip",
        "openssl",
        "gpg",
        "rev",
        "tr",
        "tee",
        "split",
        "jq",
        "xz",
        "zip",
    }
)
_SECRET_WORDS = re.compile(r"(?i)key|token|secret|passw|cred|aws|auth|private")
_VARIABLE = re.compile(r"\$\{?(\w+)")
_KEY_VARIABLE = re.compile(r"(?i)secret|token|api_?key|access_?key|private_?key|credential|passwd|password")
_READS_NOTHING = frozenset({"echo", "printf", "man", "test", "[", "git", "info", "apropos", "whatis", "which", "type"})
_LISTERS = frozenset({"ls", "stat", "file", "du", "readlink", "realpath", "basename", "dirname", "wc"})
_PACKERS = frozenset(
    {
        "tar",
        "zip",
        "7z",
        "7za",
        "rar",
        "cp",
        "cpio",
        "ar",
        "pax",
        "rsync",
        "gzip",
        "dump",
        "mksquashfs",
        "borg",
        "restic",
    }
)
# Programs that may name a shell without starting one.
_NAMES_SHELLS = frozenset(
    {"ls", "file", "grep", "egrep", "fgrep", "cat", "stat", "which", "echo", "printf", "test", "[", "ldd", "type", "readlink", "realpath", "md5sum", "sha256sum", "chsh", "useradd", "usermod", "du", "wc", "dpkg", "rpm", "head", "awk", "sed", "cp", "ln", "strings", "export", "whereis", "man", "dirname", "basename", "hash", "alias", "sha1sum", "diff", "cmp", "pgrep", "ps", "rg"}
)  # fmt: skip
_HOMES = frozenset({"/", "/home", "/root", "~", "/etc", "/proc", "/Users"})
_NAMING = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"})


def judge_command(text: str, context: FirewallContext, judge_code: CodeJudge, depth: int = 0) -> Verdict:
    """Judge a shell command line; `judge_code` judges Python given to an interpreter."""
    return worst(command_verdicts(text, context, judge_code, depth))


def command_verdicts(text: str, context: FirewallContext, judge_code: CodeJudge, depth: int = 0) -> Iterator[Verdict]:
    """Everything that is to be said about a command line, by all layers."""
    if _BIDI.search(text):
        yield deny("invisible-character", "The command contains invisible or direction-changing characters.")
        return
    if depth > MAX_DEPTH:
        yield deny("nesting", "The command wraps shells in shells too deeply.")
        return
    try:
        script = parse(text)
    except Unparsable as error:
        if _LOOSE.search(text) or str(error) in ("too long", "contains NUL"):
            yield deny("unparsable", f"The command could not be understood ({error}); write it simpler.")
        else:
            yield approve("unparsable", f"The command could not be understood ({error}).")
        return
    if script.fork_bomb:
        yield deny("fork-bomb", "Starts programs without end.")
    yield from judge_whole(text)
    if script.endless:
        yield approve("endless-loop", "A loop runs without end and without a pause.")
    yield from _Judge(context, judge_code, depth).script(script)


class _Judge(Tools):
    """Walks the commands of one script, following `cd`."""

    def nested(self, text: str, extra: int = 1) -> Verdict:
        """Judge a command line inside this one."""
        return judge_command(text, self.context, self.judge_code, self.depth + extra)

    def script(self, script: Script) -> Iterator[Verdict]:
        self.functions = script.functions
        yield from judge_shadowed(set(script.functions))
        for simple in script.commands:
            yield from self.simple(simple)

    def simple(self, simple: Simple) -> Iterator[Verdict]:
        for assigned in simple.assigned:
            yield from dangerous_assignment(assigned)
        for word in simple.writes:
            yield self.write_to(word, adds=bool(simple.words) and simple.name not in ("", ":", "true"))
        for word in simple.reads:
            if self.secret(word.text):
                yield deny("secret", f"Reads {word.text}, which holds secrets.")
        if not simple.words:
            yield from judge_tampering("", [], simple, "")
            return
        if not simple.words[0].literal:
            yield approve("unknown-program", "The program to run is known only at run time.")
        elif simple.built:
            yield approve("hidden-name", "The program's name is put together by another command.")
        yield from judge_use(simple)
        yield from self.environment(simple)
        yield from self.run(simple.words, simple)

    def run(self, given: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        written = given[0].text.lstrip("\\") if given[0].literal else ""
        plain_name = unicodedata.normalize("NFKC", written)
        name, arguments = plain_name.rpartition("/")[2], given[1:]
        if name in self.functions:
            name = ""
        plain = [word for word in arguments if not word.text.startswith("-")]
        if written and (_FOREIGN.search(written) or (re.search(r"[*?\[]", written) and written not in ("[", "[["))):
            yield approve("hidden-name", "The program's name is written so that it hides which program it is.")
        yield self.place(plain_name)
        yield from self.reading(name, arguments)
        yield from self.packing(name, plain)
        if name in words("never", "refused") or any("stratum+" in word.text for word in arguments):
            yield deny("never", f"{name} has no place in a build.")
        yield from self.hiding(name, arguments, simple)
        yield from judge_tampering(name, arguments, simple, "")
        yield from self.escapes(name, written, arguments)
        handler = _HANDLERS.get(name)
        if handler is not None:
            yield from handler(self, name, arguments, simple)
        elif name in words("commands", "wrappers") or re.match(r"ld-linux|ld-musl", name):
            yield from self.unwrap(name, arguments, simple)
        elif name in words("commands", "shells"):
            yield from self.shell(arguments, simple)
        elif name in words("commands", "pythons") or re.fullmatch(r"(python|pypy)[\d.]*", name):
            yield from self.python(arguments, simple)
        elif name in words("commands", "interpreters") or re.fullmatch(r"(perl|ruby|lua|php)[\d.]+", name):
            yield from self.interpreter(name, arguments, simple)
        elif name in words("commands", "machine") or name.startswith("mkfs."):
            yield deny("machine", f"{name} changes the machine itself.")
        elif name in words("commands", "privilege"):
            yield from self.privileged(name, arguments, simple)
        elif name in words("commands", "kill"):
            yield self.kill(name, arguments, simple)
        elif name in words("commands", "package_managers"):
            yield from self.managed(name, arguments, simple)
        elif name in words("commands", "network"):
            yield from self.network(name, arguments)
        elif name in rules()["writes"]:
            yield from self.writes(name, arguments, plain)

    def escapes(self, name: str, written: str, arguments: Sequence[Word]) -> Iterator[Verdict]:
        """A shell handed to a program that has no table: whatever the option is called, it will be started."""
        if re.match(r":?!+\s*/?\w", written):
            yield approve("text-to-shell", "A line that leaves a program for a shell.")
        if name in _NAMES_SHELLS:
            return
        for index, word in enumerate(arguments):
            after = arguments[index + 1].text if index + 1 < len(arguments) else ""
            if (
                re.fullmatch(r"(/usr)?/bin/(ba|da|z|k|a)?sh", word.text)
                and not (index and arguments[index - 1].text in ("-newer", "-samefile", "-s", "--shell"))
                and (not after or after.startswith("-"))
                and not re.match(r"-\w*c", after)
            ) or re.search(r"/bin/(ba|da|z|k)?sh\s*(-[ip]\b|[;<0-9]+[<>]&)", word.text):
                yield approve("hidden-program", f"{name} is given a shell to run.")

    def place(self, written: str) -> Verdict:
        """A program from scratch space or somebody's home was put there by something that nobody judged."""
        hidden_or_scratch = not written.startswith(("/home", "~")) or "/." in written
        if (
            "/" in written
            and hidden_or_scratch
            and re.match(r"(/tmp|/var/tmp|/dev/shm|/dev/fd|/proc|~|\.\./|/home|/root)/?", written)
        ):
            return approve("foreign-program", f"{written} is a program from outside the workspace.")
        return self.allow

    def secret(self, text: str) -> bool:
        """Whether a written path names a secret, as seen from the folder that `cd` led to."""
        if is_secret(text):
            return True
        inside = self.folder is None or self.folder.startswith(self.context.workspace)
        if inside and not ("/./" in text or "//" in text or "/../" in text):
            return False
        return bool(text) and not text.startswith("-") and is_secret(normal(text, "/" if inside else str(self.folder)))

    def reading(self, name: str, arguments: Sequence[Word]) -> Iterator[Verdict]:
        if name.endswith("grep") or name in ("rg", "ag", "ack"):
            yield from self.searching(arguments)
            arguments = arguments[-1:]
        elif name in ("find", "locate", "mlocate", "plocate", "fd", "fdfind"):
            yield from self.looking(name, arguments)
        if name in _READS_NOTHING:
            return
        for index, word in enumerate(arguments):
            if index and (name, arguments[index - 1].text) in (("ssh", "-i"), ("sftp", "-i"), ("ssh-keygen", "-f")):
                if self.secret(word.text):
                    yield approve("secret", f"{name} uses a key.")
                continue
            text = word.text.partition("=")[2] or word.text.removeprefix("@")
            if self.secret(text) or ("@" in text and self.secret(text.partition("@")[2])):
                if name in _LISTERS and not re.search(r"docker\.sock|/root\b|cwd\b", text):
                    yield approve("secret", f"{name} looks at {word.text}, which holds secrets.")
                else:
                    yield deny("secret", f"{name or 'The program'} is given {word.text}, which holds secrets.")

    def looking(self, name: str, arguments: Sequence[Word]) -> Iterator[Verdict]:
        texts = [word.text for word in arguments]
        if name == "find" and not any(re.match(r"(/|~)", text) for text in texts):
            return
        for index, text in enumerate(texts):
            named = name != "find" or (index and texts[index - 1] in _NAMING)
            if named and any(re.fullmatch(r"\*?" + wanted.pattern + r"\*?", text) for wanted in patterns("wanted")):
                yield approve("secret-search", f"{name} looks for files that hold secrets.")

    def searching(self, arguments: Sequence[Word]) -> Iterator[Verdict]:
        texts = [word.text for word in arguments]
        where = [text for text in texts if re.match(r"(/|~|/home|/root|/etc|/opt|/srv|/var|/mnt|/proc)(/|$|\*)", text)]
        said = " ".join(text for text in texts if text not in where)
        if where and patterns("sought")[0].search(said):
            yield approve("secret-search", f"Looks for secrets in {where[0]}.")

    def packing(self, name: str, plain: Sequence[Word]) -> Iterator[Verdict]:
        if name in _PACKERS:
            sources = plain[:-1] if name in ("cp", "rsync") else plain
            for word in sources:
                if word.text.startswith(("/", "~")) and (word.text.rstrip("/*.") or "/") in _HOMES:
                    yield approve("whole-home", f"{name} takes all of {word.text}.")

    def environment(self, simple: Simple) -> Iterator[Verdict]:
        """All variables of the environment as data, or those that hold keys by their name."""
        for word in simple.words[1:]:
            names = (
                _VARIABLE.findall(word.text) if not word.literal else [word.text] if simple.name == "printenv" else []
            )
            if any(_KEY_VARIABLE.search(name) for name in names):
                yield approve("secret-variable", f"Uses {names[0]}, which by its name holds a secret.")
        if _dumps(simple) and any(not word.text.startswith("/dev/") for word in simple.writes):
            yield approve("environment-dump", "Writes all environment variables to a file.")
        source = simple.piped_from
        if source is not None and any(_dumps(one) for one in _before(simple)):
            said = " ".join(word.text for word in simple.words[1:])
            if simple.name in _ENCODERS or (simple.name.endswith("grep") and _SECRET_WORDS.search(said)):
                yield approve("environment-dump", "Takes secrets from, or disguises, the environment variables.")
            elif any(not word.text.startswith("/dev/") for word in simple.writes):
                yield approve("environment-dump", "Writes all environment variables to a file.")


def _before(simple: Simple) -> Iterator[Simple]:
    count = 0
    while simple.piped_from is not None and count < 50:
        simple, count = simple.piped_from, count + 1
        yield simple


def _dumps(simple: Simple) -> bool:
    """Whether the command prints the whole environment."""
    if simple.name not in _DUMPERS:
        return False
    texts = [word.text for word in simple.words[1:]]
    return {
        "env": not [t for t in texts if not t.startswith("-")],
        "printenv": not texts or texts == ["-0"],
        "set": not texts,
        "export": not texts or texts == ["-p"],
        "declare": bool(texts) and all(re.fullmatch(r"-[px]+", t) for t in texts),
        "typeset": bool(texts) and all(re.fullmatch(r"-[px]+", t) for t in texts),
        "compgen": texts[:1] in (["-e"], ["-v"]),
    }[simple.name]


_HANDLERS: dict[str, Callable[..., Iterator[Verdict]]] = {
    "eval": Tools.evaluate,
    "source": Tools.evaluate,
    ".": Tools.evaluate,
    "alias": Tools.alias,
    "trap": Tools.trap,
    "export": Tools.assign,
    "declare": Tools.assign,
    "local": Tools.assign,
    "readonly": Tools.assign,
    "typeset": Tools.assign,
    "setenv": Tools.assign,
    "unset": Tools.assign,
    "set": Tools.settings,
    "shopt": Tools.settings,
    "cd": Tools.enter,
    "pushd": Tools.enter,
    "git": Tools.git,
    "find": Tools.find_files,
    "dd": Tools.dd,
    "tar": Tools.archive,
    "bsdtar": Tools.archive,
    "unzip": Tools.archive,
    "7z": Tools.archive,
    "cpio": Tools.archive,
    "zip": Tools.zip,
    "rsync": Tools.rsync,
    "fuser": Tools.fuser,
    "mknod": Tools.mknod,
}
