"""What an index publishes about a release: known vulnerabilities, as OSV records, and its licence.

PyPI's JSON pages and npm's bulk list of advisories need no account. An index that offers neither has no answer.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

from sandbox.package_index.index import IndexClient
from sandbox.package_index.licences import stated_licence

_COMPARED = re.compile(r"(>=|<=|>|<|=)?\s*v?(\d[\w.+-]*)")
BULK = "-/npm/v1/security/advisories/bulk"


@dataclass(frozen=True)
class Published:
    """What an index says about one release; `records` are advisories in the OSV format that affect it."""

    records: tuple[dict[str, Any], ...]
    licence: str = ""


def python_release(index: IndexClient, name: str, version: str) -> Published | None:
    """What an index says about a Python release; None when it offers no advisories or does not know the release.

    Raises IndexUnavailable.
    """
    public = version.partition("+")[0]  # a build of one's own ("2.0.0+cu118") has the weaknesses of its release
    path = f"pypi/{urllib.parse.quote(name, safe='')}/{urllib.parse.quote(public, safe='')}/json"
    above = "../" if index.address.endswith("/simple/") else ""
    page = index.document(above + path)
    listed = page.get("vulnerabilities") if isinstance(page, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, dict) and one.get("id") for one in listed):
        return None
    info = page.get("info") if isinstance(page.get("info"), dict) else {}
    stated = stated_licence(info.get("license_expression"), info.get("classifiers") or (), info.get("license"))
    return Published(tuple(_of_pypi(name, version, one) for one in listed), stated)


def _of_pypi(name: str, version: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """PyPI names only the versions that repair it: the range begins at the release and ends at the next of these."""
    cures = [str(fixed) for fixed in given.get("fixed_in") or () if _above(str(fixed), version)]
    events = [[{"introduced": version}, {"fixed": min(cures, key=Version)}]] if cures else []
    return {
        "id": str(given["id"]),
        "aliases": [str(alias) for alias in given.get("aliases") or ()],
        "summary": str(given.get("summary") or given.get("details") or ""),
        "withdrawn": given.get("withdrawn"),
        "affected": [
            {"package": {"ecosystem": "PyPI", "name": name}, "versions": [version], "ranges": _ranges(events)}
        ],
    }


def _above(version: str, other: str) -> bool:
    try:
        return Version(version) > Version(other)
    except InvalidVersion:
        return False


def _ranges(events: Iterable[Sequence[Mapping[str, str]]]) -> list[dict[str, Any]]:
    return [{"type": "ECOSYSTEM", "events": list(one)} for one in events]


def npm_advisories(index: IndexClient, wanted: Mapping[str, Sequence[str]]) -> dict[str, Published] | None:
    """What a registry says about these versions by name; None when it offers no advisories. Raises IndexUnavailable."""
    page = index.document(BULK, {name: sorted(set(versions)) for name, versions in wanted.items()})
    if not isinstance(page, dict) or page.keys() - wanted.keys():
        return None  # such as {"error": ...}
    found = {}
    for name, versions in wanted.items():
        listed = page.get(name, [])
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            return None
        found[name] = Published(tuple(_of_npm(name, versions, one) for one in listed))
    return found


def _of_npm(name: str, versions: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    number = str(given.get("url", "")).rstrip("/").rpartition("/")[2] or str(given.get("id", "npm advisory"))
    events = list(_events(str(given.get("vulnerable_versions", ""))))
    return {
        "id": number,
        "aliases": [str(one) for one in given.get("cves") or ()],
        "summary": str(given.get("title") or ""),
        "affected": [
            {
                "package": {"ecosystem": "npm", "name": name},
                "versions": [] if events else list(versions),  # a range that cannot be read excludes nothing
                "ranges": _ranges(events),
            }
        ],
        "database_specific": {"severity": str(given.get("severity", ""))},
    }


def _events(text: str) -> Iterator[list[dict[str, str]]]:
    """Ranges as npm writes them (">=1.0.0 <1.2.6 || <0.2.4") as events of OSV; nothing when one has another form."""
    parts = [part.strip() for part in text.split("||")]
    if not all(_COMPARED.sub("", part).strip() == "" and part for part in parts):
        return
    for part in parts:
        bounds = {sign[:1] or "=": (sign, version) for sign, version in _COMPARED.findall(part)}
        low = bounds.get(">") or bounds.get("=") or ("", "0")
        high, same = bounds.get("<"), bounds.get("=")
        end = {"last_affected" if high[0] == "<=" else "fixed": high[1]} if high else {}
        end = {"last_affected": same[1]} if same else end
        yield [{"introduced": low[1]}, *([end] if end else [])]


def npm_licence(index: IndexClient, name: str, version: str) -> str:
    """The licence that a registry states for a release; "" when it states none. Raises IndexUnavailable."""
    page = index.document(f"{urllib.parse.quote(name, safe='@')}/{urllib.parse.quote(version)}")
    given = page.get("license") if isinstance(page, dict) else None
    return stated_licence(given.get("type") if isinstance(given, dict) else given, (), "")
