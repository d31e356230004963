"""A repository for stock git clients, read only: git's own `http-backend`, run as a CGI program without a shell.

Only the smart protocol's two requests reach it. It announces branches, tags and attestations; what else a repository
refers to is hidden.
"""

from __future__ import annotations

import re
import tempfile
import threading
from http.client import HTTPException, HTTPMessage, parse_headers
from pathlib import Path

from agents.workspace.export import NOTES, PIECE, end
from agents.workspace.git import GitError, start_git

SERVICE = "git-upload-pack"
MOST_AT_ONCE = 4  # clones that are served at the same time by one process
_PROTOCOL = re.compile(r"[a-z0-9=:]{1,100}")
# The last rule that fits decides: everything is hidden but what follows.
_HIDDEN = ("refs", "!refs/heads", "!refs/tags", f"!{NOTES}")
_RULES = (
    ("http.uploadpack", "true"),
    ("http.receivepack", "false"),
    ("http.getanyfile", "false"),
    *(("transfer.hideRefs", rule) for rule in _HIDDEN),
)
_seats = threading.BoundedSemaphore(MOST_AT_ONCE)


class TooBusy(GitError):
    """As many clones as are allowed are being served."""


class BackendReply:
    """One answer of http-backend: status and headers are there at once, the body is read piece by piece.

    Raises TooBusy, and GitError when git does not answer. `close` kills the process, from any thread.
    """

    def __init__(self, git_dir: Path, path: str, *, body: bytes | None = None, protocol: str = "") -> None:
        if not _seats.acquire(blocking=False):
            raise TooBusy("Too many clones are being served; try again in a few seconds.")
        self._open, self._closing = True, threading.Lock()
        try:
            with tempfile.TemporaryFile() as given:  # not a pipe: git may begin to answer before it has read everything
                given.write(body or b"")
                given.seek(0)
                cgi = _cgi(git_dir, path, body, protocol)
                self._process = start_git(git_dir, "http-backend", stdin=given, **cgi)
        except BaseException:
            _seats.release()
            raise
        try:
            self.status, self.headers = self._head()
        except BaseException:
            self.close()
            raise

    def _head(self) -> tuple[int, HTTPMessage]:
        try:
            headers = parse_headers(self._process.stdout)  # type: ignore[arg-type]  # it is a pipe
        except HTTPException:
            headers = HTTPMessage()
        if not headers:
            raise GitError("git did not answer")
        return int(headers.get("Status", "200").split()[0]), headers

    def read(self) -> bytes:
        """The next piece; b"" at the end."""
        try:
            return self._process.stdout.read1(PIECE)  # type: ignore[union-attr, no-any-return]  # it is a pipe
        except ValueError:  # closed meanwhile
            return b""

    def close(self) -> None:
        """End it; once more changes nothing."""
        with self._closing:
            if not self._open:
                return
            self._open = False
            end(self._process)
            _seats.release()

    def __del__(self) -> None:
        if hasattr(self, "_process"):  # an answer that nobody took, because the client left before it
            self.close()


def _cgi(git_dir: Path, path: str, body: bytes | None, protocol: str) -> dict[str, str]:
    folder = git_dir.resolve()
    # As environment variables, settings are also obeyed by the programs that git starts.
    found = {"GIT_CONFIG_COUNT": str(len(_RULES))}
    for number, (key, value) in enumerate(_RULES):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    found |= {
        "GIT_PROJECT_ROOT": str(folder.parent),
        "PATH_INFO": f"/{folder.name}/{path}",
        "GIT_HTTP_EXPORT_ALL": "1",
        "REQUEST_METHOD": "GET" if body is None else "POST",
        "QUERY_STRING": f"service={SERVICE}" if body is None else "",
    }
    if body is not None:
        found |= {"CONTENT_TYPE": f"application/x-{SERVICE}-request", "CONTENT_LENGTH": str(len(body))}
    if _PROTOCOL.fullmatch(protocol):
        found["GIT_PROTOCOL"] = protocol
    return found
