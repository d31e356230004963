"""Package managers: what they install and from where, and what they run in a project's environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.firewall.base import ALLOW, FirewallVerdict
from agents.firewall.shell.file_effects import approve
from agents.firewall.shell.launchers import Launchers, after_options
from agents.firewall.shell.script import SimpleCommand, Word
from agents.firewall.shell.table_rules import line_of
from agents.firewall.shell.tables import names, pattern

_PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*|@[a-z0-9-]+/[a-z0-9._-]+)(\[[\w,-]*\])?([=<>~!]=?.*|@[\w.^~-]+)?$")
_NODE = ("npm", "pnpm", "yarn", "bun")


class PackageManagers(Launchers):
    """Judges package managers."""

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
        texts = [word.text for word in arguments]
        verb = next((text for text in texts if text[:1] != "-" or text in names("packages", "verbs")), "")
        if name == "uv" and verb == "pip":
            texts = texts[texts.index("pip") + 1 :]
            verb = next((text for text in texts if not text.startswith("-")), "")
        said = f"{name} {verb}"
        if pattern("packages", "other_source").search(line_of(arguments)):
            return approve("package-source", f"{said} takes packages from another source.")
        if not pattern("packages", "installing").fullmatch(said) or (name == "npx" and "--no-install" in texts):
            return ALLOW
        named = [text for text in texts[texts.index(verb) + 1 if verb in texts else 0 :] if not text.startswith("-")]
        scripts = name in _NODE and verb == "run-script"
        if scripts or (not named and pattern("packages", "from_lock").fullmatch(said)):
            return ALLOW
        found = [_PACKAGE.match(text) for text in named]
        allowed = all(match and match[1].lower().replace("_", "-") in self.context.allowed_packages for match in found)
        removes = verb in ("remove", "uninstall")
        removes = removes and not any(pattern("packages", "checkers").fullmatch(text) for text in named)
        if name in names("packages", "pythonic") and (removes or (named and allowed)):
            return ALLOW
        after = {text for before, text in pairwise(texts) if re.fullmatch(r"-[rc]|--(re|con).*", before)}
        listed = [text for text in named if text not in after or text == named[0]]
        own = all(pattern("packages", "requirements").fullmatch(text) for text in listed)
        if name in ("pip", "pip3", "uv") and named and own:
            return ALLOW
        return approve("package-install", f"{said} installs or changes packages.")
