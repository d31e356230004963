"""Refusals a person may read: their text is safe to show."""


class ProjectsError(Exception):
    """A request was refused; the text says what was wrong and the way out."""


class OldData(ProjectsError):
    """The database was made by a version whose data this one does not read."""


class UnusableKey(ProjectsError):
    """A key file of this installation holds no complete key."""


class IllegalMove(ProjectsError):
    """The state machine has no such move."""


class Unsealable(ProjectsError):
    """Sealed bytes cannot be opened with the secrets at hand."""


class LostRace(ProjectsError):
    """Someone else changed the row first; look again."""


class StaleVersion(ProjectsError):
    """The decision was made on a version that is no longer the current one."""


class NotAllowed(ProjectsError):
    """The person's role does not include this."""


class BadInput(ProjectsError):
    """What was given cannot be used; the text names it and the way out."""


class NotFound(ProjectsError):
    """What was named does not exist, or not yet."""


class LimitReached(ProjectsError):
    """A budget (retries, iterations, tokens, time) is used up."""


class LeaseLost(ProjectsError):
    """The task is somebody else's now; nothing more may be written for it."""


class TooManyTries(ProjectsError):
    """Too many wrong answers in a row; the next one is accepted in `seconds`."""

    def __init__(self, text: str, seconds: int) -> None:
        super().__init__(text)
        self.seconds = seconds
