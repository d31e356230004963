"""Commands judged by what they can do, not by how they look.

reader.py parses a line into simple commands (script.py). Each is judged by the rules of table_rules.py and by its
program: shells, wrappers and Python in launchers.py, other interpreters in interpreters.py, git, archives, the network
and package managers in tools.py, programs that write files in file_effects.py. All verdicts go back to judge.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from agents.firewall.base import ALLOW, CodeJudges, FirewallContext, FirewallVerdict, worst
from agents.firewall.paths import is_secret, normal, path_pattern
from agents.firewall.shell.file_effects import FileEffects, approve, deny
from agents.firewall.shell.launchers import Launchers, dangerous_assignment
from agents.firewall.shell.reader import parse
from agents.firewall.shell.script import Script, SimpleCommand, Unparsable, Word
from agents.firewall.shell.table_rules import line_of, table_verdicts
from agents.firewall.shell.tables import names, pattern, rules
from agents.firewall.shell.tools import Tools

MAX_DEPTH = 6
_BIDI = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_FOREIGN = re.compile("[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\uff01-\uff5e\U0001d400-\U0001d7ff]")
# Scratch space and hidden folders of a home.
_FOREIGN_PLACE = re.compile(
    r"(?=.*/)(?:/tmp|/var/tmp|/dev/shm|/dev/fd|/proc|\.\./|/root|(?:~|/home)(?=.*/\.))", re.DOTALL
)
_SECRET_WORDS = re.compile(r"(?i)key|token|secret|passw|cred|aws|auth|private")
_VARIABLE = re.compile(r"\$\{?(\w+)")
_KEY_VARIABLE = re.compile(r"(?i)secret|token|api_?key|access_?key|private_?key|credential|passwd|password")
# Programs that may name a shell without starting one.
_NAMING = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"})


def judge_command(text: str, context: FirewallContext, code_judges: CodeJudges, depth: int = 0) -> FirewallVerdict:
    """Judge a shell command line; `code_judges` judge code given to an interpreter."""
    return worst(command_verdicts(text, context, code_judges, depth))


def command_verdicts(
    text: str, context: FirewallContext, code_judges: CodeJudges, depth: int = 0
) -> Iterator[FirewallVerdict]:
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
        yield deny("unparsable", f"The command cannot be read ({error}); write it in a simpler way.")
        return
    if script.opaque:
        yield approve("unparsable", "A part of the command does not follow the shell's grammar.")
    if script.fork_bomb:
        yield deny("fork-bomb", "Starts programs without end.")
    yield from table_verdicts("<script>", text)
    if script.endless:
        yield approve("endless-loop", "A loop runs without end and without a pause.")
    yield from _Judge(context, code_judges, depth).script(script)


class _Judge(Tools):
    """Walks the commands of one script, following `cd`."""

    functions: set[str]

    def nested(self, text: str) -> FirewallVerdict:
        """Judge a command line inside this one."""
        return judge_command(text, self.context, self.code_judges, self.depth + 1)

    def script(self, script: Script) -> Iterator[FirewallVerdict]:
        self.functions = script.functions
        for function in sorted(script.functions):
            yield from table_verdicts("<function>", f"\t{function}\t")
        for simple in script.commands:
            yield from self.simple(simple)

    def simple(self, simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        for assigned in simple.assigned:
            yield from dangerous_assignment(assigned)
        for word in simple.writes:
            yield self.write_to(word, adds=bool(simple.words) and simple.name not in ("", ":", "true"))
        for word in simple.reads:
            if self.secret(word.text):
                yield deny("secret", f"Reads {word.text}, which holds secrets.")
        if not simple.words:
            yield from table_verdicts("", line_of((), simple))
            return
        if not simple.words[0].literal:
            yield approve("unknown-program", "The program to run is known only at run time.")
        elif simple.built:
            yield approve("hidden-name", "The program's name is put together by another command.")
        yield from self.environment(simple)
        yield from self.run(simple.words, simple)

    def run(self, given: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        written = given[0].text.lstrip("\\") if given[0].literal else ""
        plain_name = unicodedata.normalize("NFKC", written)
        name, arguments = plain_name.rpartition("/")[2], given[1:]
        if name in self.functions:
            name = ""
        plain = [word for word in arguments if not word.text.startswith("-")]
        if written and (_FOREIGN.search(written) or (re.search(r"[*?\[]", written) and written not in ("[", "[["))):
            yield approve("hidden-name", "The program's name is written so that it hides which program it is.")
        if re.match(r":?!+\s*/?\w", written):
            yield approve("text-to-shell", "A line that leaves a program for a shell.")
        yield self.place(plain_name)
        yield from self.reading(name, arguments)
        if name in names("never", "refused"):
            yield deny("never", f"{name} has no place in a build.")
        yield from self.hiding(name, arguments, simple)
        yield from table_verdicts(name, line_of(arguments, simple))
        yield from self.written_options(name, arguments)
        handler = _HANDLERS.get(name)
        if handler is not None:
            yield from handler(self, name, arguments, simple)
        elif name in names("commands", "wrappers") or re.match(r"ld-linux|ld-musl", name):
            yield from self.unwrap(name, arguments, simple)
        elif name in names("commands", "shells"):
            yield from self.shell(arguments, simple)
        elif pattern("commands", "pythons").fullmatch(name):
            yield from self.python(arguments, simple)
        elif name in names("commands", "interpreters") or re.fullmatch(r"(perl|ruby|lua|php)[\d.]+", name):
            yield from self.interpreter(name, arguments, simple)
        elif pattern("commands", "privilege").fullmatch(name):
            yield from self.privileged(name, arguments, simple)
        elif name in names("commands", "package_managers"):
            yield from self.managed(name, arguments, simple)
        elif pattern("commands", "network").fullmatch(name):
            yield from self.network(name, arguments)
        elif name in rules()["writes"]:
            yield from self.writes(name, arguments, plain)

    def place(self, written: str) -> FirewallVerdict:
        """A program from scratch space or somebody's home was put there by something that nobody judged."""
        if _FOREIGN_PLACE.match(written):
            return approve("foreign-program", f"{written} is a program from outside the workspace.")
        return ALLOW

    def secret(self, text: str) -> bool:
        """Whether a written path names a secret, as seen from the folder that `cd` led to."""
        if is_secret(text):
            return True
        inside = self.folder is None or self.folder.startswith(self.context.workspace)
        if inside and not ("/./" in text or "//" in text or "/../" in text):
            return False
        return bool(text) and not text.startswith("-") and is_secret(normal(text, "/" if inside else str(self.folder)))

    def reading(self, name: str, arguments: Sequence[Word]) -> Iterator[FirewallVerdict]:
        if name.endswith("grep") or name in ("rg", "ag", "ack"):
            yield from self.searching(arguments)
            arguments = arguments[-1:]
        elif name in ("find", "locate", "mlocate", "plocate", "fd", "fdfind"):
            yield from self.looking(name, arguments)
        if name in names("sets", "read_nothing"):
            return
        for before, word in pairwise([Word(""), *arguments]):
            if (name, before.text) in (("ssh", "-i"), ("sftp", "-i"), ("ssh-keygen", "-f")):
                if self.secret(word.text):
                    yield approve("secret", f"{name} uses a key.")
                continue
            if name == "rsync" and re.match(r"ssh\s.*-i\s", word.text):
                continue  # judged as a command of its own
            text = word.text.partition("=")[2] or word.text.removeprefix("@")
            if self.secret(text) or ("@" in text and self.secret(text.partition("@")[2])):
                if name in names("sets", "listers") and not re.search(r"docker\.sock|/root\b|cwd\b", text):
                    yield approve("secret", f"{name} looks at {word.text}, which holds secrets.")
                else:
                    yield deny("secret", f"{name or 'The program'} is given {word.text}, which holds secrets.")

    def looking(self, name: str, arguments: Sequence[Word]) -> Iterator[FirewallVerdict]:
        texts = [word.text for word in arguments]
        if name == "find" and not any(text.startswith(("/", "~")) for text in texts):
            return
        for before, text in pairwise(["", *texts]):
            named = name != "find" or before in _NAMING
            if named and re.fullmatch(rf"\*?({path_pattern('wanted').pattern})\*?", text):
                yield approve("secret-search", f"{name} looks for files that hold secrets.")

    def searching(self, arguments: Sequence[Word]) -> Iterator[FirewallVerdict]:
        texts = [word.text for word in arguments]
        where = [text for text in texts if re.match(r"(/|~|/home|/root|/etc|/opt|/srv|/var|/mnt|/proc)(/|$|\*)", text)]
        said = " ".join(text for text in texts if text not in where)
        if where and path_pattern("sought").search(said):
            yield approve("secret-search", f"Looks for secrets in {where[0]}.")

    def environment(self, simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """All variables of the environment as data, or those that hold keys by their name."""
        arguments = simple.words[1:]
        for word in arguments:
            used = [word.text] if simple.name == "printenv" and word.literal else []
            used = used if word.literal else _VARIABLE.findall(word.text)
            if any(_KEY_VARIABLE.search(name) for name in used):
                yield approve("secret-variable", f"Uses {used[0]}, which by its name holds a secret.")
        to_file = any(not word.text.startswith("/dev/") for word in simple.writes)
        piped = any(_dumps(one) for one in _before(simple))
        said = " ".join(word.text for word in arguments)
        if piped and (
            simple.name in names("sets", "encoders") or (simple.name.endswith("grep") and _SECRET_WORDS.search(said))
        ):
            yield approve("environment-dump", "Takes secrets from, or disguises, the environment variables.")
        elif to_file and (piped or _dumps(simple)):
            yield approve("environment-dump", "Writes all environment variables to a file.")


def _before(simple: SimpleCommand) -> Iterator[SimpleCommand]:
    count = 0
    while simple.piped_from is not None and count < 50:
        simple, count = simple.piped_from, count + 1
        yield simple


def _dumps(simple: SimpleCommand) -> bool:
    """Whether the command prints the whole environment."""
    return bool(pattern("commands", "dumps").fullmatch(simple.name + line_of(simple.words[1:])))


_HANDLERS: dict[str, Callable[..., Iterator[FirewallVerdict]]] = {
    **dict.fromkeys(("eval", "source", "."), Launchers.evaluate),
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset", "setenv"), Launchers.assign),
    **dict.fromkeys(("cd", "pushd"), Launchers.enter),
    **dict.fromkeys(("tar", "bsdtar"), Tools.tar),
    "alias": Launchers.alias,
    "trap": Launchers.trap,
    "git": Tools.git,
    "find": FileEffects.find,
    "rsync": Tools.rsync,
}
