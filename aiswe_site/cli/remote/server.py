"""A server by its address and a token, which appears in no message and on no command line."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import uuid
from collections.abc import Generator, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from aiswe_site.terminal.problems import NO, WRONG_USE, CliError, Missing, WrongUse

SECONDS = 60.0
TOKEN = re.compile(r"aiswe_[0-9a-f]{10}_[A-Za-z0-9_-]{43}")
HOW = "--token-file FILE or AISWE_TOKEN names one; `aiswe config token NAME --for CLI` makes it on the server."
# The exit code of a refusal; of others it is 1.
CODES = {404: WRONG_USE, 413: WRONG_USE, 422: WRONG_USE}


def _is_here(host: str) -> bool:
    """Whether a host is this machine, by its name or address alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class RemoteServer:
    """The API of a server. Nothing is looked up or sent before the first call."""

    def __init__(self, address: str, token_file: Path | None) -> None:
        self._address, self._token_file = address, token_file
        self.host = ""

    @cached_property
    def _client(self) -> httpx.Client:
        """The connection. Raises WrongUse for an address or a token that cannot be."""
        try:
            place = urlsplit(self._address)
            self.host, _ = place.hostname or "", place.port
        except ValueError:
            raise WrongUse("The address of the server cannot be read.", "Like https://swe.example.org.") from None
        extra = place.username or place.password or place.query or place.fragment
        if place.scheme not in ("https", "http") or not self.host or extra:
            raise WrongUse("The server is not an address.", "Like https://swe.example.org, without a name or token.")
        if place.scheme == "http" and not _is_here(self.host):
            raise WrongUse(f"A token is not sent to {self.host} without encryption.", "Use https://.")
        return httpx.Client(
            base_url=f"{self._address.rstrip('/')}/api/v1",
            headers={"Authorization": f"Bearer {_token(self._token_file)}", "User-Agent": "aiswe"},
            timeout=SECONDS,
            trust_env=place.scheme == "https",  # no proxy is told what stays on this machine
        )

    def get(self, path: str, **query: str | int) -> Any:
        """What a GET answers. Raises CliError."""
        return self._answer("GET", path, params={name: value for name, value in query.items() if value != ""})

    def post(self, path: str, **body: Any) -> Any:
        """What a POST answers; tried twice where the connection breaks, and done once. Raises CliError."""
        return self._answer("POST", path, json=body, headers={"Idempotency-Key": str(uuid.uuid4())})

    def all(self, path: str, name: str, most: int = 10_000, **query: str | int) -> list[dict[str, Any]]:
        """The rows of all pages of a list, at most so many. Raises CliError."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None and len(found) < most:
            page = self.get(path, cursor=cursor, limit=min(200, most - len(found)), **query)
            found, cursor = [*found, *page[name]], page["next"]
        return found

    def lines(self, path: str, **query: str | int) -> Iterator[str]:
        """The lines of an answer while it is made. Raises CliError."""
        try:
            with self._client.stream("GET", path, params=query) as response:
                if response.is_error:
                    response.read()
                    raise self._refusal(response)
                yield from _lines(response.iter_text())
        except httpx.HTTPError as broken:
            raise self._unreachable(broken) from None

    def events(self, run: int, after: int) -> Generator[dict[str, Any], None, None]:
        """The events of a run after a number, until it is over; the stream is taken up again where it ended."""
        while True:
            name, why = "", ""
            for line in self.lines(f"runs/{run}/events/stream", after=after):
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data" and name == "end":
                    why = json.loads(value)["why"]
                elif field == "data":
                    event = json.loads(value)
                    after = event["seq"]
                    yield event
                elif not line:
                    name = ""
            if why in ("over", "closed"):
                return

    def _answer(self, method: str, path: str, **how: Any) -> Any:
        for last in (False, True):
            try:
                response = self._client.request(method, path, **how)
                break
            except httpx.HTTPError as broken:
                if last or isinstance(broken, httpx.ConnectError):
                    raise self._unreachable(broken) from None
        if not response.is_success:
            raise self._refusal(response)
        try:
            return response.json()
        except ValueError:
            raise Missing(f"{self.host} does not answer like AI SWE.", "See the address.") from None

    def _unreachable(self, broken: httpx.HTTPError) -> CliError:
        why = "does not answer in time" if isinstance(broken, httpx.TimeoutException) else "cannot be reached"
        return Missing(f"{self.host} {why} ({type(broken).__name__}).", "See the address, and whether `aiswe up` runs.")

    def _refusal(self, response: httpx.Response) -> CliError:
        try:
            detail = str(response.json()["detail"])[:2_000]
        except (ValueError, KeyError, TypeError):
            return Missing(f"{self.host} answers {response.status_code} and not like AI SWE.", "See the address.")
        hint = HOW if response.status_code == 401 else ""
        return CliError(detail, hint, CODES.get(response.status_code, NO))


def _token(file: Path | None) -> str:
    try:
        text = file.read_text(encoding="ascii") if file else os.environ.get("AISWE_TOKEN", "")
    except (OSError, UnicodeDecodeError):
        raise WrongUse(f"{file} cannot be read as a token.", HOW) from None
    if not text.strip():
        raise WrongUse("A server needs a token.", HOW)
    if TOKEN.fullmatch(text.strip()) is None:
        raise WrongUse(f"{file or 'AISWE_TOKEN'} does not hold a token of AI SWE.", HOW)
    return text.strip()


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    """Lines that end with a newline alone: JSON holds what other programs end lines with, too."""
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def part(text: object) -> str:
    """A part of a path."""
    return quote(str(text), safe="")
