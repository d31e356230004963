"""From an error of any room to a sentence, a way out and an exit code."""

from __future__ import annotations

DONE, NO, WRONG_USE, MISSING = 0, 1, 2, 3

OUR_ROOMS = ("sandbox", "agents", "projects", "dashboard", "aiswe_site")
# Errors that mean "something needed is not there" or "what was given makes no sense"; every other one of ours means
# "the answer is no".
MEANS_WRONG_USE = {"DocumentRefused", "WrongSetting"}
MEANS_MISSING = {"SandboxUnavailable", "ModelUnavailable", "ModelMissing", "ModelTimeout", "Missing"}
WAYS_OUT = {
    "SandboxUnavailable": "`aiswe doctor` shows what the sandbox needs.",
    "ModelUnavailable": "Start the model server (see `aiswe doctor`), or watch the recorded run: `aiswe demo`.",
    "ModelTimeout": "Try again; `aiswe doctor` measures the model server.",
}


class CliError(Exception):
    """An answer that ends the command: what is wrong, the way out, the exit code."""

    exit_code = NO

    def __init__(self, message: str, hint: str = "", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.hint, self.exit_code = hint, self.exit_code if exit_code is None else exit_code


class WrongUse(CliError):
    """What was asked makes no sense."""

    exit_code = WRONG_USE


class Missing(CliError):
    """Something needed is not there."""

    exit_code = MISSING


def problem_from(error: BaseException) -> CliError:
    """Our own errors speak for themselves; anything else is kept in a log file and named in one line."""
    kind = type(error)
    names = {base.__name__ for base in kind.__mro__}
    if isinstance(error, CliError):
        return error
    if is_ours(error):
        hint = str(getattr(error, "hint", "")) or next((WAYS_OUT[name] for name in WAYS_OUT if name in names), "")
        message = str(error) or kind.__name__
        code = MISSING if names & MEANS_MISSING else WRONG_USE if names & MEANS_WRONG_USE else NO
        return CliError(message, "" if hint and hint in message else hint, code)
    if "DatabaseError" in names and kind.__module__.startswith("django.db"):
        return CliError(f"The database is not usable: {first_line(error)}.", "`aiswe doctor` looks closer.", MISSING)
    from aiswe_site.startup.home import note

    try:
        kept = f"Details are in {note(error)}; please report them."
    except OSError as no_room:
        kept = f"Details could not be written ({no_room})."
    return CliError(f"Something went wrong inside aiswe: {kind.__name__}: {first_line(error)}", kept, NO)


def is_ours(error: BaseException) -> bool:
    """Whether the error is of a room of the product, and so has words for a person."""
    return type(error).__module__.split(".")[0] in OUR_ROOMS


def first_line(error: BaseException) -> str:
    """The first line of an error's text."""
    return (str(error).splitlines() or [""])[0][:300]
