"""What a plan adds that nobody asked for: pages, containers, pipelines, examples and options that no requirement names.

Only what can be told from words: how the code itself is split into files is the planner's to decide.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from agents.context.retrieval import terms
from agents.planning.model import PlanDraft, PlanProblem, PlanTask

_PAGES = (".md", ".markdown", ".rst", ".adoc")
# Files beside the code, and the words by which a requirement asks for one.
_PAGE = r"(?:\.(?:md|markdown|rst|adoc|txt))?$"
_BESIDE = {
    re.compile(pattern, re.IGNORECASE): words
    for pattern, words in {
        rf"(?:^|/)readme{_PAGE}": "readme documentation document manual instructions",
        rf"(?:^|/)(?:changelog|changes|history|news){_PAGE}": "changelog changes release history",
        rf"(?:^|/)(?:licen[cs]e|copying){_PAGE}": "license licence",
        r"(?:^|/)(?:dockerfile|containerfile|\.dockerignore|(?:docker-)?compose\.ya?ml)$": "docker container image",
        r"^(?:\.github/|\.gitlab-ci|\.circleci/|jenkinsfile$)": "pipeline workflow github gitlab continuous",
        r"^(?:examples?|demos?|samples?)/": "example demo sample",
        r"^docs?/": "documentation document manual guide page",
        r"(?:^|/)makefile$": "make makefile",
    }.items()
}
_OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]{2,40})")


def additions(plan: PlanDraft, asked: str, passages: str = "") -> list[PlanProblem]:
    """A warning for each task with what it adds beyond `asked`, the words of requirements and house rules.

    A file that `passages`, the document's examples, name is asked for too.
    """
    known = set(terms(asked))
    return [found for task in plan.tasks if (found := _added_by(task, f"{asked}\n{passages}".lower(), known))]


def _added_by(task: PlanTask, asked: str, known: set[str]) -> PlanProblem | None:
    added = [path for path in task.files if not _is_asked(path, asked, known)]
    words = f"{task.title}\n{task.description}\n{task.expects}"
    options = dict.fromkeys(_OPTION.findall(words))
    spelled = set(_OPTION.findall(asked))  # some options are words that say too little to be terms: --out, --all
    added += [f"--{option}" for option in options if option not in spelled and not set(terms(option)) & known]
    if not added:
        return None
    message = (
        f"Not asked for: {', '.join(added[:8])} ({task.key}). Leave it out, or name the requirement that needs it."
    )
    return PlanProblem("not_asked_for", message, (task.key,), "warning")


def _is_asked(path: str, asked: str, known: set[str]) -> bool:
    name = PurePosixPath(path).name.lower()
    kinds = [words for pattern, words in _BESIDE.items() if pattern.search(path)]
    if not kinds and not name.endswith(_PAGES):
        return True
    return name in asked or bool(set(terms(" ".join([*kinds, PurePosixPath(name).stem]))) & known)
