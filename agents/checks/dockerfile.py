"""Dockerfiles: instructions that exist, small images that can be repeated, a user that is not root, a health check."""

from __future__ import annotations

import fnmatch
import json
import posixpath
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from agents.checks.checked_file import CheckedFile, Found
from sandbox.dockerfile import BuildStage, Instruction, copied_from, instructions, stages

INSTRUCTIONS = frozenset(
    "FROM ARG RUN CMD LABEL MAINTAINER EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ONBUILD STOPSIGNAL "
    "HEALTHCHECK SHELL".split()
)
_BUILDS = re.compile(
    r"(?:^|&&|;|\|)\s*(?:(?:\w+=\S+|env|exec)\s+)*"
    r"(go (?:build|install)|cargo (?:build|install)|(?:\./)?mvnw?|(?:\./)?gradlew?|make|cmake|g?cc|g\+\+|javac"
    r"|(?:npm|pnpm) run build|yarn (?:run )?build|dotnet (?:publish|build)|python3? -m build|tsc|webpack|vite build)\b"
)
_TOOLS = re.compile(
    r"\b(?:apt-get|apk)\b[^&;|]*\b(?:install|add)\b[^&;|]*\s(build-essential|build-base|gcc|g\+\+|make|cmake)\b"
)
_EMPTY = CheckedFile("Dockerfile", (), lambda _: None)


@cache
def _rules() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("dockerfile_rules.toml").read_text("utf-8"))


@cache
def _patterns() -> list[tuple[str, re.Pattern[str], re.Pattern[str] | None]]:
    return [
        (number, re.compile(row["match"]), re.compile(row["unless"]) if "unless" in row else None)
        for number, row in _rules().items()
        if "match" in row
    ]


def _said(number: str, line: int, **details: object) -> tuple[int, str]:
    row = _rules()[number]
    return line, f"{number}: {row['reason']}; {row['cure']}".format(**details)


def check_dockerfile(text: str, place: CheckedFile = _EMPTY) -> Found:
    """What is wrong, by the line of its instruction: number of the rule, reason, cure."""
    rows = list(instructions(text))
    for one in rows:
        if one.word not in INSTRUCTIONS:
            yield _said("DL1000", one.line, word=one.word[:40])
        for number, pattern, unless in _patterns():
            shown = str(one)[:4000]
            if pattern.search(shown) and not (unless and unless.search(shown)):
                yield _said(number, one.line)
    begin = next((one for one in rows if one.word != "ARG" and one.word in INSTRUCTIONS), None)
    found = stages(text)
    if not found:
        yield _said("AC0006", 1)
    elif begin and begin.word != "FROM":
        yield _said("DL3061", begin.line)
    elif begin:
        yield from _of_stages(found)
        yield from _of_files(found, place)


def _of_stages(found: list[BuildStage]) -> Found:
    names = list[str]()
    for number, stage in enumerate(found):
        if stage.base.lower() not in names and not _pinned(stage.base):
            yield _said("DL3006", stage.line, base=stage.base[:80])
        if stage.name and stage.name in names:
            yield _said("DL3024", stage.line, stage=stage.name)
        for copied in stage.of("COPY"):
            source = copied_from(copied)
            known = {*filter(None, names), *map(str, range(number))}
            if source and source.lower() not in known and not ("$" in source or _pinned(source, tagged=True)):
                yield _said("DL3022", copied.line, stage=source[:40])
        yield from _of_one_stage(stage)
        names.append(stage.name)
    yield from _of_last_stage(found)


def _of_one_stage(stage: BuildStage) -> Found:
    for number, word in (("DL3012", "HEALTHCHECK"), ("DL4003", "CMD"), ("DL4003", "ENTRYPOINT")):
        for again in stage.of(word)[1:]:
            yield _said(number, again.line, word=word)
    for exposed in stage.of("EXPOSE"):
        for port in exposed.rest.split():
            numbers = re.split(r"-", port.partition("/")[0])
            if "$" not in port and not all(one.isdigit() and 0 < int(one) < 65536 for one in numbers):
                yield _said("DL3011", exposed.line, port=port[:40])
    for copied in stage.of("COPY"):
        sources, target = _copies(copied)
        if len(sources) > 1 and not copied.here and not target.endswith(("/", ".")) and "$" not in target:
            yield _said("DL3021", copied.line, target=target[:80])


def _of_last_stage(found: list[BuildStage]) -> Found:
    last, users, checks = found[-1], list[Instruction](), list[Instruction]()
    for stage in _lineage(found):
        users = [*stage.of("USER"), *users]
        checks += stage.of("HEALTHCHECK")
    user = users[-1].rest.partition(":")[0].strip("\"'") if users else "root"
    if user in ("root", "0") and not (last.base == "scratch" and not users):
        yield _said("DL3002", users[-1].line if users else last.line)
    if not checks and last.base != "scratch":
        yield _said("DL3057", last.line)
    for run in last.of("RUN"):
        if tool := _BUILDS.search(run.rest) or _TOOLS.search(run.rest):
            yield _said("AC0003", run.line, tool=tool[1])


def _lineage(found: list[BuildStage]) -> Iterator[BuildStage]:
    """The last stage, then the one that it starts from, and so on."""
    stage, left = found[-1], found[:-1]
    while True:
        yield stage
        parent = next((number for number, one in enumerate(left) if one.name and one.name == stage.base.lower()), None)
        if parent is None:
            return
        stage, left = left[parent], left[:parent]


def _pinned(image: str, *, tagged: bool = False) -> bool:
    """Whether it has a version; `tagged` only with one, else `scratch` and what an ARG names are left alone too."""
    named, digest, _ = image.partition("@")
    tag = named.rpartition("/")[2].partition(":")[2]
    return bool(digest) or tag not in ("", "latest") or (not tagged and (image == "scratch" or "$" in image))


def _copies(copied: Instruction) -> tuple[list[str], str]:
    rest = re.sub(r"^(?:--\S+\s+)*", "", copied.rest)
    try:
        words = [str(word) for word in json.loads(rest)] if rest.startswith("[") else rest.split()
    except ValueError:
        words = rest.split()
    return words[:-1], words[-1] if words else ""


def _of_files(found: list[BuildStage], place: CheckedFile) -> Found:
    """What is copied from the repository: the context is its root, or the folder of the Dockerfile."""
    if not place.there:
        return
    folder = posixpath.dirname(place.path)
    for copied in (one for stage in found for word in ("COPY", "ADD") for one in stage.of(word)):
        sources, _ = _copies(copied)
        if copied.here or copied_from(copied):
            continue
        for source in sources:
            path = posixpath.normpath(source.lstrip("/"))
            if "$" in source or "://" in source or source.startswith("git@"):
                continue
            if path == "." and not {f"{folder}/.dockerignore".lstrip("/"), ".dockerignore"} & set(place.there):
                yield _said("AC0004", copied.line)
            elif not any(_there(posixpath.normpath(posixpath.join(root, path)), place) for root in {"", folder}):
                yield _said("AC0005", copied.line, path=source[:80])


def _there(path: str, place: CheckedFile) -> bool:
    if not re.search(r"[*?\[]", path):
        return place.has(path)
    return any(fnmatch.fnmatch(one, path) or fnmatch.fnmatch(one, f"{path}/*") for one in place.there)
