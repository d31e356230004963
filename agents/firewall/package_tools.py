"""Package managers: what they install and from where, and what they run in a project's environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.firewall.base import ALLOW, Verdict, words
from agents.firewall.file_effects import URL, approve
from agents.firewall.runners import Runners, after_options
from agents.firewall.shell import Simple, Word

_PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*|@[a-z0-9-]+/[a-z0-9._-]+)(\[[\w,-]*\])?([=<>~!]=?.*|@[\w.^~-]+)?$")
_GUARDS = frozenset(
    {
        "bandit",
        "semgrep",
        "ruff",
        "pytest",
        "pre-commit",
        "detect-secrets",
        "gitleaks",
        "safety",
        "pip-audit",
        "eslint",
        "mypy",
        "coverage",
    }
)
_PROJECT_RUNS = frozenset(
    {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("bundle", "exec"), ("npm", "exec"), ("pnpm", "exec"), ("yarn", "exec"), ("hatch", "run"),
     ("conda", "run"), ("rye", "run"), ("pixi", "run"), ("bun", "x"), ("go", "run"), ("cargo", "run")}
)  # fmt: skip


class PackageTools(Runners):
    """Judges package managers."""

    def managed(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """A package manager, or what it runs in the project's environment."""
        rest = after_options(arguments, {"--directory", "--project", "-C", "--python", "--with", "-p"})
        verb = rest[0].text if rest else ""
        if (name, verb) in _PROJECT_RUNS and len(rest) > 1:
            inner = after_options(rest[1:], {"--with", "--python", "-p", "--extra", "--group", "-e", "--package"})
            if "--" in [word.text for word in rest]:
                inner = rest[[word.text for word in rest].index("--") + 1 :]
            if name not in ("npm", "pnpm", "yarn", "bun") or (inner and inner[0].text in words("commands", "shells")):
                yield from self.run(inner, simple) if inner else ()
                return
        said = [word.text for word in rest]
        if {"uninstall", "remove", "rm", "un"} & set(said[:2]) and any(
            re.match(r"(" + "|".join(_GUARDS) + r")\b", text) for text in said[1:]
        ):
            yield approve("guard", f"{name} takes a program away that checks the work.")
        for index, word in enumerate(arguments[:-1]):
            if word.text in ("-c", "--call") and name in ("npx", "npm", "pnpm"):
                yield self.nested(arguments[index + 1].text)
        yield self.packages(name, arguments)

    def packages(self, name: str, arguments: Sequence[Word]) -> Verdict:
        """Package managers: names on the allow-list, lock files of the project, or a question."""
        texts = [word.text for word in arguments]
        verb = next(
            (text for text in texts if not text.startswith("-") or text in words("commands", "install_verbs")), ""
        )
        if name == "uv" and verb == "pip":
            texts = texts[texts.index("pip") + 1 :]
            verb = next((text for text in texts if not text.startswith("-")), "")
        if any(
            text.startswith(("--extra-index-url", "--index-url", "-i=", "--trusted-host", "--find-links", "--registry", "--index", "--default-index"))
            or "git+" in text or URL.match(text) or re.match(r"(git@|github:|file:/|/tmp|~/|\.\./)", text)
            for text in texts
        ):  # fmt: skip
            return approve("package-source", f"{name} {verb} takes packages from another source.")
        if name == "npx" and "--no-install" in texts:
            return ALLOW  # only what the project has already
        if name == "dpkg" and verb in ("-S", "-l", "-L", "-s"):
            return ALLOW
        if name not in ("npx", "uvx", "easy_install") and not (
            verb in words("commands", "install_verbs")
            or re.match({"pacman": "-[SUR]", "rpm": "-[iUFe]", "dpkg": "-[irP]"}.get(name, "(?!)"), verb)
        ):
            return ALLOW
        named = [text for text in texts[texts.index(verb) + 1 if verb in texts else 0 :] if not text.startswith("-")]
        pythonic = name in ("pip", "pip3", "uv", "poetry", "pdm", "npm", "pnpm", "yarn", "bun", "pipenv")
        own = {"npm", "pnpm", "yarn", "bun", "poetry", "pdm", "uv", "cargo", "go", "composer", "bundle"}
        if name in own and not named and verb in ("install", "i", "ci", "sync", "update", "get", "download", "lock"):
            return ALLOW  # what the project's own lock file lists; the index decides name by name
        if (
            name in ("npm", "pnpm", "yarn", "bun")
            and verb in ("run-script", "x", "exec")
            and (verb == "run-script" or not named)
        ):
            return ALLOW
        listed = [
            text
            for index, text in enumerate(named)
            if index == 0 or texts[texts.index(text) - 1] not in ("-r", "--requirement", "-c", "--constraint")
        ]
        if (
            name in ("pip", "pip3", "uv")
            and named
            and all(re.fullmatch(r"(\./)?[\w./-]*\.(txt|in)|\.(\[[\w,-]*\])?", text) for text in listed)
        ):
            return ALLOW
        found = [_PACKAGE.match(text) for text in named]
        if (
            pythonic
            and named
            and all(match and match[1].lower().replace("_", "-") in self.context.allowed_packages for match in found)
        ):
            return ALLOW
        if verb in ("remove", "uninstall") and pythonic and not set(named) & _GUARDS:
            return ALLOW
        return approve("package-install", f"{name} {verb} installs or changes packages.")
