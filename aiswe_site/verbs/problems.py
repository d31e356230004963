"""What is wrong with a call, in sentences."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from aiswe_site.terminal.problems import MISSING, CliError, is_ours, problem_from


def is_text(value: Any) -> bool:
    """Whether all strings in a value can be stored: no NUL, no half of a character."""
    if isinstance(value, list | tuple):
        return all(map(is_text, value))
    if not isinstance(value, str):
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in value


def misfit_list(wrong: ValidationError) -> list[tuple[str, str]]:
    """What is wrong with arguments: the name of each and why; what was given is left out, it may be large."""
    found = [(".".join(map(str, one["loc"])), one["msg"]) for one in wrong.errors(include_input=False)[:5]]
    return [(name[:80], words[:1].lower() + words[1:]) for name, words in found]


def misfits(wrong: ValidationError) -> str:
    """The same as a sentence."""
    return "; ".join(f"{name!r}: {words}" for name, words in misfit_list(wrong)) + "."


def explained(error: Exception) -> tuple[CliError, str]:
    """An error as a problem, and as a sentence with the way out. What nobody foresaw is kept in the log folder."""
    problem = problem_from(error)
    if is_ours(error) or problem.exit_code == MISSING:
        return problem, " ".join(filter(None, [str(problem), problem.hint]))
    words = f"Something went wrong inside aiswe ({type(error).__name__}). The server's log folder has the details."
    return problem, words
