"""Every setting of an installation: its variable, type, default, limits and help, from configuration.toml.

The Django settings, `aiswe config show` and docs/reference/configuration.md read this one table. Variables of the lower
rooms (scanners, sandboxes, keys of model servers) are read there at each use; they are listed and checked here. Every
process reads the table when it starts, so it is plain data: a validation library takes three times as long to import.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agents.llm.registry import model_servers

TABLE = Path(__file__).with_suffix(".toml")
TRUTH = dict.fromkeys(("1", "on", "t", "true", "y", "yes"), True) | dict.fromkeys(
    ("0", "off", "f", "false", "n", "no"), False
)


class WrongSetting(ValueError):
    """A variable of the environment has a value that is not allowed; the text names both and what is allowed."""


@dataclass(frozen=True)
class Setting:
    """One setting. The type of its values is that of `initial`."""

    name: str  # in the table; "" for the variables of model servers, which the registry of providers has
    variables: tuple[str, ...]  # the first that is set counts
    initial: Any
    about: str
    low: float = 0
    high: float = 0
    above: bool = False  # `low` itself is not allowed
    choices: tuple[str, ...] = ()
    shown: str = ""
    secret: bool = False

    @property
    def default(self) -> str:
        """The default as people read it."""
        value = self.initial
        if self.shown or isinstance(value, bool):
            return self.shown or ("on" if value else "off")
        text = ",".join(value) if isinstance(value, list) else f"{value:g}" if isinstance(value, float) else str(value)
        return f"`{text}`" if text else "none"

    @property
    def allowed(self) -> str:
        """What the variable may hold, as a noun phrase."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.high:
            number = "a whole number" if isinstance(self.initial, int) else "a number"
            return f"{number} from {'above ' if self.above else ''}{self.low:,} to {self.high:,}"
        if not self.name and not self.secret:
            return "an address"
        return {bool: "true or false", list: "a list with commas"}.get(type(self.initial), "a text")

    def source(self, environment: Mapping[str, str] = os.environ) -> str:
        """The variable that is set, or "" for the default."""
        return next((name for name in self.variables if environment.get(name)), "")

    def value(self) -> Any:
        """The value in force. Raises WrongSetting."""
        if not (variable := self.source()):
            return self.initial
        text = os.environ[variable]
        try:
            value = self._parse(text)
        except (KeyError, ValueError):
            given = "set to something else" if self.secret else repr(text)
            raise WrongSetting(f"{variable} is {given}; it must be {self.allowed}.") from None
        return value

    def shown_value(self) -> dict[str, Any]:
        """The setting by its variable, with value and source; a secret is not shown. Raises WrongSetting."""
        value = "not shown" if self.secret and self.value() else self.value()
        return {"setting": self.variables[0], "value": value, "source": self.source() or "default"}

    def _parse(self, text: str) -> Any:
        """The text as a value of the setting's type. Raises KeyError or ValueError when it is not allowed."""
        if isinstance(self.initial, bool):
            return TRUTH[text.lower()]
        if isinstance(self.initial, list):
            return [part for raw in text.split(",") if (part := raw.strip())]
        value = type(self.initial)(text)
        if self.choices and value not in self.choices:
            raise ValueError(value)
        if self.high and not (value <= self.high and (value > self.low if self.above else value >= self.low)):
            raise ValueError(value)
        return value


def rows() -> Iterator[Setting]:
    """The table in its order, then address and key of each kind of model server."""
    for name, row in tomllib.loads(TABLE.read_text()).items():
        variables = tuple(row.pop("variables", [f"AISWE_{name}"]))
        yield Setting(name, variables, row.pop("default"), choices=tuple(row.pop("choices", ())), **row)
    for kind in model_servers():
        variables = tuple(filter(None, (kind.url_variable, kind.url_fallback)))
        yield Setting("", variables, kind.url, f"the server of `{kind.name}:` models")
        if kind.key_variable:
            yield Setting("", (kind.key_variable,), "", "the API key of that server", secret=True)


def load() -> SimpleNamespace:
    """The settings in force by name; an empty variable counts as not set. Raises WrongSetting."""
    return SimpleNamespace(**{row.name: row.value() for row in rows() if row.name})
