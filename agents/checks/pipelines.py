"""Pipelines of GitHub Actions and GitLab CI: fields that exist, jobs that are there, versions that are fixed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import yaml
from jsonschema import Draft7Validator

from agents.checks.checked_file import CheckedFile, Found
from agents.checks.kubernetes import at, schema, schema_problems

MOST_CHARS, MOST_LINE, MOST_ALIASES = 100_000, 2_000, 50  # beyond them a file is only parsed
_WORKFLOW = re.compile(r"(?:^|/)\.github/workflows/[^/]+\.ya?ml$")
_GITLAB = re.compile(r"(?:^|/)\.gitlab-ci\.ya?ml$")
_MOVING = frozenset({"main", "master", "latest", "HEAD", "develop"})
# What anyone who opens an issue or a pull request may write; in `run` it becomes part of a shell script.
_STRANGERS = re.compile(
    r"\$\{\{[^}]*\bgithub\.(?:head_ref|event\.(?:issue|pull_request|comment|review|discussion|head_commit|commits|pages)"
    r"\b[^}]*\.(?:title|body|message|name|email|ref|label|default_branch|page_name))\b[^}]*\}\}"
)
_STAGES = (".pre", "build", "test", "deploy", ".post")
# Keys at the top of .gitlab-ci.yml that are no jobs.
_SETTINGS = frozenset(
    "default include stages variables workflow image services cache before_script after_script spec".split()
)


class _Loader(yaml.SafeLoader):
    """YAML as pipelines are read: only true and false are truth values, so that `on` stays a word."""


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:bool"]
    for letter, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false|True|False)$"), list("tfTF"))
_Loader.add_constructor("!reference", lambda loader, node: loader.construct_sequence(cast(yaml.SequenceNode, node)))


def is_pipeline(path: str) -> bool:
    """True for a workflow of GitHub and for GitLab's .gitlab-ci.yml."""
    return bool(_WORKFLOW.search(path) or _GITLAB.search(path))


@cache
def _validator(name: str) -> Draft7Validator:
    return Draft7Validator(schema(name))


def check_pipeline(text: str, place: CheckedFile) -> Found:
    """What is wrong in a pipeline that parses. Raises yaml.YAMLError."""
    lines = text.splitlines()
    if len(text) > MOST_CHARS or max(map(len, lines), default=0) > MOST_LINE:
        return
    if sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)) > MOST_ALIASES:
        return
    found = list(yaml.load_all(text, _Loader))
    data = found[-1] if found else None
    github = bool(_WORKFLOW.search(place.path))
    for key, said in schema_problems(_validator("github_workflow" if github else "gitlab_ci"), data):
        title = "a workflow of GitHub Actions" if github else "GitLab's CI"
        yield _line(lines, f"{key}:"), f"does not fit the schema of {title}: {said}"
    if isinstance(data, dict):
        for word, said in _workflow(data, place) if github else _gitlab(data):
            yield _line(lines, word), said


def _line(lines: list[str], word: str) -> int:
    return next((number for number, line in enumerate(lines, 1) if word in line), 1)


def _workflow(data: dict[str, Any], place: CheckedFile) -> Iterator[tuple[str, str]]:
    jobs = at(data, "jobs")
    for name, job in jobs.items() if isinstance(jobs, dict) else ():
        for other in _list(at(job, "needs")):
            if other not in jobs:
                yield f"{name}:", f"the job {name} needs {other}, which is not among the jobs"
        steps = at(job, "steps")
        for step in [job, *(steps if isinstance(steps, list) else ())]:
            used, run = at(step, "uses"), at(step, "run")
            if isinstance(used, str):
                yield from ((used, said) for said in _used(used, place))
            if isinstance(run, str) and (stranger := _STRANGERS.search(run)):
                said = 'what a stranger writes becomes part of a shell script; hand it over as env and write "$NAME"'
                yield stranger[0], f"{stranger[0][:60]}: {said}"


def _used(used: str, place: CheckedFile) -> Iterator[str]:
    if used.startswith("./"):
        path = posixpath.normpath(used)
        if place.there and not place.has(path):
            yield f"the action {path} is not in the repository"
    elif used.startswith("docker://"):
        if not _fixed(used.removeprefix("docker://")):
            yield f"{used[:80]} has no fixed version; name one, not latest"
    elif not used.partition("@")[2] or used.partition("@")[2] in _MOVING:
        yield f"{used[:80]} has no fixed version; name a release, or better a commit"


def _gitlab(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    jobs = {name: job for name, job in data.items() if name not in _SETTINGS and isinstance(job, dict)}
    stages = {*_STAGES[::4], *_list(at(data, "stages") or list(_STAGES))}
    elsewhere = "include" in data  # jobs and stages of other files
    for name, job in jobs.items():
        if not elsewhere:
            for key in ("needs", "dependencies", "extends"):
                for other in (at(one, "job") if isinstance(one, dict) else one for one in _list(job.get(key))):
                    if isinstance(other, str) and other not in jobs and "$" not in other:
                        yield f"{name}:", f"the job {name} names {other} ({key}), which is not among the jobs"
            stage = job.get("stage")
            if isinstance(stage, str) and stage not in stages and "$" not in stage:
                yield f"{name}:", f"the job {name} is in the stage {stage}, which is not among the stages"
        yield from _image(name, job.get("image"))
    for key in ("image", "default"):
        yield from _image(key, data.get("image") if key == "image" else at(data, "default", "image"))


def _image(name: str, image: Any) -> Iterator[tuple[str, str]]:
    named = at(image, "name") if isinstance(image, dict) else image
    if isinstance(named, str) and not _fixed(named):
        yield named, f"the image {named[:80]} of {name} has no fixed version; name one, not latest"


def _fixed(image: str) -> bool:
    """Whether it has a version, or a variable that may hold one."""
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    return "@" in image or "$" in image or tag not in ("", "latest")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []
