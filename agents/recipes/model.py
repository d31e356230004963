"""A recipe: what a project starts from, read from a folder of data. No code of it is run here."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.languages.registry import LANGUAGES
from agents.recipes.names import Names
from agents.recipes.problems import RecipeError

BUILT_IN = "built-in"
TEAMS = ("streamlit",)  # teams of personas that a recipe may ask for
PERSONAS = ("coder", "reviewer", "tester")  # whose system prompt a recipe may add to
MANIFEST, SKELETON, PROMPTS = "recipe.toml", "skeleton/", "prompts/"
MAX_FILES, MAX_BYTES, MAX_FILE_BYTES = 200, 1_000_000, 200_000
MAX_CHARS = 4_000  # of each text that goes into prompts: a small model reads them with every task
_TEXTS = ("house_rules.md", "plan.md")
_ABOUT = re.compile(r"(?:README|LICENSE|LICENCE|NOTICE|CHANGELOG|CONTRIBUTING)(?:\..*)?", re.IGNORECASE)
_LABEL = re.compile(r"[a-z][a-z0-9-]{0,59}")
_KEYS = {"title", "summary", "languages", "packages", "start", "team"}


@dataclass(frozen=True)
class Recipe:
    """What a project starts from. Until named() the texts hold tokens: __NAME__, __SLUG__ and __PACKAGE__.

    `skeleton` is the first files by path.
    """

    name: str
    title: str
    summary: str
    languages: tuple[str, ...]
    packages: tuple[str, ...]  # requirement lines that a plan may use; npm's as npm:NAME
    start: str  # how a person starts what was built
    skeleton: Mapping[str, str]
    house_rules: str = ""
    plan: str = ""  # hints for the planner
    prompts: Mapping[str, str] = field(default_factory=dict)  # further lines of a system prompt, by persona
    team: str = ""
    source: str = BUILT_IN
    commit: str = ""  # of its git repository
    hash: str = ""  # SHA-256 over its files

    def named(self, title: str) -> Recipe:
        """The recipe with the names of a project of this title in place of their tokens."""
        put = Names.of(title, self.packages).put_into
        return replace(
            self,
            start=put(self.start),
            skeleton={put(path): put(text) for path, text in self.skeleton.items()},
            house_rules=put(self.house_rules),
            plan=put(self.plan),
            prompts={persona: put(text) for persona, text in self.prompts.items()},
        )

    def files(self, title: str) -> dict[str, str]:
        """The first files of a project of this title, by path."""
        return dict(self.named(title).skeleton)

    def to_json(self) -> dict[str, Any]:
        """What a project keeps of it: a later change of the recipe changes no project."""
        kept = ("name", "title", "source", "commit", "hash", "team", "plan", "start")
        return {name: getattr(self, name) for name in kept} | {
            "packages": list(self.packages),
            "prompts": dict(self.prompts),
        }

    def trailers(self) -> dict[str, str]:
        """What the first commit says of its origin."""
        told = {"Recipe": self.name, "Recipe-Source": self.source, "Recipe-Commit": self.commit}
        return {name: value for name, value in (*told.items(), ("Recipe-Hash", self.hash)) if value}


def read(name: str, files: Mapping[str, bytes], *, source: str, commit: str = "") -> Recipe:
    """The recipe that these files, by path, make. Raises RecipeError with what is wrong and where."""
    if not _LABEL.fullmatch(name):
        raise RecipeError(f"{name[:60]!r} cannot be a recipe's name: use small letters, digits and dashes.")
    about = _manifest(name, files)
    texts = {path: _text(name, path, content) for path, content in files.items() if _is_read(name, path)}
    skeleton = {path.removeprefix(SKELETON): text for path, text in texts.items() if path.startswith(SKELETON)}
    if not skeleton:
        raise RecipeError(f"The recipe {name} has no skeleton: put the first files into {name}/{SKELETON}.")
    prompts = {path[len(PROMPTS) : -len(".md")]: texts[path].strip() for path in texts if path.startswith(PROMPTS)}
    told = {path: texts.get(path, "").strip() for path in _TEXTS}
    for path, text in (*told.items(), *((f"{PROMPTS}{one}.md", text) for one, text in prompts.items())):
        if len(text) > MAX_CHARS:
            raise RecipeError(
                f"{name}/{path} has {len(text):,} characters; at most {MAX_CHARS:,} go into prompts. Shorten it."
            )
    return Recipe(
        **about,
        name=name,
        skeleton=dict(sorted(skeleton.items())),
        house_rules=told["house_rules.md"],
        plan=told["plan.md"],
        prompts=dict(sorted(prompts.items())),
        source=source,
        commit=commit,
        hash=_digest(files[MANIFEST], texts),
    )


def _manifest(name: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The fields that recipe.toml gives."""
    if MANIFEST not in files:
        raise RecipeError(f"{name} is not a recipe: it has no {MANIFEST} at its top.")
    try:
        given = tomllib.loads(_text(name, MANIFEST, files[MANIFEST]))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecipeError(f"{name}/{MANIFEST} is not valid TOML: {error}.") from None
    if unknown := sorted(set(given) - _KEYS):
        raise RecipeError(f"{name}/{MANIFEST} has {unknown[0]!r}, which means nothing. It may have: {_list(_KEYS)}.")
    found: dict[str, Any] = {}
    for key, most in (("title", 60), ("summary", 200), ("start", 300)):
        found[key] = _line(name, given, key, most)
    for key in ("languages", "packages"):
        values = given.get(key, [])
        if not isinstance(values, list) or not all(isinstance(one, str) and 0 < len(one) <= 100 for one in values):
            raise RecipeError(f"{name}/{MANIFEST}: {key} is a list of names in quotes.")
        found[key] = tuple(values)
    if not found["languages"] or set(found["languages"]) - set(LANGUAGES):
        raise RecipeError(f"{name}/{MANIFEST}: languages names one or more of {_list(LANGUAGES)}.")
    found["team"] = given.get("team", "")
    if found["team"] not in ("", *TEAMS):
        raise RecipeError(f"{name}/{MANIFEST}: there is no team {str(found['team'])[:40]!r}. There is: {_list(TEAMS)}.")
    return found


