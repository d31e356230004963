"""Names that installed libraries do not have, found before a test run is spent on them.

The libraries are looked at where the code will run, inside of the sandbox: the engine imports none of them. What comes
back is text from packages, so only names go on from it: no docstring and no default value reaches a prompt from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from agents.languages.base import Language, Question
from agents.languages.registry import languages
from sandbox.base import Sandbox

MOST = 8  # problems named in one answer
KEPT = 20_000  # answers remembered in this process


class ApiCheck:
    """Asks a sandbox about names, each only once for the same packages. Safe to share among threads."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, Question], str] = {}
        self._without: set[tuple[str, str]] = set()  # scopes and languages whose runtime the sandbox does not have

    def problems(
        self, files: Mapping[str, str], *, paths: Iterable[str], sandbox: Callable[[], Sandbox], scope: str
    ) -> tuple[list[str], list[Language]]:
        """One line for each use of something that is not there, and the languages that could not be looked up.

        `paths` are the repository's own files, `scope` names the packages that the sandbox has. The sandbox is made
        only when there is something to ask. Raises SandboxError when it broke.
        """
        own = frozenset(paths)
        found: dict[str, str] = {}
        without: list[Language] = []
        for language in languages():
            uses = [
                (path, line, question)
                for path, text in sorted(files.items())
                if language.owns(path)
                for line, question in language.uses(path, text, own)
            ]
            if not self._look_up(language, {question for _, _, question in uses}, sandbox, scope):
                without.append(language)
                continue
            for path, line, question in uses:
                # Another thread may have made room meanwhile.
                if words := self._known.get((scope, language.name, question), ""):
                    found.setdefault(words, f"{path}:{line}: {words}")
        return list(found.values())[:MOST], without

    def _look_up(
        self, language: Language, questions: set[Question], sandbox: Callable[[], Sandbox], scope: str
    ) -> bool:
        """Ask what is not known yet; False when the sandbox has no runtime of the language."""
        if questions and (scope, language.name) in self._without:
            return False
        new = sorted((one for one in questions if (scope, language.name, one) not in self._known), key=repr)
        if not new:
            return True
        answers = language.missing(sandbox(), new)
        if answers is None:
            self._without.add((scope, language.name))
            return False
        if len(self._known) > KEPT:
            self._known.clear()
        self._known |= {(scope, language.name, one): words for one, words in zip(new, answers, strict=True)}
        return True


shared = ApiCheck()
