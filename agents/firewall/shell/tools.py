"""Programs with rules that a table cannot hold: git, archives, the network, privileges, package managers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.firewall.base import ALLOW, FirewallVerdict
from agents.firewall.paths import is_secret, path_pattern
from agents.firewall.shell.file_effects import URL, approve, deny, is_remote
from agents.firewall.shell.launchers import Launchers, after_options
from agents.firewall.shell.script import SimpleCommand, Word
from agents.firewall.shell.table_rules import line_of, table_verdicts
from agents.firewall.shell.tables import names, pattern

# Addresses of this machine: in the sandbox a network of its own, with nobody else on it.
_OWN = re.compile(r"^([a-z]+://)?(\w[\w.-]*@)?(127\.0\.0\.1|localhost|\[::1\])([:/]|$)")
_PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*|@[a-z0-9-]+/[a-z0-9._-]+)(\[[\w,-]*\])?([=<>~!]=?.*|@[\w.^~-]+)?$")
_NODE = ("npm", "pnpm", "yarn", "bun")


class Tools(Launchers):
    """Judges the programs that need more than the table of rules."""

    def git(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """git: the rules of its verbs, and programs that it runs."""
        rest = after_options(arguments, {"-c", "-C", "--git-dir", "--work-tree"})
        verb = rest[0].text if rest else ""
        yield from table_verdicts(f"git {verb}", line_of(rest[1:]))
        # What a message says is not an option.
        options = (word.text for word in rest if verb != "commit" or word.text.startswith("-") or " " not in word.text)
        yield from table_verdicts("<git>", " ".join(options))
        if verb in ("rm", "mv") and "--cached" not in [word.text for word in arguments]:
            for word in rest[1:]:
                if path_pattern("ask").search(word.text):
                    yield approve(
                        "machinery", f"git {verb} takes {word.text} away, which steers tools around the task."
                    )
        yield from self.option_commands(f"git {verb}", rest[1:])
        if verb == "bisect" and len(rest) > 2 and rest[1].text == "run":
            yield from self.run(rest[2:], simple)
        if verb == "submodule" and len(rest) > 2 and rest[1].text == "foreach":
            yield self.nested(" ".join(word.text for word in rest[2:] if word.text not in ("--recursive", "--quiet")))

    def tar(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """tar: where it unpacks to, or what it writes."""
        texts = [word.text for word in arguments]
        if any(re.match(r"-?[a-zA-Z]*x", text) or text in ("--extract", "--get") for text in texts[:2]):
            yield from self.written_options("tar -x", arguments)
        elif "t" not in "".join(texts[:1]):
            for word, target in pairwise(arguments):
                if re.fullmatch(r"-?[a-zA-Z]*c[a-zA-Z]*f|-f", word.text):
                    remote = is_remote(target.text)
                    yield (
                        approve("network", "tar writes to another machine.")
                        if remote
                        else self.write_to(target, adds=True)
                    )

    def rsync(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """rsync: over the network, or as a copy that may remove."""
        plain = [word for word in arguments if not word.text.startswith("-")]
        if any(is_remote(word.text) and not _OWN.match(word.text) for word in plain):
            yield from self.network(name, arguments)
            return
        if any(word.text.startswith(("--delete", "--remove-source")) for word in arguments) and plain:
            yield self.tree(plain[-1])
        yield from self.writes(name, arguments, plain)

    def privileged(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Programs that act with more rights, and what they would run."""
        rest = after_options(arguments, {"-u", "-g", "-p", "-C", "-h", "-t", "-o", "-e", "-s"})
        said = " ".join([name, *(word.text for word in arguments)])
        if not pattern("commands", "privilege_reading").match(said) and not (name == "sudo" and _only_files(rest)):
            yield approve("privilege", f"{name} acts with, or on, more rights than the task has.")
        if name in names("commands", "privilege_wrappers"):
            rest = rest[1:] if name in ("chroot", "gosu", "su-exec") else rest
            yield from self.run(rest, simple) if rest else ()

    def network(self, name: str, arguments: Sequence[Word]) -> Iterator[FirewallVerdict]:
        """Programs that talk to other machines."""
        texts = [word.text for word in arguments]
        if any(re.search(r"^(file|gopher|dict)://|169\.254\.169\.254|metadata\.google", text) for text in texts):
            yield deny("metadata", f"{name} reads the machine's own services.")
        yield from self.written_options("network curl" if name == "curl" else "network", arguments)
        for text, sent in pairwise(texts):
            value = sent.partition("@")[2] or sent
            # A key of the workspace is the project's own; others are somebody's.
            sends = text in ("-d", "--data", "-T", "-F", "--data-binary", "--upload-file")
            if (sends or (text == "-i" and value.startswith(("/", "~")))) and is_secret(value):
                yield deny("secret", f"{name} sends {sent}.")
        local = any(_OWN.match(text) for text in texts)
        remote = any(URL.match(text) and not _OWN.match(text) for text in texts)
        reaches_nobody = pattern("commands", "network_reading").match(" ".join([name, *texts]))
        if not reaches_nobody and not (name in names("commands", "network_local") and local and not remote):
            yield approve("network", f"{name} talks to the network.")

    def managed(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """A package manager, or what it runs in the project's environment."""
        rest = after_options(arguments, {"--directory", "--project", "-C", "--python", "--with", "-p"})
        texts = [word.text for word in rest]
        if len(rest) > 1 and f"{name} {texts[0]}" in names("packages", "project_runs"):
            inner = after_options(rest[1:], {"--with", "--python", "-p", "--extra", "--group", "-e", "--package"})
            inner = rest[texts.index("--") + 1 :] if "--" in texts else inner
            if name not in _NODE or (inner and inner[0].text in names("commands", "shells")):
                yield from self.run(inner, simple) if inner else ()
                return
        checker = pattern("packages", "checkers")
        if {"uninstall", "remove", "rm", "un"} & set(texts[:2]) and any(checker.match(text) for text in texts[1:]):
            yield approve("guard", f"{name} takes a program away that checks the work.")
        for index, word in enumerate(arguments[:-1]):
            if word.text in ("-c", "--call") and name in ("npx", "npm", "pnpm"):
                yield self.nested(arguments[index + 1].text)
        yield self.packages(name, arguments)

    def packages(self, name: str, arguments: Sequence[Word]) -> FirewallVerdict:
        """Packages of the allow-list or of the project's own lock file are allowed; others are a question."""
        verb, texts = _verb(name, [word.text for word in arguments])
        command = f"{name} {verb}"
        if pattern("packages", "other_source").search(line_of(arguments)):
            return approve("package-source", f"{command} takes packages from another source.")
        if not pattern("packages", "installing").fullmatch(command) or (name == "npx" and "--no-install" in texts):
            return ALLOW
        named = [text for text in texts[texts.index(verb) + 1 if verb in texts else 0 :] if not text.startswith("-")]
        if (name in _NODE and verb == "run-script") or (
            not named and pattern("packages", "from_lock").fullmatch(command)
        ):
            return ALLOW
        if name in names("packages", "pythonic") and self._are_allowed(verb, named):
            return ALLOW
        if name in ("pip", "pip3", "uv") and named and _are_own_requirements(texts, named):
            return ALLOW
        return approve("package-install", f"{command} installs or changes packages.")

    def _are_allowed(self, verb: str, named: Sequence[str]) -> bool:
        """Whether all are on the allow-list, or may go because none of them checks the work."""
        if verb in ("remove", "uninstall"):
            checker = pattern("packages", "checkers")
            if not any(checker.fullmatch(text) for text in named):
                return True
        found = [_PACKAGE.match(text) for text in named]
        allowed = self.context.allowed_packages
        return bool(named) and all(match and match[1].lower().replace("_", "-") in allowed for match in found)


def _verb(name: str, texts: list[str]) -> tuple[str, list[str]]:
    """What a package manager is told to do, and the words behind `uv pip`."""
    verb = next((text for text in texts if text[:1] != "-" or text in names("packages", "verbs")), "")
    if name == "uv" and verb == "pip":
        texts = texts[texts.index("pip") + 1 :]
        verb = next((text for text in texts if not text.startswith("-")), "")
    return verb, texts


def _are_own_requirements(texts: Sequence[str], named: Sequence[str]) -> bool:
    after = {text for before, text in pairwise(texts) if re.fullmatch(r"-[rc]|--(re|con).*", before)}
    listed = [text for text in named if text not in after or text == named[0]]
    return all(pattern("packages", "requirements").fullmatch(text) for text in listed)


def _only_files(rest: Sequence[Word]) -> bool:
    """Whether sudo runs a program for files: the sandbox has no rights to gain, so it stays what it is."""
    program = rest[0].text.rpartition("/")[2] if rest else ""
    harmless = names("sets", "sudo_reading") | names("sets", "sudo_files")
    return program in harmless and not pattern("commands", "sudo_outside").search(line_of(rest[1:]))
