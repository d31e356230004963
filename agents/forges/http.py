"""One bounded way to ask a forge's API: https to the address that was checked, tokens in no text."""

from __future__ import annotations

import json
import os
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import httpx

from agents.forges.contract import ForgeRefused, NotThere
from agents.secrets.redaction import redact
from agents.workspace.addresses import GitAddress, SourceRefused, place_of
from agents.workspace.fetching import RemoteAccess

SECONDS = 20.0  # for each answer of the network
MOST_SECONDS = 60.0  # for all of one call
MOST_BYTES = 20_000_000
MOST_PAGES = 50
MOST_REDIRECTS = 3
P = ParamSpec("P")
T = TypeVar("T")
Query = Mapping[str, str | int]
_QUOTED = 300  # characters of a forge's own words in an error


@dataclass(frozen=True)
class ForgeAnswer:
    """What a forge answered: `following` is the address of the next page, "" at the last."""

    status: int
    content: bytes
    following: str = ""

    @property
    def data(self) -> Any:
        """Its JSON. Raises ForgeRefused."""
        try:
            return json.loads(self.content or b"null")
        except ValueError:
            words = "The forge answers with something other than JSON: check its address."
            raise ForgeRefused(words, status=self.status) from None


class ForgeApi:
    """The API of one forge, with one credential, which goes to its host alone; it comes from `setting`."""

    def __init__(
        self,
        host: str,
        port: int,
        base: str,
        headers: Mapping[str, str],
        access: RemoteAccess,
        setting: str = "AISWE_GIT_TOKENS",
    ) -> None:
        self._setting = setting
        self._host, self._port, self._access = host, port, access
        self._base, self._headers = base.rstrip("/"), headers
        self._secrets = [value.rpartition(" ")[2] for value in headers.values()]

    def at(self, path: str) -> str:
        """The address of a path."""
        return self._base + path

    def get(self, path: str, query: Query | None = None) -> Any:
        """The JSON of a path below the API's own."""
        return self._ask("GET", self._base + path, query=query).data

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON of an answer to a JSON body."""
        return self._ask(method, self._base + path, body=body).data

    def rows(self, path: str, query: Query | None = None, most: int = 5_000) -> Iterator[Any]:
        """The rows of a list, page by page."""
        answer = self._ask("GET", self._base + path, query=query)
        for _ in range(MOST_PAGES):
            if not isinstance(answer.data, list):
                raise ForgeRefused(f"{self._host} answers in a shape that its documents do not have.")
            for row in answer.data:
                yield row
                most -= 1
                if most <= 0:
                    return
            if not answer.following:
                return
            answer = self._ask("GET", answer.following)
        raise ForgeRefused(f"The forge's list is longer than {MOST_PAGES} pages.")

    def file(self, path: str, most_bytes: int = MOST_BYTES, *, accept: str = "", stored: bool = False) -> bytes:
        """The bytes below the API's own path, or at an address of the same host.

        With `stored` the forge may name another public host for them, which gets no credential.
        """
        address = path if path.startswith("https://") else self._base + path
        return self._ask("GET", address, most_bytes=most_bytes, accept=accept, stored=stored).content

    def tail(self, path: str, most_bytes: int) -> str:
        """The end of a text that may be long."""
        answer = self._ask("GET", self._base + path, most_bytes=most_bytes, stored=True, tail=True)
        return answer.content.decode("utf-8", "replace")

    def _ask(
        self,
        method: str,
        address: str,
        *,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        most_bytes: int = MOST_BYTES,
        accept: str = "",
        stored: bool = False,
        tail: bool = False,
    ) -> ForgeAnswer:
        end = time.monotonic() + MOST_SECONDS
        for _ in range(MOST_REDIRECTS + 1):
            parts = _parts(address)
            ours = (parts.scheme, parts.hostname, parts.port or 443) == ("https", self._host.strip("[]"), self._port)
            if not ours and not (stored and parts.scheme == "https"):
                raise ForgeRefused(f"{self._host} leads to another host, {str(parts.hostname)[:100]}: not followed.")
            headers = dict(self._headers) | ({"Accept": accept} if accept else {}) if ours else {}
            response, content = self._once(method, parts, query, body, headers, most_bytes, end, tail)
            where = response.headers.get("Location", "")
            if response.status_code not in (301, 302, 303, 307, 308) or not where:
                break
            if method != "GET":
                raise ForgeRefused(f"{self._host} says that the repository has moved: link the project to it anew.")
            address, query = urljoin(address, where), None
        else:
            raise ForgeRefused(f"{self._host} leads in a circle.")
        if response.status_code >= 300:
            raise self._refusal(response, content)
        following = response.links.get("next", {}).get("url", "")
        return ForgeAnswer(response.status_code, content, urljoin(address, following) if following else "")

    def _once(
        self,
        method: str,
        parts: SplitResult,
        query: Query | None,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        most_bytes: int,
        end: float,
        tail: bool,
    ) -> tuple[httpx.Response, bytes]:
        """One request to the IP address that its host was checked to be; the name is only said.

        Of what is longer than `most_bytes` the end is kept with `tail`; else it is refused.
        """
        host, port = parts.hostname or "", parts.port or 443
        try:
            place = place_of(GitAddress("https", "", host, port, "/"), self._access.private)
        except SourceRefused as refused:
            raise ForgeRefused(str(refused)) from None
        pinned = f"[{place}]" if ":" in place else place
        target = parts._replace(netloc=f"{pinned}:{port}").geturl()
        named = {"Host": parts.netloc, "User-Agent": "aiswe", "Accept": "application/json", **headers}
        try:
            with (
                httpx.Client(verify=_trust(), trust_env=False, timeout=SECONDS) as client,
                client.stream(
                    method,
                    target,
                    params=dict(query) if query else None,
                    json=body,
                    headers=named,
                    extensions={"sni_hostname": host},
                ) as response,
            ):
                content = bytearray()
                for piece in response.iter_bytes():
                    content += piece
                    if tail and len(content) > 2 * most_bytes:
                        del content[:-most_bytes]
                    elif not tail and len(content) > most_bytes:
                        raise ForgeRefused(f"{host} answers with more than {most_bytes:,} bytes.")
                    if time.monotonic() > end:
                        raise ForgeRefused(f"{host} did not end its answer within {MOST_SECONDS:.0f} s.")
                return response, bytes(content[-most_bytes:] if tail else content)
        except httpx.TimeoutException:
            raise ForgeRefused(f"{host} did not answer within {SECONDS:.0f} s.") from None
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as trouble:
            certificate = "certificate" in str(trouble).lower()
            why = "its certificate is not trusted (SSL_CERT_FILE names authorities)" if certificate else "no connection"
            raise ForgeRefused(f"{host} cannot be asked: {why}.") from None

    def _refusal(self, response: httpx.Response, content: bytes) -> ForgeRefused:
        """An error answer in a sentence with a way out."""
        status, wait = response.status_code, _wait(response.headers)
        said = self._said(content)
        if status == 429 or (status == 403 and (wait is not None or "rate limit" in said.lower())):
            minutes = f"in {wait / 60:.0f} min" if wait and wait > 90 else f"in {wait:.0f} s" if wait else "later"
            return ForgeRefused(
                f"{self._host} limits how often it is asked: try again {minutes}.", wait or 60.0, status
            )
        if status == 401:
            return ForgeRefused(f"{self._host} refuses the credential: check {self._setting}.", status=status)
        if status == 403:
            return ForgeRefused(f"The token for {self._host} may not do that{said}.", status=status)
        if status in (404, 410):
            return NotThere(
                f"{self._host} has no such thing, or the token in {self._setting} may not see it{said}.", status=status
            )
        if status >= 500:
            return ForgeRefused(f"{self._host} is in trouble (HTTP {status}): try again later.", wait or 60.0, status)
        return ForgeRefused(f"{self._host} refuses it (HTTP {status}){said}.", status=status)

    def _said(self, content: bytes) -> str:
        """A forge's own words, with a colon before them: one line, without any credential."""
        try:
            told = json.loads(content)
            words = [str(told.get(name) or "") for name in ("message", "error", "error_description")]
            words += map(str, told.get("errorMessages") or ())
            words += [
                str(one.get("message") or f"{one.get('field')} {one.get('code')}")
                for one in told.get("errors") or ()
                if isinstance(one, dict)
            ]
        except (ValueError, AttributeError, TypeError):
            return ""
        text = re.sub(r"[^\x20-\x7e\xa0-\U0010ffff]+", " ", " · ".join(filter(None, words)))
        for secret in self._secrets:
            text = text.replace(secret, "[token]") if len(secret) > 3 else text
        return f": {redact(text)[:_QUOTED].rstrip('. ')}" if text.strip() else ""


