"""Searching the web for a conversation: a few hits with their addresses, bounded in time, size and tokens.

The query leaves this machine, so it is judged before it goes; what comes back is untrusted text that a caller shows a
model in a fence labelled Source.WEB. No page is fetched, and no address from an answer is followed.
"""

from __future__ import annotations

import asyncio
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol
from urllib.parse import urlsplit

from agents.conversation.web_text import MAX_TITLE, as_snippet, is_address, one_line, shortened
from agents.firewall.trifecta import is_outside, secrets_in_text
from agents.llm.answers import clean, json_or_none
from agents.llm.tokens import count_tokens

SECONDS = 5.0  # for all of one search
MAX_HITS = 5
MAX_TOKENS = 600  # of a result as text
MAX_BYTES = 1_000_000  # of an answer
MAX_QUERY = 400  # characters; Tavily takes no more, and little can be carried out in it


class SearchFailed(Exception):
    """A search was not made or brought nothing usable; the text is one sentence for people, without the key."""


class Hit(NamedTuple):
    """One result, in plain text of one line each."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True)
class SearchResult:
    """What a search found; `tokens` is what `as_text` of it costs."""

    query: str
    hits: tuple[Hit, ...]

    @property
    def tokens(self) -> int:
        """An estimate, on the high side."""
        return count_tokens(as_text(self))


class WebSearch(Protocol):
    """A way to search; `about` says in a few words where searches go, `spent` counts the tokens of all results."""

    about: str
    spent: int

    def search(self, query: str) -> SearchResult:
        """Search once. Raises SearchFailed."""


def as_text(result: SearchResult) -> str:
    """The numbered hits with their addresses; for a model only in a fence of Source.WEB."""
    return "\n".join(_entry(number, hit) for number, hit in enumerate(result.hits, 1)) or "Nothing was found."


class NoSearch:
    """What stands for a search that is off; every search fails with the reason."""

    spent = 0

    def __init__(self, about: str) -> None:
        self.about = about

    def search(self, query: str) -> SearchResult:
        """Raise SearchFailed."""
        raise SearchFailed(self.about)


class SearchServer(ABC):
    """What the providers share. The key is sent in a header only, and no server's words are quoted in an error."""

    name: ClassVar[str]
    address: ClassVar[str] = ""
    plain: ClassVar[bool] = False  # its address may begin with http:// anywhere, and so may its hits
    quota: ClassVar[tuple[int, ...]] = (429,)

    def __init__(self, key: str = "", engine: str = "", url: str = "", *, seconds: float = SECONDS) -> None:
        """Raises SearchFailed for an address or key that cannot be used."""
        self.url, self.key, self.engine, self.seconds = (url or self.address).rstrip("/"), key, engine, seconds
        self.spent = 0
        scheme = self.url.partition("://")[0]
        if not is_address(self.url) or (scheme != "https" and not self.plain and is_outside(self.url)):
            raise SearchFailed("AISWE_SEARCH_URL must be an address that begins with https://, without a password.")
        if not re.fullmatch(r"[\x21-\x7e]{0,400}", key):
            raise SearchFailed("AISWE_SEARCH_KEY holds characters that no key has: copy it again.")
        self.host = clean(urlsplit(self.url).netloc, 120)
        self.about = f"{self.name} at {self.host}"

    def search(self, query: str) -> SearchResult:
        """See WebSearch."""
        asked = _judged(query)
        status, body = _in_time(self._fetch(asked), self.seconds, self.about)
        if status != 200:
            raise self._refused(self._status(status, body))
        hits = self._hits(json_or_none(body.decode("utf-8", "replace")))
        result = SearchResult(asked, _fitted(hits))
        self.spent += result.tokens
        return result

    @abstractmethod
    def _request(self, query: str) -> dict[str, Any]:
        """The keyword arguments of the HTTP library's request."""

    @abstractmethod
    def _rows(self, answer: dict[str, Any]) -> Any:
        """The results in an answer: dictionaries with title, address and snippet under `_fields`."""

    _fields: ClassVar[tuple[str, str, str]] = ("title", "url", "content")

    def _status(self, status: int, body: bytes) -> int:
        """The status that an error means, where the server's own says something else."""
        return 429 if status in self.quota else status

    def _refused(self, status: int) -> SearchFailed:
        if 300 <= status < 400:
            why = "sends the search to another address, which is not followed: set AISWE_SEARCH_URL to the right one"
        elif status in (401, 403):
            why = f"refuses the key (HTTP {status}): check AISWE_SEARCH_KEY"
        elif status == 429:
            why = "takes no more searches for now: its quota is used up, or they came too fast"
        else:
            why = f"is out of order (HTTP {status})" if status >= 500 else f"does not take this search (HTTP {status})"
        return SearchFailed(f"{self.about} {why}.")

    async def _fetch(self, query: str) -> tuple[int, bytes]:
        import httpx

        # Redirects and proxies of the environment are off, so that nothing else gets the query or the key. The body is
        # not unpacked: a small answer could become a large one.
        request = {"headers": {}, **self._request(query)}
        request["headers"]["Accept-Encoding"] = "identity"
        try:
            async with (
                httpx.AsyncClient(timeout=self.seconds, trust_env=False, follow_redirects=False) as client,
                client.stream(**request) as response,
            ):
                body = bytearray()
                async for piece in response.aiter_raw():
                    body += piece
                    if len(body) > MAX_BYTES:
                        raise SearchFailed(f"{self.about} sent more than {MAX_BYTES:,} bytes; its answer is not read.")
                return response.status_code, bytes(body)
        except httpx.TimeoutException:
            raise TimeoutError from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError):
            # `from None`: the library's errors carry the request, and with it the key.
            raise SearchFailed(f"{self.about} cannot be reached.") from None

    def _hits(self, answer: Any) -> Iterable[Hit]:
        rows = self._rows(answer) if isinstance(answer, dict) else None
        if not isinstance(rows, list):
            raise SearchFailed(f"{self.about} answers with something that is not its protocol.")
        seen: set[tuple[str, str, str]] = set()
        for row in rows:
            title, url, snippet = (row.get(field) for field in self._fields) if isinstance(row, dict) else ("", "", "")
            if not isinstance(url, str) or not is_address(url):
                continue
            parts = urlsplit(url)
            place = (parts.netloc.lower(), parts.path.rstrip("/"), parts.query)
            if place in seen or (parts.scheme.lower() != "https" and not self.url.startswith("http://")):
                continue
            seen.add(place)
            yield Hit(shortened(one_line(title), MAX_TITLE) or parts.netloc, url, as_snippet(snippet))


