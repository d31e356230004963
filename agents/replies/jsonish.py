"""JSON from a model: fenced, half, or with parts left out; never evaluated, always bounded."""

from __future__ import annotations

import json
import re
from typing import Any

from agents.replies.fences import split
from agents.replies.shape import Shaper

MAX_CHARS = 1_000_000
MAX_REPAIR_CHARS = 200_000  # repairing is slow and recursive; a bigger broken document is asked for again
MAX_DEPTH = 40
MAX_PROBLEMS = 20
_MARK = re.compile(r'["\\\[\]{}\n]')


def parse_json(text: str, schema: dict[str, Any] | None = None) -> tuple[Any, list[str]]:
    """Read the JSON in a reply; gives the object and what is wrong with it, in words the model can act on.

    The object is None when there is none. Missing values are filled with empty ones of the right type, and each is a
    problem; so are wrong types, which are kept as they came.
    """
    problems: list[str] = []
    found, value = _read(text, problems)
    if not found:
        return None, problems[:MAX_PROBLEMS]
    if schema is None:
        return value, problems[:MAX_PROBLEMS]
    try:
        value = Shaper(schema, problems).shape(value)
        _validate(value, schema, problems)
    except RecursionError:
        return None, [*problems, "The JSON is nested too deeply."][:MAX_PROBLEMS]
    return value, list(dict.fromkeys(problems))[:MAX_PROBLEMS]


def _read(text: str, problems: list[str]) -> tuple[bool, Any]:
    if len(text) > MAX_CHARS:
        problems.append(f"The JSON is longer than {MAX_CHARS} characters.")
        return False, None
    text = re.sub(r"^\s*<think>.*?</think>", "", text, count=1, flags=re.S).strip().lstrip("\ufeff")
    if depth_of(text) > MAX_DEPTH:
        problems.append(f"The JSON is nested more than {MAX_DEPTH} levels deep.")
        return False, None
    fenced = ["\n".join(block.lines) for block in split(text).blocks]
    start = re.search(r"[{\[]", text)
    candidates = [text, *fenced, *([text[start.start() :]] if start else [])]
    # A comma too many before a bracket loses nothing.
    for candidate in [*candidates, *map(_without_last_commas, candidates)]:
        try:
            value = json.loads(candidate, parse_constant=lambda name: None)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list) or candidate is text:
            return True, value
    rest = next((each for each in [*fenced, *candidates[-1:]] if "{" in each or "[" in each), "")
    if not rest.strip():
        problems.append("The reply holds no JSON.")
        return False, None
    return _repair(rest, problems)


def _without_last_commas(text: str) -> str:
    """The text without the commas, outside of strings, that a closing bracket follows."""
    if len(text) > MAX_REPAIR_CHARS:
        return text
    out, comma, quoted, escaped = list(text), -1, False, False
    for at, char in enumerate(text):
        if quoted:
            quoted, escaped = escaped or char != '"', char == "\\" and not escaped
            continue
        if char in "]}" and comma >= 0:
            out[comma] = ""
        if not char.isspace():
            comma, quoted = at if char == "," else -1, char == '"'
    return "".join(out)


def _repair(text: str, problems: list[str]) -> tuple[bool, Any]:
    """What can be saved of broken JSON; only an object or a list counts as found."""
    if len(text) > MAX_REPAIR_CHARS:
        problems.append("The JSON is broken and too long to be mended.")
        return False, None
    value = mended(text)
    if not isinstance(value, dict | list) or not value:
        problems.append("The reply holds no JSON that can be read.")
        return False, None
    problems.append("The JSON was broken and had to be mended: close every bracket and quote.")
    return True, value


def mended(text: str) -> Any:
    """What a forgiving reader makes of broken JSON; None when that is nothing, or the text is too long."""
    if len(text) > MAX_REPAIR_CHARS:
        return None
    import json_repair  # imported on use: few replies need it

    try:
        value = json_repair.loads(text, skip_json_loads=True)
        return json.loads(json.dumps(value), parse_constant=lambda name: None)
    except (ValueError, RecursionError, TypeError, IndexError, KeyError, AttributeError, OverflowError):
        return None


def _validate(value: Any, schema: dict[str, Any], problems: list[str]) -> None:
    import jsonschema  # imported on use: slow to import, and only some replies are JSON

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    for row, error in enumerate(kind(schema).iter_errors(value)):
        if row >= MAX_PROBLEMS:
            break
        problems.append(f"{_where(tuple(error.absolute_path))}: {error.message[:200]}")


def _where(path: tuple[Any, ...]) -> str:
    return (
        "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")[:120] or "the JSON"
    )


def depth_of(text: str) -> int:
    """How deep brackets go, strings aside; one pass and no recursion."""
    deepest = depth = 0
    inside, escaped = False, -1
    for match in _MARK.finditer(text):
        mark, at = match[0], match.start()
        if inside:
            if mark == "\\" and at != escaped:
                escaped = at + 1
            elif mark == "\n" or (mark == '"' and at != escaped):
                inside = False
        elif mark == '"':
            inside = True
        elif mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth = max(0, depth - 1)
    return deepest
