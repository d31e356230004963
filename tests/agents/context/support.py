"""Repositories of a few files for the tests of what a task is shown."""

from collections.abc import Sequence
from pathlib import Path

from agents.context import files
from agents.context.meaning import Meaning
from agents.llm.base import LLMError
from agents.workspace.repository import Repository

SHOP = {
    "shop/money.py": (
        "class Money:\n"
        '    """An amount in cents."""\n\n'
        "    def __init__(self, cents: int) -> None:\n        self.cents = cents\n\n"
        '    def plus(self, other: "Money") -> "Money":\n        return Money(self.cents + other.cents)\n'
    ),
    "shop/basket.py": (
        "from shop.money import Money\n\n\n"
        "class Basket:\n    def total(self) -> Money:\n        return sum_up([Money(1)])\n\n\n"
        "def sum_up(parts: list[Money]) -> Money:\n"
        "    def helper(one: Money) -> int:\n        return one.cents\n\n"
        "    return Money(sum(helper(part) for part in parts))\n"
    ),
    "shop/weather.py": "def forecast(city: str) -> str:\n    return 'rain in ' + city\n",
    "web/cart.ts": (
        "export interface Line { name: string }\n"
        "export const rate = 3;\n"
        "export function showBasket(lines: Line[]): string {\n  return lines.map((l) => l.name).join();\n}\n"
    ),
}

SUBJECTS = (
    ("pay", "money back", "refund", "reimburse"),
    ("climate", "forecast", "weather", "rain"),
    ("sign in", "login", "logout", "password"),
)


class Embedder:
    """An embedding model that knows three subjects, whatever words are used for them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.asked = 0
        self.away: LLMError | None = None

    def __call__(self, texts: Sequence[str], seconds: float) -> list[list[float]]:
        """Vectors of the texts."""
        self.asked += 1
        if self.away is not None:
            raise self.away
        self.texts += texts
        return [[1.0 if any(word in text for word in subject) else 0.01 for subject in SUBJECTS] for text in texts]


def repository_of(place: Path, files: dict[str, str]) -> tuple[Repository, str]:
    """A repository with one commit that holds the files; returns it and the commit."""
    repository = Repository(place / "repository", place / "trees")
    repository.ensure("shop")
    return repository, commit(repository, files)


def commit(repository: Repository, files: dict[str, str]) -> str:
    """Add a commit that writes the files; returns it."""
    base = repository.head()
    tree = repository.worktree("t", base)
    tree.write(files)
    sha = tree.commit(base, "files", "", {})
    repository.fast_forward(sha)
    return sha


def existing_files(
    repository: Repository,
    sha: str,
    own: Sequence[str],
    about: str = "",
    meaning: Meaning | None = None,
    *,
    beside: Sequence[str] = (),
    examples: str = "",
    tokens: int = files.STEP_TOKENS,
    wishes: str = "",
    told: Sequence[str] = (),
    calls: bool = True,
) -> files.Shown:
    """What a task with these files, and in these words, is shown."""
    wanted = files.Wanted(tuple(own), tuple(beside), about, examples, tokens, wishes, tuple(told), calls)
    return files.existing_files(repository, sha, wanted, meaning)
