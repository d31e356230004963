"""The numbers that Word shows before paragraphs, counted from its numbering part."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

_ROMAN = tuple(zip((100, 90, 50, 40, 10, 9, 5, 4, 1), "c xc l xl x ix v iv i".split(), strict=True))


class Numbers:
    """Each list with its levels; a paragraph asks for the next number of its level, and deeper levels start again."""

    def __init__(self, part: Element | None) -> None:
        lists = list(part.iter("abstractNum")) if part is not None else []
        by_id = {one.get("abstractNumId", ""): one for one in lists}
        self._levels: dict[str, dict[int, tuple[str, str, int]]] = {}
        self._shared: dict[str, str] = {}
        self._counts: dict[str, dict[int, int]] = {}
        for number in part.iter("num") if part is not None else ():
            base = number.find("abstractNumId")
            abstract = by_id.get(base.get("val", "") if base is not None else "")
            name = number.get("numId", "")
            levels = [*(abstract.iter("lvl") if abstract is not None else ()), *number.iter("lvl")]
            self._levels[name] = {int(level.get("ilvl", "0")): _level(level) for level in levels}
            for override in number.iter("lvlOverride"):
                start, at = override.find("startOverride"), int(override.get("ilvl", "0"))
                if start is not None and at in self._levels[name]:
                    fmt, text, _ = self._levels[name][at]
                    self._levels[name][at] = (fmt, text, int(start.get("val", "1")))
            restarts = number.find("lvlOverride/startOverride") is not None
            self._shared[name] = name if restarts or abstract is None else f"list {abstract.get('abstractNumId')}"

    def next(self, name: str, depth: int) -> tuple[str, int]:
        """What is shown before the next paragraph of that level: its number, "-" for a bullet; and the depth."""
        levels = self._levels.get(name, {})
        if depth not in levels:
            return "", depth
        counts = self._counts.setdefault(self._shared[name], {})
        for deeper in [level for level in counts if level > depth]:
            del counts[deeper]
        fmt, text, start = levels[depth]
        counts[depth] = counts.get(depth, start - 1) + 1
        if fmt == "bullet":
            return "-", depth
        if fmt == "none":
            return "", depth

        def shown(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            other, _, first = levels.get(at, ("decimal", "", 1))
            return _written(counts.get(at, first), other)

        return re.sub(r"%([1-9])", shown, text).strip(), depth


def _level(level: Element) -> tuple[str, str, int]:
    def value(tag: str, default: str) -> str:
        found = level.find(tag)
        return default if found is None else found.get("val", default)

    return value("numFmt", "decimal"), value("lvlText", ""), int(value("start", "1"))


def _written(number: int, fmt: str) -> str:
    if fmt == "decimalZero":
        return f"{number:02}"
    if fmt.endswith("Letter") and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * min(1 + (number - 1) // 26, 20)
        return letter.upper() if fmt.startswith("upper") else letter
    if fmt.endswith("Roman") and 0 < number < 400:
        roman = ""
        for value, letters in _ROMAN:
            roman += letters * (number // value)
            number %= value
        return roman.upper() if fmt.startswith("upper") else roman
    return str(number)
