"""AGENTS.md: what a repository that begins here tells whoever works on it beside the product's own agents."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from agents.languages.base import Language
from agents.languages.registry import languages, owner_of
from agents.secrets.redaction import redact

GUIDE = "AGENTS.md"
_BRANCHES = """## Branches and commits

AI SWE builds this repository from requirements, a task at a time.

- `{base}` is the base. `aiswe/run-N` holds the results of run N, `aiswe/chat-N` those of a chat; leave them alone while
  they are worked on. When the base has moved meanwhile, results stay on their branch until a person takes the base in.
- A commit of the product names in its trailers what it is for: `Task` of the plan, `Requirement` of the document, `Run`
  and `Event` of the record that tells why, `Audit-Head`, the hash of that record. `Recipe` lines in the first commit
  name what the repository started from. Leave trailers out of your own commits.
- Lines under git blame lead to such a commit; `aiswe audit verify-commit . COMMIT` checks what it attests.
"""


def guide(title: str, base: str, house_rules: str, paths: Iterable[str]) -> str:
    """The text for a repository of these files, which may be planned ones: set-up, tests, house rules, branches.

    Where none of them is source, it names the commands of every language.
    """
    found = list(paths)
    used = [one for one in languages() if one.runs_tasks and any(owner_of(path) is one for path in found)]
    known = used or [one for one in languages() if one.runs_tasks]
    commands = [_commands(one, folder) for one in known for folder in _folders(one, found)]
    either = "" if used else "By the language that the code is written in:\n\n"
    rules = f"## House rules\n\n{redact(house_rules.strip())}\n\n" if house_rules.strip() else ""
    tests = "A change is merged only when its tests pass. Tests are added to, not weakened."
    parts = [f"# Working on {title}", f"## Set up and test\n\n{either}" + "\n\n".join(commands), tests]
    return "\n\n".join(parts) + f"\n\n{rules}{_BRANCHES.format(base=base)}"


def _folders(one: Language, paths: Iterable[str]) -> list[str]:
    """The folders that have a list of packages of their own; the top where none has."""
    return sorted({str(PurePosixPath(path).parent) for path in paths if path.split("/")[-1] == one.manifest}) or ["."]


def _commands(one: Language, folder: str) -> str:
    lines = [*one.set_up, " ".join(one.test_command)]
    where = "" if folder == "." else f" in `{folder}/`"
    return (
        f"{one.title}{where}, with its packages in `{one.manifest}`, once it is there:\n\n```sh\n"
        + "\n".join(lines)
        + "\n```"
    )
