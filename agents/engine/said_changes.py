"""What a change takes back of the promises that a repository makes: pins, tests, and how strict its checks are."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from agents.languages.base import Language
from agents.languages.registry import is_test, language_of, languages
from agents.languages.suites import test_changes
from agents.secrets.redaction import redact
from sandbox.package_index.names import NPM

MOST_SHOWN = 300  # characters of a line
HASH = " --hash"
COMPARED = "requirements files, pyproject.toml, package.json, base images, tests and configuration of checks"
_RUNS_CHECKS = re.compile(
    r"^\.(?:github/(?:workflows|actions)|forgejo/workflows|gitea/workflows|circleci|woodpecker|husky)/"
    r"|(?:^|/)(?:\.gitlab-ci\.yml|\.travis\.yml|\.woodpecker\.ya?ml|azure-pipelines\.ya?ml|bitbucket-pipelines\.yml"
    r"|Jenkinsfile"
    r"|(?:GNU)?[Mm]akefile|[\w.-]+\.mk|\.?[Jj]ustfile|Taskfile\.ya?ml|\.pre-commit-config\.ya?ml|lefthook\.ya?ml)$"
)
_IMAGES = re.compile(
    r"(?:^|/)(?:[\w.-]*(?:Dockerfile|Containerfile)[\w.-]*|[\w.-]*\.dockerfile|(?:docker-)?compose[\w.-]*\.ya?ml)$"
)
_IMAGE = re.compile(
    r"^[ \t]*(?:FROM[ \t]+(?:--\S+[ \t]+)*|image:[ \t]*)[\"']?([^\s\"']+)", re.IGNORECASE | re.MULTILINE
)


def said_changes(
    before: Mapping[str, str],
    after: Mapping[str, str],
    asked: frozenset[str] = frozenset(),
    apart: Callable[[str], bool] = lambda _: False,
) -> list[str]:
    """A sentence for each pin that changes, each test that is dropped, altered or skipped, and each check silenced.

    Both are texts by path; a path of one alone was added or deleted. `asked` are names of packages that a person wants
    changed. [] when all that was promised before still holds.
    """
    found = []
    for path in sorted({*before, *after}):
        old, new = before.get(path, ""), after.get(path, "")
        if old == new:
            continue
        found += _pins(path, old, new, asked)
        for one in languages():
            more = one.silenced(path, new) - one.silenced(path, old)
            found += [f"{path}: adds {mark}" + (f" {count} times" if count > 1 else "") for mark, count in more.items()]
            if one.configures_checks(path, old, new):
                found.append(f"{path}: the configuration of checks is changed")
        if _RUNS_CHECKS.search(path):
            found.append(f"{path}: what runs the checks is changed")
        if old and is_test(path) and not apart(path) and (language := language_of(path)) is not None:
            found += _tests(language, path, old, new)
    return found


def _pins(path: str, old: str, new: str, asked: frozenset[str]) -> list[str]:
    found = []
    for bound in (_images, *(one.bound for one in languages())):
        there, now = _by_name(bound(path, old)), _by_name(bound(path, new))
        for name in [*there, *(name for name in now if name.startswith("-") and name not in there)]:
            gone = [line for line in there[name] if line not in now[name]]
            came = [line for line in now[name] if line not in there[name]]
            if name in asked and not (any(HASH in line for line in gone) and not any(HASH in line for line in came)):
                continue
            both = min(len(gone), len(came))
            found += [
                f"{path}: {_shown(name, line)} becomes {_shown('-', other)}"
                for line, other in zip(gone, came, strict=False)
            ]
            found += [f"{path}: {_shown(name, line)} is removed" for line in gone[both:]]
            found += [f"{path}: {_shown(name, line)} is added" for line in came[both:]]
    return found


def _by_name(lines: Iterable[tuple[str, str]]) -> defaultdict[str, list[str]]:
    found = defaultdict(list)
    for name, line in lines:
        found[name].append(line)
    return found


def _images(path: str, text: str) -> list[tuple[str, str]]:
    """Images that containers begin with, by their names without tag and digest."""
    images = [one[1] for one in _IMAGE.finditer(text)] if _IMAGES.search(path) else []
    return [(re.sub(r"@.*|:[^/]*$", "", image), image) for image in images]


def _shown(name: str, line: str) -> str:
    """As people read it, without secrets of addresses."""
    short = str(redact(re.sub(r"(--hash[= ]\w+:\w{8})\w+", r"\1…", line.removeprefix(NPM))))
    short = short[:MOST_SHOWN] + ("…" if len(short) > MOST_SHOWN else "")
    return short if name else f"the versions that run it, {short},"


def _tests(language: Language, path: str, old: str, new: str) -> list[str]:
    if not new:
        return [f"{path}: the file of tests is deleted"]
    changes = test_changes(language, path, old, new)
    return [f"{path}: {name} is {'changed' if text else 'removed'}" for name, (_, text) in changes.items()]
