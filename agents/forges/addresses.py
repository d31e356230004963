"""Where a repository, issue or request is, from an address as people paste it; and what kind of forge is there."""

from __future__ import annotations

import re
from urllib.parse import urldefrag

from agents.forges.contract import About, ForgeAddress, ForgeRefused, Kind
from agents.forges.http import ForgeApi
from agents.workspace.addresses import SourceRefused, parse_address
from agents.workspace.fetching import RemoteAccess

KNOWN: dict[str, Kind] = {"github.com": "github", "codeberg.org": "forgejo", "gitlab.com": "gitlab"}
_KINDS: dict[str, About] = {"issues": "issue", "work_items": "issue", "pull": "request", "pulls": "request"}
_KINDS |= {"merge_requests": "request"}
# Documented, and answered without a credential or with a refusal in the forge's own words.
_VERSIONS: tuple[tuple[Kind, str, str], ...] = (
    ("forgejo", "/api/v1/version", "version"),
    ("gitlab", "/api/v4/version", "version"),
    ("github", "/api/v3/meta", "installed_version"),
)


def forge_address(text: str, access: RemoteAccess, kind: Kind | None = None) -> ForgeAddress:
    """A repository's address for git or in a browser, or that of an issue or request; `kind` is what a person says.

    A forge that is not known by its host is asked. Raises ForgeRefused.
    """
    try:
        found = parse_address(urldefrag(text.strip()).url.partition("?")[0])
    except SourceRefused as refused:
        raise ForgeRefused(str(refused)) from None
    host, port = found.host.strip("[]").lower(), found.port if found.scheme == "https" else 443
    path, number, about = _parts(found.path)
    kind = kind or KNOWN.get(host) or _asked(host, port, access)
    if kind != "gitlab":
        path = "/".join(path.split("/")[:2])
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)+", path) or any(part in (".", "..") for part in path.split("/")):
        raise ForgeRefused("The address names no repository: write it as https://host/owner/name.")
    return ForgeAddress(kind, host, path, port, number, about)


def _parts(path: str) -> tuple[str, int | None, About | None]:
    """The repository's path, and the number and kind of what it names there."""
    inside = re.match(r"(?P<repository>.+?)(?:/-)?/(?P<kind>[a-z_]+)/(?P<number>\d{1,9})(?:/.*)?", path.strip("/"))
    if inside and inside["kind"] in _KINDS:
        return inside["repository"], int(inside["number"]), _KINDS[inside["kind"]]
    return path.strip("/").partition("/-/")[0].removesuffix(".git"), None, None


def _asked(host: str, port: int, access: RemoteAccess) -> Kind:
    for kind, route, field in _VERSIONS:
        try:
            answer = ForgeApi(host, port, f"https://{host}:{port}", {}, access).get(route)
        except ForgeRefused as refused:
            if refused.status == 401 and kind == "gitlab":  # it tells its version to people it knows
                return kind
            if not refused.status:
                raise
            continue
        if isinstance(answer, dict) and answer.get(field):
            return kind
    raise ForgeRefused(f"{host} does not answer as a known forge: say whether it is github, forgejo or gitlab.")
