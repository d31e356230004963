"""JavaScript and TypeScript judged by their pieces: what could start programs, reach out or hide what it does."""

from __future__ import annotations

import re

from agents.firewall.base import ALLOW, FirewallContext, FirewallVerdict, worst
from agents.firewall.paths import is_secret, judge_write

_LAYER = "code"
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|[A-Za-z_$][\w$]*|\S", re.DOTALL
)
_STARTERS = frozenset({"child_process", "cluster", "worker_threads", "vm", "inspector", "repl", "v8", "wasi", "module"})
_NETWORKS = frozenset(
    "net tls dgram dns http https http2 undici ws axios node-fetch got request ssh2 nodemailer".split()
)
_SERVING = frozenset({"http", "https", "http2", "ws"})  # a server of one's own is ordinary
_WRITERS = frozenset(
    (
        "writeFile writeFileSync appendFile appendFileSync unlink unlinkSync rm rmSync rmdir rmdirSync rename "
        "renameSync symlink symlinkSync chmod chmodSync createWriteStream copyFile copyFileSync truncate "
        "truncateSync cp cpSync"
    ).split()
)
_HIDDEN = re.compile(r"^(atob|fromCharCode|unescape|decodeURIComponent)$")
_LOCAL = re.compile(
    r"^(https?|wss?)://(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|[\w.-]*example\.(com|org|net)|[\w.-]+\.(test|local|invalid|example))([:/]|$)"
)


def _verdict(decision: str, rule: str, reason: str) -> FirewallVerdict:
    return FirewallVerdict("deny" if decision == "deny" else "approve", _LAYER, reason, f"code.js-{rule}")


def judge_javascript(text: str, context: FirewallContext) -> FirewallVerdict:
    """Judge a script by its pieces; comments do not count, names put together out of strings do."""
    pieces = [piece for piece in _TOKEN.findall(text[:500_000]) if not piece.startswith(("//", "/*"))]
    return worst(_judge(_joined(pieces), context))


def _joined(pieces: list[str]) -> list[str]:
    """Tokens with 'a' + 'b' made one string and ['name'] made .name."""
    done: list[str] = []
    for piece in pieces:
        if len(done) >= 2 and done[-1] == "+" and _is_text(piece) and _is_text(done[-2]):
            before = done[-2]
            done[-2:] = [f"'{_inner(before)}{_inner(piece)}'"]
        else:
            done.append(piece)
    flat: list[str] = []
    index = 0
    while index < len(done):
        if (
            done[index] == "["
            and index + 2 < len(done)
            and _is_text(done[index + 1])
            and done[index + 2] == "]"
            and flat
            and re.match(r"[\w$)\]]", flat[-1][-1])
        ):
            flat += [".", _inner(done[index + 1])]
            index += 3
        else:
            flat.append(done[index])
            index += 1
    return flat


def _is_text(piece: str) -> bool:
    return len(piece) >= 2 and piece[0] in "\"'`" and piece[-1] == piece[0]


def _inner(piece: str) -> str:
    return re.sub(
        r"\\x([0-9a-fA-F]{2})|\\u\{?([0-9a-fA-F]{4,6})\}?",
        lambda m: chr(min(int(m[1] or m[2], 16), 0x10FFFF)),
        piece[1:-1],
    )


def _judge(pieces: list[str], context: FirewallContext) -> list[FirewallVerdict]:
    found: list[FirewallVerdict] = []
    sends = reads = hides = False
    for index, piece in enumerate(pieces):
        before = pieces[index - 1] if index else ""
        after = pieces[index + 1] if index + 1 < len(pieces) else ""
        following = pieces[index + 2] if index + 2 < len(pieces) else ""
        if _is_text(piece):
            value = _inner(piece)
            name = value.removeprefix("node:").partition("/")[0]
            loaded = before in ("from", "import") or (
                before == "("
                and index >= 2
                and pieces[index - 2] in ("require", "import", "binding", "getBuiltinModule")
            )
            if loaded and (name in _STARTERS or (name in _NETWORKS and name not in _SERVING)):
                found.append(
                    _verdict(
                        "approve",
                        "starter" if name in _STARTERS else "network",
                        f"{name} starts programs or opens connections.",
                    )
                )
            if loaded and name in _NETWORKS:
                sends = True
            if len(value) < 300 and is_secret(value):
                reads = True
                found.append(
                    _verdict(
                        "deny" if "docker.sock" in value or value.startswith("/proc/") else "approve",
                        "secret-path",
                        f"Names {value!r}, which holds secrets.",
                    )
                )
            if "169.254.169.254" in value or "metadata.google" in value:
                found.append(_verdict("deny", "metadata", "Reads the machine's metadata service."))
            if (
                re.match(r"(https?|wss?)://", value)
                and not _LOCAL.match(value)
                and before == "("
                and index >= 2
                and re.fullmatch(
                    r"fetch|get|post|put|request|open|WebSocket|sendBeacon|importScripts|axios", pieces[index - 2]
                )
            ):
                sends = True
                found.append(_verdict("approve", "network", f"Talks to {value.split('/')[2]}."))
            continue
        if piece in ("eval", "Function") and after == "(" and before != "." and before != "function":
            found.append(_verdict("approve", "dynamic", f"{piece} runs text as code."))
            hides = True
        elif piece in ("setTimeout", "setInterval") and after == "(" and _is_text(following):
            found.append(_verdict("approve", "dynamic", f"{piece} runs text as code."))
        elif piece in ("require", "import") and after == "(" and following and not _is_text(following):
            found.append(_verdict("approve", "dynamic-import", "The module to load is known only at run time."))
        elif piece == "process" and after == ".":
            if following in (
                "binding",
                "_linkedBinding",
                "dlopen",
                "kill",
                "abort",
                "setuid",
                "setgid",
                "mainModule",
                "getBuiltinModule",
            ):
                found.append(_verdict("approve", "process", f"process.{following} reaches beyond the program."))
            elif following == "env" and (pieces[index + 3] if index + 3 < len(pieces) else "") not in (".", "[", "?"):
                reads = True
                found.append(_verdict("approve", "environment", "Takes all environment variables as data."))
        elif piece == "process" and after == "[":
            found.append(_verdict("approve", "process", "Reaches into the process by a name known only at run time."))
        elif (piece == "constructor" and after == "." and following == "constructor") or (
            piece == "constructor" and after == "(" and before == "."
        ):
            found.append(_verdict("approve", "dynamic", "Reaches the Function constructor, which runs text as code."))
        elif piece in _WRITERS and after == "(" and _is_text(following):
            found.append(judge_write(_inner(following), None, context))
        elif _HIDDEN.match(piece) and hides:
            found.append(_verdict("deny", "decoded-code", "Runs text that was decoded."))
        elif piece in ("XMLHttpRequest", "WebSocket", "sendBeacon", "EventSource"):
            sends = True
    if sends and reads:
        found.append(_verdict("deny", "exfiltration", "The code reads secrets and sends data out."))
    return found or [ALLOW]
