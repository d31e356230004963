"""The parts of a reply that are prose with a form: diagnosis, decisions, packages, verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agents.languages.registry import language_of
from agents.replies.types import Decision, Diagnosis, Verdict, VerdictWord

_MAX_LINE = 4000
_MAX_FIELD = 4000
_LABEL = re.compile(r"(?:\d{1,3}[.)] )?[*_`]{0,3}([A-Za-z][A-Za-z ]{1,24}?)[*_`]{0,3} ?:[*_`]{0,3}")
_BARE = re.compile(
    r"[ \t]{0,8}(?:#{1,6} {1,4}|\*\*|__)[*_]{0,2}([A-Za-z][A-Za-z ]{1,24}?)[*_]{0,2}:?[*_]{0,2}[ #]{0,8}"
)
_HEADING = re.compile(r"^\s*#{1,6}\s+\S")
_PARTS = ("cause", "evidence", "hypothesis", "plan")
_FIELDS = {"root cause": "cause", "fix": "plan", **{name: name for name in _PARTS}}
_ITEM = re.compile(r"\s+\S|[-*+>|]|\d{1,3}[.)]\s")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_REQUIREMENT = re.compile(r"[A-Z][A-Z0-9]*(?:[-.][A-Z0-9]+)*[-.]?\d+[a-z]?")
_VERDICTS: dict[str, VerdictWord] = {
    **{"test": "test", "code": "code", "approve": "approve", "reject": "reject"},
    **{"tests": "test", "approved": "approve", "rejected": "reject", "neither": "neither"},
}
_STANDS = re.compile(r"^\W*(?:the )?tests?\W+(?:stands?|stays?|(?:is|are) (?:right|correct|fine))\b", re.I)


def label(line: str) -> tuple[str, str]:
    """A line's label in lower case and the rest of it: `**Cause:** x` gives ("cause", "x"); ("", "") for others."""
    line = line[:_MAX_LINE]
    opening = line.lstrip(" \t>*_#`+-")
    if match := _LABEL.match(opening):
        return match[1].strip().lower(), opening[match.end() :].strip()
    bare = _BARE.fullmatch(line.rstrip()) if len(line) < 100 else None
    return (bare[1].strip().lower(), "") if bare is not None else ("", "")


def find_diagnosis(prose: Sequence[str]) -> tuple[Diagnosis | None, list[str]]:
    """The diagnosis in a reply's prose, and the parts it lacks as problems."""
    found: dict[str, list[str]] = {}
    current, inside, ended = "", False, False
    for line in prose:
        name, rest = label(line)
        if name == "diagnosis":
            inside, current = True, ""
            if rest:
                found.setdefault("cause", []).append(rest)
                current = "cause"
        elif name in _FIELDS and (rest or inside):
            current = _FIELDS[name]
            if current in found and not inside:
                current = ""
            elif rest:
                found.setdefault(current, []).append(rest)
        elif _HEADING.match(line) or name in ("decision", "verdict", "packages", "package", "reason"):
            current, inside = "", False
        elif current and line.strip():
            if ended and not _ITEM.match(line):
                current = ""  # after the last of all parts, words below an empty line announce the files
                continue
            found.setdefault(current, []).append(line.strip())
        elif not line.strip():
            ended = len(found) == len(_PARTS)
            current = current if inside else ""
            continue
        ended = False
    return _diagnosis(found)


def _diagnosis(found: Mapping[str, list[str]]) -> tuple[Diagnosis | None, list[str]]:
    parts = {key: " ".join(values)[:_MAX_FIELD] for key, values in found.items()}
    if not parts.get("cause") and not parts.get("hypothesis"):
        return None, []
    missing = [key for key in _PARTS if not parts.get(key)]
    problems = [f"The diagnosis has no line `{key.capitalize()}:`." for key in missing]
    return Diagnosis(**parts), problems


