"""Which agents of other makers an administrator has named: a file says how each is started and what it may reach.

[opencode]
command = ["/opt/opencode/bin/opencode", "acp"]   # speaks the Agent Client Protocol on its input and output
folders = ["/opt/opencode"]         # what it needs of this machine besides /usr, read-only
env = ["ANTHROPIC_API_KEY"]         # keys of the worker's environment that it may see
hosts = ["api.anthropic.com"]       # where it may connect; none: nowhere
note = "Code and prompts go to Anthropic."
seconds = 1800                      # of one turn
memory_mb = 2048

[opencode.variables]                # plain values that it finds in its environment
OPENCODE_DISABLE_AUTOUPDATE = "1"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.firewall.trifecta import is_outside

OURS = "coder"  # the name that means our own
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,19}")  # as long as a task's `agent` may be
# What ends so is known to redaction as a secret; nothing else of the worker's environment is anybody's.
_KEY = re.compile(r"(?!AISWE_|DJANGO_)[A-Z][A-Z0-9_]{2,60}_(?:API_KEY|TOKEN|SECRET)")
_VARIABLE = re.compile(r"(?!LD_|AISWE_)[A-Za-z_][A-Za-z0-9_]{0,80}")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,200}[A-Za-z0-9])?(?::[1-9][0-9]{0,4})?")
_RANGES = {"seconds": (10, 86_400), "memory_mb": (256, 65_536)}
_KNOWN = ("command", "folders", "env", "hosts", "note", "variables", *_RANGES)
MOST_WORDS = 40


class AgentsFileError(ValueError):
    """The table of agents is not as it should be; the text names the place and what is allowed."""


@dataclass(frozen=True)
class OutsideAgent:
    """One agent: its command, what of this machine and of the network it is given, and what people are told of it."""

    name: str
    command: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    env: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    note: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    seconds: int = 1_800
    memory_mb: int = 2_048

    @property
    def outside_hosts(self) -> tuple[str, ...]:
        """The hosts that are not this machine."""
        return tuple(host for host in self.hosts if is_outside(host))


def load_agents(path: Path, private: tuple[Path, ...] = ()) -> dict[str, OutsideAgent]:
    """The agents of a file by name; none when there is no file. `private` folders may not be shown to any of them.

    Raises AgentsFileError.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise AgentsFileError(f"{path} cannot be read: {type(error).__name__}.") from None
    except tomllib.TOMLDecodeError as error:
        raise AgentsFileError(f"{path} is not valid TOML: {error}.") from None
    return {name: _agent(name, entry, f"{path}: {name}", private) for name, entry in data.items()}


def _agent(name: str, entry: Any, where: str, private: tuple[Path, ...]) -> OutsideAgent:
    if not _NAME.fullmatch(name) or name == OURS:
        raise AgentsFileError(f"{where}: a name is at most 20 small letters, digits and dashes, and not `{OURS}`.")
    if not isinstance(entry, dict):
        raise AgentsFileError(f"{where} must be a table.")
    if odd := [key for key in entry if key not in _KNOWN]:
        raise AgentsFileError(f"{where}: {odd[0][:60]!r} is not known here; known: {', '.join(_KNOWN)}.")
    command = _texts(entry, "command", where)
    if not command or not command[0].startswith("/"):
        raise AgentsFileError(f"{where}: command must be a list of words that begins with a program's whole path.")
    for key, pattern, words in (
        ("env", _KEY, "names that end with _API_KEY, _TOKEN or _SECRET and are not the product's own"),
        ("hosts", _HOST, "names of hosts, each with a port where it is not 443"),
    ):
        if wrong := [value for value in _texts(entry, key, where) if not pattern.fullmatch(value)]:
            shown = f" ({wrong[0][:80]!r})" if key == "hosts" else ""  # a value of `env` may be the key itself
            raise AgentsFileError(f"{where}: {key} must be {words}{shown}.")
    note = entry.get("note", "")
    if not isinstance(note, str) or len(note) > 500:
        raise AgentsFileError(f"{where}: note must be a text of at most 500 characters.")
    variables, numbers = _variables(entry, where), _numbers(entry, where)
    return OutsideAgent(
        name,
        command,
        tuple(_folder(text, where, private) for text in _texts(entry, "folders", where)),
        _texts(entry, "env", where),
        _texts(entry, "hosts", where),
        note,
        variables,
        **numbers,
    )


def _variables(entry: Mapping[str, Any], where: str) -> tuple[tuple[str, str], ...]:
    variables = entry.get("variables", {})
    if not isinstance(variables, dict) or not all(
        isinstance(value, str) and "\0" not in value and _VARIABLE.fullmatch(each) for each, value in variables.items()
    ):
        raise AgentsFileError(f"{where}: variables must be a table of texts, named like variables.")
    return tuple(variables.items())


def _numbers(entry: Mapping[str, Any], where: str) -> dict[str, int]:
    numbers = {}
    for key, (low, high) in _RANGES.items():
        if key in entry:
            if not isinstance(entry[key], int) or isinstance(entry[key], bool) or not low <= entry[key] <= high:
                raise AgentsFileError(f"{where}: {key} must be a number from {low} to {high:,}.")
            numbers[key] = entry[key]
    return numbers


def _folder(text: str, where: str, private: tuple[Path, ...]) -> Path:
    """A folder that may be shown: neither most of the machine nor anything with what is private in it."""
    path = Path(text)
    if not path.is_absolute() or ".." in path.parts or len(path.parts) < 3:
        raise AgentsFileError(f"{where}: folders must be whole paths with at least two parts, like /opt/opencode.")
    real = path.resolve()
    for hidden in (Path.home(), Path.home() / ".ssh", *private):
        if hidden.resolve().is_relative_to(real):
            raise AgentsFileError(f"{where}: {text} would show {hidden} to the agent.")
    if real.parts[1] in ("proc", "sys", "dev", "run", "workspace"):
        raise AgentsFileError(f"{where}: {text} is not a folder that programs are installed in.")
    return path


def _texts(entry: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    found = entry.get(key, [])
    if not isinstance(found, list) or len(found) > MOST_WORDS or not all(_is_word(each) for each in found):
        raise AgentsFileError(f"{where}: {key} must be a list of at most {MOST_WORDS} texts.")
    return tuple(found)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value