class TavilySearch(SearchServer):
    """Tavily; 432 and 433 say that a plan or a limit of spending is used up."""

    name, address, quota = "Tavily", "https://api.tavily.com", (429, 432, 433)

    def _request(self, query: str) -> dict[str, Any]:
        wanted = {"query": query, "max_results": MAX_HITS, "search_depth": "basic", "include_answer": False}
        headers = {"Authorization": f"Bearer {self.key}"}
        return {"method": "POST", "url": f"{self.url}/search", "json": wanted, "headers": headers}

    def _rows(self, answer: dict[str, Any]) -> Any:
        return answer.get("results")


class GoogleSearch(SearchServer):
    """Google's Custom Search JSON API, over a search engine that the key's owner has made."""

    name, address = "Google Custom Search", "https://www.googleapis.com"
    _fields = ("title", "link", "snippet")

    def _request(self, query: str) -> dict[str, Any]:
        # The key in its header, as all of Google's APIs take it: addresses end up in logs.
        wanted, headers = {"cx": self.engine, "q": query, "num": MAX_HITS}, {"X-Goog-Api-Key": self.key}
        return {"method": "GET", "url": f"{self.url}/customsearch/v1", "params": wanted, "headers": headers}

    def _rows(self, answer: dict[str, Any]) -> Any:
        # Without a hit there is no list at all.
        return answer.get("items", [] if "searchInformation" in answer or "queries" in answer else None)

    def _status(self, status: int, body: bytes) -> int:
        if status == 400 and (b"API_KEY_INVALID" in body or b"API key not valid" in body):
            return 401
        return 429 if status == 403 and re.search(rb"LimitExceeded|RESOURCE_EXHAUSTED", body) else status