def find_decisions(prose: Sequence[str]) -> tuple[list[Decision], list[str]]:
    """All `Decision: chose X over Y because Z -> FR-01` lines, and those that lack a choice or a reason as problems."""
    decisions: list[Decision] = []
    problems: list[str] = []
    for line in prose:
        name, rest = label(line)
        if name != "decision" or not rest:
            continue
        body, target = rest, ""
        for arrow in ("->", "→", "=>"):
            if arrow in body:
                body, _, target = body.rpartition(arrow)
                break
        body = re.sub(r"^(?:i |we )?(?:chose|choose|chosen|picked|use|used)\s+", "", body.strip(), count=1, flags=re.I)
        left, reason = _cut(body, " because ")
        choice, rejected = _cut(left, " over ")
        if not choice or not reason:
            problems.append("A decision must read `Decision: chose X over Y because Z -> FR-01`.")
            continue
        words = (word.strip("*_`.()[]") for word in re.split(r"[,;\s]+", target)[:50])
        ids = tuple(dict.fromkeys(word for word in words if len(word) <= 40 and _REQUIREMENT.fullmatch(word)))
        decisions.append(Decision(choice.strip("*_` "), rejected.strip("*_` "), reason.strip("*_ "), ids))
    return decisions, problems


def find_packages(prose: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names in `Packages: a, b` lines, without versions, and what is no package name as problems."""
    names: dict[str, None] = {}
    problems: list[str] = []
    for line in prose:
        key, rest = label(line)
        if key not in ("packages", "package", "new packages", "required packages") or not rest:
            continue
        for word in re.split(r"[,\s]+", rest.strip(".` "))[:50]:
            word = word.strip("`*_'\"().")
            name = re.split(r"[\[<>=!~;]", word, maxsplit=1)[0]
            if not name or word.lower() in ("none", "no", "nothing", "and", "n/a", "-"):
                continue
            if _NAME.fullmatch(name):
                names[name] = None
            else:
                problems.append(f"{word[:60]!r} is not the name of a package.")
    return list(names), problems


def find_removals(prose: Sequence[str]) -> list[tuple[str, str]]:
    """Paths and names of definitions in lines like `Remove: cart.py: total, Cart.add`."""
    found: list[tuple[str, str]] = []
    for line in prose:
        name, rest = label(line)
        path = ""
        for word in re.findall(r"[\w./-]*\w", rest) if name == "remove" else ():
            if language_of(word):
                path = word
            elif path:
                found.append((path, word))
    return found


def find_verdict(prose: Sequence[str]) -> tuple[Verdict | None, list[str]]:
    """The verdict with its reason; two that differ are a problem and count as none."""
    found: list[Verdict] = []
    problems: list[str] = []
    for row, line in enumerate(prose):
        name, rest = label(line)
        if name != "verdict":
            continue
        rest = rest or next((each.strip() for each in prose[row + 1 : row + 3] if each.strip()), "")
        rest = _STANDS.sub("neither", rest)
        match = re.match(r"[\s*_`\"']*([A-Za-z]+)[*_`\"']*[\s.,:;—–-]*(.*)$", rest)
        choice = _VERDICTS.get(match[1].lower()) if match else None
        if match is None or choice is None:
            problems.append("A verdict must be one of `test`, `code`, `neither`, `approve`, `reject`.")
            continue
        found.append(Verdict(choice, (match[2].strip("*_ ") or _reason_after(prose, row))[:_MAX_FIELD]))
    if len({verdict.choice for verdict in found}) > 1:
        return None, [*problems, "The reply gives two different verdicts; give one."]
    return (next((verdict for verdict in found if verdict.reason), found[0]) if found else None), problems


def _reason_after(prose: Sequence[str], row: int) -> str:
    """The reason below a verdict: a `Reason:` line, or the paragraph that follows."""
    words: list[str] = []
    for line in prose[row + 1 : row + 30]:
        name, rest = label(line)
        if name in ("reason", "reasons", "because"):
            words = [rest] if rest else []
        elif _HEADING.match(line) or name in ("verdict", "decision", "diagnosis", "packages"):
            break
        elif line.strip():
            words.append(line.strip())
        elif words:
            break
    return " ".join(word for word in words if word)


def _cut(text: str, word: str) -> tuple[str, str]:
    """Split at the first `word`, whatever its case."""
    match = re.search(re.escape(word), text, re.I)
    return (text[: match.start()].strip(), text[match.end() :].strip()) if match else (text.strip(), "")
