"""What the parts of a diagram are: programs to write, stores to start, systems of others, people.

Shapes and words decide, by the tables in components.toml. What they leave open becomes a question of the answer.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from agents.recipes.names import Names

MOST_COMPONENTS = 40
PROGRAMS = ("web", "service", "worker", "cli")
STORES = ("database", "cache", "queue")
_DRAWN = ("flowchart", "C4", "PlantUML", "draw.io")  # kinds of diagrams that show components; sequences are second best
_CHAR_BEFORE, _CHAR_AFTER = r"(?<![\w.#+-])", r"(?![\w#+-])"


@dataclass(frozen=True)
class Component:
    """A part of the system. `technology` is a key of components.toml; `needs` are slugs of what it has links to."""

    title: str
    slug: str
    kind: str  # of PROGRAMS and STORES, or external, person, open
    technology: str = ""
    why: str = ""
    needs: tuple[str, ...] = ()

    @property
    def is_program(self) -> bool:
        """True for what gets a folder of its own."""
        return self.kind in PROGRAMS and bool(self.technology)

    @property
    def is_store(self) -> bool:
        """True for what is started from an image."""
        return self.kind in STORES and bool(self.technology)

    @property
    def template(self) -> str:
        """The folder of templates of a program."""
        return str(tables()["technologies"][self.technology]["starts"][self.kind]) if self.is_program else ""

    @property
    def language(self) -> str:
        """The language of a program, as agents.languages.registry names it."""
        return str(tables()["languages"][self.template]) if self.is_program else ""

    @property
    def folder(self) -> str:
        """Where a program is."""
        return f"services/{self.slug}" if self.is_program else ""

    @property
    def technology_title(self) -> str:
        """The technology as people write it."""
        known = {**tables()["technologies"], **tables()["stores"]}
        return str(known[self.technology]["title"]) if self.technology else ""


@dataclass(frozen=True)
class Architecture:
    """The components of one diagram, on line `line` of its document, and what it leaves open."""

    line: int
    components: tuple[Component, ...]
    questions: tuple[str, ...] = ()
    _by_slug: dict[str, Component] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._by_slug.update({one.slug: one for one in self.components})

    def __getitem__(self, slug: str) -> Component:
        return self._by_slug[slug]

    @property
    def programs(self) -> list[Component]:
        """What gets a folder of its own."""
        return [one for one in self.components if one.is_program]

    @property
    def stores(self) -> list[Component]:
        """What is started from an image."""
        return [one for one in self.components if one.is_store]


class NoArchitecture(ValueError):
    """There is no diagram of components; the text says what was found instead, `hint` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@cache
def tables() -> dict[str, Any]:
    """The tables of components.toml."""
    return tomllib.loads(Path(__file__).with_name("components.toml").read_text("utf-8"))


_Made = Callable[..., Component]


def read_architecture(diagrams: Sequence[Mapping[str, Any]], line: int = 0) -> Architecture:
    """The architecture in a document's diagrams: in the one on `line`, else in the one with most to start.

    Raises NoArchitecture.
    """
    drawn = [one for one in diagrams if one["kind"] in _DRAWN] or [one for one in diagrams if one["kind"] == "sequence"]
    if line:
        drawn = [one for one in diagrams if one["line"] == line]
        if not drawn:
            lines = ", ".join(str(one["line"]) for one in diagrams) or "none"
            raise NoArchitecture(f"No diagram begins on line {line}.", f"Diagrams begin on these lines: {lines}.")
    if not drawn:
        other = ", ".join(f"{one['kind']} (line {one['line']})" for one in diagrams)
        raise NoArchitecture(
            f"There is no diagram of components; found: {other}." if other else "There is no diagram that can be read.",
            "Draw one as a Mermaid flowchart or C4, in PlantUML or in draw.io; images are not read.",
        )
    read = [_architecture(one) for one in drawn]
    best = max(read, key=lambda one: len(one.programs) + len(one.stores))
    if not best.programs:
        named = ", ".join(one.title for one in best.components) or "nothing"
        raise NoArchitecture(
            f"The diagram on line {best.line} has no program that can be started; it names: {named[:300]}.",
            " ".join(best.questions)[:600] or "Write what a part is into its label: Order API (FastAPI).",
        )
    rest = [f"The diagram on line {one.line} is not used." for one in read if one is not best]
    return Architecture(best.line, best.components, (*best.questions, *rest))