def _line(name: str, given: Mapping[str, Any], key: str, most: int) -> str:
    value = given.get(key, "")
    if not isinstance(value, str) or not value.strip() or len(value) > most or "\n" in value.strip():
        raise RecipeError(f"{name}/{MANIFEST}: {key} is one line of at most {most} characters.")
    return value.strip()


def _is_read(name: str, path: str) -> bool:
    """Whether the file belongs to the recipe; what lies beside it, as a licence, does not count.

    A text at the top that no recipe has is refused: it is most likely a misspelt one, and would be left out unseen.
    """
    if path.startswith(SKELETON) or path in _TEXTS:
        return True
    if path.startswith(PROMPTS) and path.endswith(".md"):
        if path[len(PROMPTS) : -len(".md")] not in PERSONAS:
            raise RecipeError(f"{name}/{path}: there are prompts for {_list(PERSONAS)} only.")
        return True
    above, _, last = path.rpartition("/")
    if not above and path != MANIFEST and last.endswith((".md", ".toml")) and not _ABOUT.fullmatch(last):
        raise RecipeError(f"{name}/{path}: a recipe has no such file. It may have {_list([MANIFEST, *_TEXTS])}.")
    return False


def _text(name: str, path: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise RecipeError(f"{name}/{path} is not text in UTF-8: a recipe holds text files only.")
    return text


def _digest(manifest: bytes, texts: Mapping[str, str]) -> str:
    """SHA-256 over the paths and contents of what the recipe is made of."""
    found = hashlib.sha256()
    for path, content in sorted([(MANIFEST, manifest), *((path, text.encode()) for path, text in texts.items())]):
        found.update(f"{path}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def _list(names: Sequence[str] | set[str] | Mapping[str, Any]) -> str:
    return ", ".join(sorted(names))
