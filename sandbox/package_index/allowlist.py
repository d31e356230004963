"""The allow-lists: the product's own file, and files of the operator that add to it. Never a file of a repository."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from sandbox.base import SandboxError

ALLOWLIST = Path(__file__).resolve().parent.parent / "allowlist.toml"
PYTHON, NODE = "python", "node"
KEYS = frozenset({"names", "popular", "indexes", "cooldown_days", "young_days", "dependencies"})
LISTED, VOUCHED = "listed", "vouched"


@dataclass(frozen=True)
class AllowList:
    """What may be used of one ecosystem without asking, and under which conditions."""

    names: frozenset[str]
    popular: frozenset[str] = frozenset()  # known names that are not allowed by that: what tricks imitate
    indexes: tuple[tuple[str, str], ...] = ()  # pattern of names, the only index that may serve them
    cooldown_days: int = 0  # releases younger than this are not seen
    young_days: int = 0  # a dependency whose first release is younger needs a person's yes
    listed_only: bool = True  # dependencies must be on the list too; else the listed package vouches for them

    def index_for(self, name: str) -> str:
        """The one index that serves a reserved name; "" for all other names."""
        return next((index for pattern, index in self.indexes if fnmatch.fnmatchcase(name, pattern)), "")


def plain(name: str, ecosystem: str) -> str:
    """The one spelling under which a name is compared."""
    return canonicalize_name(name) if ecosystem == PYTHON else name


def load(ecosystem: str, *more: Path, path: Path = ALLOWLIST) -> AllowList:
    """The product's list with what the operator's files add; a file that is not there adds nothing.

    Later files add names and indexes; their numbers replace earlier ones. Raises SandboxError naming file and mistake.
    """
    found = _add(AllowList(frozenset()), path, ecosystem, needed=True)
    for file in more:
        if file.is_file():
            found = _add(found, file, ecosystem, needed=False)
    return found


def _add(known: AllowList, path: Path, ecosystem: str, *, needed: bool) -> AllowList:
    try:
        document = tomllib.loads(path.read_text())
        table = document[ecosystem] if needed else document.get(ecosystem, {})
        return _joined(known, table, ecosystem)
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise SandboxError(f"cannot read the allow-list {path} for {ecosystem}: {error}") from None


def _joined(known: AllowList, table: dict[str, Any], ecosystem: str) -> AllowList:
    odd = sorted(set(table) - KEYS)
    if odd:
        raise ValueError(f"unknown key {odd[0]!r}; known: {', '.join(sorted(KEYS))}")
    dependencies = table.get("dependencies", LISTED if known.listed_only else VOUCHED)
    if dependencies not in (LISTED, VOUCHED):
        raise ValueError(f"dependencies is {dependencies!r}; it may be {LISTED!r} or {VOUCHED!r}")
    indexes = tuple((str(pattern), _address(index)) for pattern, index in table.get("indexes", {}).items())
    return replace(
        known,
        names=known.names | _names(table.get("names", ()), ecosystem),
        popular=known.popular | _names(table.get("popular", ()), ecosystem),
        indexes=(*indexes, *known.indexes),
        cooldown_days=_days(table.get("cooldown_days", known.cooldown_days)),
        young_days=_days(table.get("young_days", known.young_days)),
        listed_only=dependencies == LISTED,
    )


def _names(names: Iterable[Any], ecosystem: str) -> frozenset[str]:
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise ValueError("names must be a list of package names")
    return frozenset(plain(name, ecosystem) for name in names)


def _days(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 3650:
        raise ValueError(f"{value!r} is not a number of days")
    return value


def _address(value: Any) -> str:
    if not isinstance(value, str) or not re.match(r"https?://[^\s]+$", value):
        raise ValueError(f"{value!r} is not the address of an index (https://…)")
    return value