def credential(host: str, access: RemoteAccess) -> str:
    """The token for a host, whose user name is left out. Raises ForgeRefused."""
    token = access.tokens.get(host, "").rpartition(":")[2]
    if not re.fullmatch(r"[\x21-\x7e]{1,4096}", token):
        raise ForgeRefused(f"There is no token for {host}: set AISWE_GIT_TOKENS={host}=token in the environment.")
    return token


def reading(call: Callable[P, T]) -> Callable[P, T]:
    """Turn what goes wrong in an answer of another shape into ForgeRefused."""

    @wraps(call)
    def careful(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise ForgeRefused("The forge answers in a shape that its documents do not have.") from None

    return careful


def _parts(address: str) -> SplitResult:
    """The parts of an address; one that means another path than it says is refused. Raises ForgeRefused."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        raise ForgeRefused("That is not an address.") from None
    if any(unquote(one) in (".", "..") for one in parts.path.split("/")):
        raise ForgeRefused("An address with . or .. in its path is not asked.")
    return parts


@cache
def _contexts(_authorities: str) -> ssl.SSLContext:
    return ssl.create_default_context()


def _trust() -> ssl.SSLContext:
    return _contexts(os.environ.get("SSL_CERT_FILE", ""))


def _wait(headers: httpx.Headers) -> float | None:
    """How many seconds a forge wants to be left alone, by the headers that forges use; None when it says nothing."""
    now = time.time()
    if given := headers.get("Retry-After"):
        try:
            return max(1.0, float(given) if given.isdigit() else parsedate_to_datetime(given).timestamp() - now)
        except (ValueError, TypeError):
            return None
    for maker in ("x-ratelimit", "ratelimit"):
        if headers.get(f"{maker}-remaining") == "0" and headers.get(f"{maker}-reset", "").isdigit():
            return max(1.0, int(headers[f"{maker}-reset"]) - now)
    return None