class SearxngSearch(SearchServer):
    """A SearXNG server of one's own, which needs no key."""

    name, plain = "SearXNG", True

    def _request(self, query: str) -> dict[str, Any]:
        return {"method": "GET", "url": f"{self.url}/search", "params": {"q": query, "format": "json"}}

    def _rows(self, answer: dict[str, Any]) -> Any:
        return answer.get("results")

    def _refused(self, status: int) -> SearchFailed:
        if status == 403:
            return SearchFailed(
                f"{self.about} gives no JSON (HTTP 403): add json to search.formats in its settings.yml."
            )
        return super()._refused(status)


SERVERS: dict[str, type[SearchServer]] = {"tavily": TavilySearch, "google": GoogleSearch, "searxng": SearxngSearch}
OFF = "Web search is off: set AISWE_SEARCH to tavily, google or searxng (docs/how-to/web-search.md)."


def make_search(name: str, key: str = "", engine: str = "", url: str = "") -> WebSearch:
    """The search that the settings name; one that cannot work says in each answer what is missing."""
    needs = {"tavily": {"KEY": key}, "google": {"KEY": key, "ENGINE": engine}, "searxng": {"URL": url}}.get(name)
    if needs is None:
        return NoSearch(OFF)
    if missing := [f"AISWE_SEARCH_{word}" for word, value in needs.items() if not value]:
        return NoSearch(f"Web search is off: AISWE_SEARCH is {name}, and it needs {' and '.join(missing)} too.")
    try:
        return SERVERS[name](key, engine, url)
    except SearchFailed as wrong:
        return NoSearch(f"Web search is off: {wrong}")


def _judged(query: str) -> str:
    """The query as it may leave this machine. Raises SearchFailed."""
    asked = one_line(query, markup=False)
    if secrets_in_text([query, asked]):
        raise SearchFailed(
            "The search was not made: its words hold what looks like a secret, and they would leave this machine."
        )
    if not asked:
        raise SearchFailed("The search was not made: it has no words.")
    if len(asked) > MAX_QUERY:
        raise SearchFailed(f"The search was not made: it has {len(asked):,} characters, and {MAX_QUERY} are the most.")
    return asked


def _in_time(request: Coroutine[Any, Any, tuple[int, bytes]], seconds: float, about: str) -> tuple[int, bytes]:
    """Run a request on a loop of its own, in a thread of its own, because callers may be on a loop already.

    One limit counts for everything: a server that sends a byte now and then meets no limit of a single read.
    """
    future: Future[tuple[int, bytes]] = Future()

    def work() -> None:
        try:
            future.set_result(asyncio.run(asyncio.wait_for(request, seconds)))
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            future.set_exception(error)

    threading.Thread(target=work, name="web-search", daemon=True).start()
    try:
        return future.result(seconds + 1)  # looking up a name cannot be stopped: it is left behind
    except TimeoutError:
        raise SearchFailed(f"{about} did not answer within {seconds:g} seconds.") from None


def _entry(number: int, hit: Hit) -> str:
    return "\n   ".join(filter(None, (f"{number}. {hit.title}", hit.url, hit.snippet)))


def _fitted(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The first hits, shortened so that all of them fit; each may take what those before it left."""
    kept: list[Hit] = []
    left = MAX_TOKENS - MAX_HITS  # the ends of their lines
    for hit in hits:
        if len(kept) == MAX_HITS:
            break
        share = left // (MAX_HITS - len(kept))
        while hit.snippet and count_tokens(_entry(MAX_HITS, hit)) > share:
            hit = hit._replace(
                snippet=shortened(hit.snippet, len(hit.snippet) * 3 // 4) if len(hit.snippet) > 40 else ""
            )
        if (cost := count_tokens(_entry(MAX_HITS, hit))) <= left:
            kept.append(hit)
            left -= cost
    return tuple(kept)
