"""Licences as SPDX expressions: what the metadata of a package says, and whether a policy accepts it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from cyclonedx.spdx import fixup_id
from license_expression import AND, ExpressionError, LicenseWithExceptionSymbol, Licensing


@cache
def _names() -> dict[str, str]:
    """SPDX identifiers by what packages write in classifiers and in the old License field."""
    found: dict[str, str] = tomllib.loads(Path(__file__).with_name("licence_names.toml").read_text("utf-8"))["names"]
    return found


def stated_licence(expression: Any, classifiers: Iterable[Any], text: Any) -> str:
    """The licence that metadata states; "" when it states none. `text` is the old field, which may hold a full text."""
    if expression:
        return str(expression).strip()
    last = [str(one).rpartition(" :: ")[2] for one in classifiers if str(one).startswith("License :: ")]
    if known := [_names().get(one, one.replace(" ", "-")) for one in last if one != "OSI Approved"]:
        return " AND ".join(known)
    line = str(text or "").strip()
    return "" if len(line) > 100 or "\n" in line else _names().get(line, line)


def accepted(expression: str, is_accepted: Callable[[str], bool]) -> bool:
    """Whether a licence may be used: all of an AND, one of an OR. Raises ValueError for what is not an expression."""
    try:
        parsed = Licensing().parse(expression)
    except ExpressionError as error:
        raise ValueError(expression) from error
    if parsed is None:
        raise ValueError(expression)

    def holds(node: Any) -> bool:
        if isinstance(node, LicenseWithExceptionSymbol):
            return is_accepted(node.license_symbol.key)
        if not node.args:
            return is_accepted(node.key)
        return (all if isinstance(node, AND) else any)(holds(one) for one in node.args)

    return holds(parsed)


def is_refused(expression: str, refused: Collection[str]) -> bool:
    """Whether no choice is left that avoids the refused licences; "GPL" and "GPL-3.0" refuse "GPL-3.0-only" too.

    Raises ValueError for what is not an expression of SPDX: "GNU GPL v3" may be one of the refused.
    """
    stems = [one.strip().lower() for one in refused if one.strip()]

    def fits(licence: str) -> bool:
        name = licence.lower()
        if any(name == stem or name.startswith((f"{stem}-", f"{stem}+")) for stem in stems):
            return False
        if fixup_id(licence.removesuffix("+")) is None:
            raise ValueError(licence)
        return True

    return not accepted(expression, fits)
