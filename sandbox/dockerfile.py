"""A Dockerfile as its instructions: continued lines joined, comments left out, here-documents kept with theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)", re.IGNORECASE)
_HERE = re.compile(r"<<-?([\"']?)(\w+)\1")
_FROM = re.compile(r"(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE)
_HOLE = re.compile(r"\$\{(\w+)(?::?-([^}]*))?\}|\$(\w+)")


@dataclass(frozen=True)
class Instruction:
    """One instruction: its first line (from 1), its word in capitals, and the rest as one line."""

    line: int
    word: str
    rest: str
    here: bool = False  # with a here-document, which only BuildKit reads

    def __str__(self) -> str:
        """The instruction as one line."""
        return f"{self.word} {self.rest}".strip()


@dataclass(frozen=True)
class BuildStage:
    """What is between one FROM and the next: `base` with the defaults of the ARGs before it filled in."""

    line: int
    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def of(self, word: str) -> list[Instruction]:
        """The instructions with this word."""
        return [one for one in self.instructions if one.word == word]


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a Dockerfile, whether they exist or not."""
    directive = _ESCAPE.match(text)
    escape = directive[1] if directive else "\\"
    start, parts, here, ends = 0, list[str](), False, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if ends:
            if line.strip() == ends[0]:
                ends.pop(0)
            else:
                parts.append(line.strip())
        else:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            start = start or number
            continued = line.rstrip().endswith(escape)
            parts.append(line.rstrip().removesuffix(escape).strip())
            if continued:
                continue
            if re.match(r"(?i)(?:RUN|COPY|ADD)\s", parts[0]):
                ends = [found[1] for found in _HERE.findall(" ".join(parts))]
                here = bool(ends)
        if not ends:
            yield _instruction(start, parts, here)
            start, parts, here = 0, [], False
    if parts:
        yield _instruction(start, parts, here)


def _instruction(line: int, parts: list[str], here: bool) -> Instruction:
    word, _, rest = " ".join(filter(None, parts)).partition(" ")
    return Instruction(line, word.upper(), rest.strip(), here)


def stages(text: str) -> list[BuildStage]:
    """The stages of a Dockerfile, in their order."""
    found, defaults = list[BuildStage](), dict[str, str]()
    for one in instructions(text):
        if one.word == "FROM" and (named := _FROM.match(one.rest)):
            found.append(BuildStage(one.line, filled(named[1], defaults), (named[2] or "").lower()))
        elif found:
            found[-1].instructions.append(one)
        elif one.word == "ARG":
            name, _, value = one.rest.partition("=")
            defaults[name.strip()] = value.strip().strip("\"'")
    return found


def filled(text: str, values: Mapping[str, str]) -> str:
    """`$NAME`, `${NAME}` and `${NAME:-default}` filled in; what has no value stays."""
    return _HOLE.sub(lambda hole: values.get(hole[1] or hole[3]) or hole[2] or hole[0], text)


def bases(text: str) -> list[str]:
    """The images that it starts from or copies from, without its own stages and `scratch`."""
    found, names = dict[str, None](), set[str]()
    for number, stage in enumerate(stages(text)):
        if stage.base.lower() not in names and stage.base != "scratch":
            found[stage.base] = None
        names |= {stage.name, str(number)} - {""}
        for copied in map(copied_from, stage.of("COPY")):
            if copied and copied.lower() not in names:
                found[copied] = None
    return list(found)


def copied_from(instruction: Instruction) -> str:
    """What `COPY --from=` names; empty without it."""
    named = re.match(r"(?:--\S+\s+)*--from=(\S+)", instruction.rest)
    return named[1] if named else ""