def _architecture(diagram: Mapping[str, Any]) -> Architecture:
    parts = [part for part in diagram["parts"] if part.get("shape") != "group"]
    groups = {part["name"]: part["label"] for part in diagram["parts"] if part.get("shape") == "group"}
    questions: list[str] = []
    if len(parts) > MOST_COMPONENTS:
        questions.append(f"The diagram has {len(parts)} parts; only the first {MOST_COMPONENTS} are taken.")
    slugs = _slugs([_title(part["label"]) for part in parts[:MOST_COMPONENTS]])
    named = dict(zip((part["name"] for part in parts), slugs, strict=False))
    found = [
        _component(part, slug, _groups_of(part, diagram, groups), questions)
        for part, slug in zip(parts, slugs, strict=False)
    ]
    pairs = [(link["from"], link["to"]) for link in diagram["links"]]
    needs = _needs(found, [(named[start], named[end]) for start, end in pairs if start in named and end in named])
    found = [replace(one, needs=tuple(needs[one.slug])) for one in found]
    for link in diagram["links"]:
        for end in (link["from"], link["to"]):
            if end in groups:
                questions.append(f"A link with the group {groups[end]} is not followed: link its components.")
    return Architecture(int(diagram["line"]), tuple(found), tuple(dict.fromkeys(questions)))


def _needs(components: Sequence[Component], links: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """What each component uses. An arrow from a store is the way of the data: its reader needs the store."""
    stores = {one.slug for one in components if one.kind in STORES}
    found: dict[str, list[str]] = {one.slug: [] for one in components}
    for start, end in links:
        user, used = (end, start) if start in stores else (start, end)
        if user != used and user not in stores and used not in found[user]:
            found[user].append(used)
    return found


def _groups_of(part: Mapping[str, Any], diagram: Mapping[str, Any], groups: Mapping[str, str]) -> str:
    """The labels of the groups around a part."""
    around = {one["name"]: one.get("group", "") for one in diagram["parts"]}
    found: list[str] = []
    group = part.get("group", "")
    while group in groups and groups[group] not in found:
        found.append(groups[group])
        group = around.get(group, "")
    return " ".join(found)


def _component(part: Mapping[str, Any], slug: str, groups: str, questions: list[str]) -> Component:
    text, shape = f"{part['label']} {part.get('detail', '')}", part.get("shape", "")
    title = _title(part["label"])

    def made(kind: str, technology: str = "", why: str = "") -> Component:
        return Component(title, slug, kind, technology, why)

    outside, elsewhere = tables()["outside"], _named(text, tables()["elsewhere"])
    kind, technology, word = _program(text)
    store, store_word = _store(text)
    stored = shape in ("database", "queue")
    named_person = not (kind or store or stored) and title.lower() in outside["person"]
    if shape == "person" or named_person:
        return made("person", why="drawn as a person" if shape == "person" else "its label")
    if shape == "external" or _has(groups, outside["external"][:5]):
        return made("external", why="drawn as external")
    if not kind and not stored and (vendor := _has(text, outside["external"])):
        return made("external", why=f"the word {vendor}")
    if stored or (store and (not kind or _ends_with(title, _store_words()))):
        return _stored(title, text, shape, elsewhere, questions, made)
    generic = store_word in _store_words()
    if store and not technology and not (generic and kind in ("cli", "worker") and _ends_with(title, [word])):
        questions.append(
            f"{title}: is it a store ({store_word}) or a program ({word})? Draw a store as a cylinder, or name the "
            "program's technology."
        )
        return made("open", why=f"the words {store_word} and {word}")
    if not kind and elsewhere:
        return _programmed(title, "open", "", "", elsewhere, questions, made)
    if not kind:
        questions.append(
            f"{title}: what is it? Neither its shape nor a word of it says so; write it into its label, such as "
            f"{title} API (FastAPI), {title} worker (Python) or {title} web app (React)."
        )
        return made("open", why="nothing says what it is")
    return _programmed(title, kind, technology, word, elsewhere, questions, made)


def _programmed(
    title: str, kind: str, technology: str, word: str, elsewhere: str, questions: list[str], made: _Made
) -> Component:
    if elsewhere and technology not in ("fastapi", "express", "react"):
        questions.append(f"{title}: {elsewhere} is not among what is started here ({_started()}); its folder is yours.")
        return made(kind, why=f"{elsewhere}, not started here")
    why = f"the word {word}"
    if not technology:
        technology = str(tables()["assumed"][kind])
        name = tables()["technologies"][technology]["title"]
        questions.append(f"{title}: no technology is named, so it is started with {name}. Is that right?")
        why += "; technology assumed"
    elif kind not in tables()["technologies"][technology]["starts"]:
        name = tables()["technologies"][technology]["title"]
        questions.append(f"{title}: a {kind} in {name} is not among what is started here; its folder is yours.")
        return made(kind, why=f"{why}, not started here")
    return made(kind, technology, why)


def _stored(title: str, text: str, shape: str, elsewhere: str, questions: list[str], made: _Made) -> Component:
    stores = tables()["stores"]
    technology = _named(text, {name: row["words"] for name, row in stores.items()})
    kind = stores[technology]["kind"] if technology else shape or _named(text, tables()["store_words"])
    if not technology and elsewhere:
        questions.append(f"{title}: {elsewhere} is not among what is started here; set the variable that names it.")
        return made(kind, why=f"{elsewhere}, not started here")
    if not technology:
        vendor = _has(text, tables()["outside"]["external"])
        if vendor:
            return made("external", why=f"the word {vendor}")
        technology = str(tables()["assumed"][kind])
        questions.append(
            f"{title}: no technology is named, so it is started with {stores[technology]['title']}. Is that right?"
        )
    why = f"drawn as a {shape}" if shape else f"the word {_store(text)[1]}"
    return made(kind, technology, why)


def _program(text: str) -> tuple[str, str, str]:
    """Kind, technology and the word that decided of a program; "" for what is not told."""
    technologies = tables()["technologies"]
    technology = _named(text, {name: row["words"] for name, row in technologies.items()})
    for row in tables()["kinds"]:
        if word := _has(text, row["words"]):
            return row["kind"], technology, word
    implied = technologies[technology].get("implies", "") if technology else ""
    return implied, technology if implied else "", technologies[technology]["title"] if implied else ""


def _store(text: str) -> tuple[str, str]:
    """Kind and deciding word of a store."""
    for row in tables()["stores"].values():
        if word := _has(text, row["words"]):
            return row["kind"], word
    for kind, words in tables()["store_words"].items():
        if word := _has(text, words):
            return kind, word
    return "", ""


def _named(text: str, rows: Mapping[str, Sequence[str]]) -> str:
    return next((name for name, words in rows.items() if _has(text, words)), "")


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(f"{_CHAR_BEFORE}({'|'.join(map(re.escape, longest_first))}){_CHAR_AFTER}", re.IGNORECASE)


def _has(text: str, words: Iterable[str]) -> str:
    found = _pattern(tuple(words)).search(text)
    return found[1].lower() if found else ""


def _store_words() -> list[str]:
    return [word for words in tables()["store_words"].values() for word in words]


def _ends_with(title: str, words: Iterable[str]) -> bool:
    """Whether the last word is one of these; names of stores behind it do not count: "Job queue RabbitMQ"."""
    technologies = {word for row in tables()["stores"].values() for word in row["words"]}
    said = [word for word in title.lower().split() if word not in technologies]
    return bool(said) and said[-1] in words


def _started() -> str:
    return ", ".join(row["title"] for row in tables()["technologies"].values())


def _title(label: str) -> str:
    """A label without what stands in brackets, in one line that is safe to print."""
    plain = "".join(char if char.isprintable() else " " for char in label)
    short = " ".join(
        re.sub(r"</?\w[^<>]{0,200}>|\([^()]*(?:\)|$)|\[[^\[\]]*(?:\]|$)|<<[^<>]*>>|«[^«»]*»", " ", plain).split()
    )
    return (short or " ".join(plain.split()) or "part")[:80]


def _slugs(titles: Sequence[str]) -> list[str]:
    """A name of letters, digits and dashes for each, no two alike."""
    counts: Counter[str] = Counter()
    found: list[str] = []
    for number, title in enumerate(titles, 1):
        plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
        slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or f"component-{number}"
        slug = slug if slug[0].isalpha() else f"c-{slug}"
        while counts[slug]:
            counts[slug] += 1
            slug = f"{slug}-{counts[slug]}"
        counts[slug] += 1
        found.append(slug)
    return found


def package_of(slug: str) -> str:
    """The name of a Python package that hides no module of Python and no library."""
    return Names.of(slug, tables()["technologies"]).package
