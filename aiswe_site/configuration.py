"""Every setting of an installation: its variable, type, default, limits and help.

The Django settings, `aiswe config show` and docs/reference/configuration.md read this one table. Variables of the
lower rooms (scanners, sandboxes, keys of model servers) are read there at each use; they are listed and checked here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from agents.llm.registry import model_servers

PREFIX = "AISWE_"


class WrongSetting(ValueError):
    """A variable of the environment has a value that is not allowed; the text names both and what is allowed."""


@dataclass(frozen=True)
class Secret:
    """Marks a field whose value is never shown."""


@dataclass(frozen=True)
class FieldVariables:
    """The variables of a field, where they are not its name with the prefix; the first that is set counts."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class ShownDefault:
    """The default as people read it, where the value itself says too little."""

    text: str


def _split(value: object) -> object:
    return [part for raw in value.split(",") if (part := raw.strip())] if isinstance(value, str) else value


Words = Annotated[list[str], BeforeValidator(_split)]
Key = Annotated[str, Secret()]
Seconds = Annotated[float, Field(ge=0.05, le=86_400)]  # a day: what is done less often than daily is forgotten


class Configuration(BaseModel):
    """The settings in force, read from the environment; an empty variable counts as not set."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    HOME: Annotated[str, ShownDefault("`.aiswe` beside the code")] = ""
    """where everything is written"""
    SECRET_KEY: Annotated[Key, ShownDefault("made at first start, kept in `secret_key`")] = ""
    """signs sessions, seals the saved state of runs"""
    SECRET_KEY_FALLBACKS: Annotated[Words, Secret()] = []
    """older keys that still open what they signed or sealed"""
    HOSTS: Words = ["127.0.0.1", "localhost", "[::1]"]
    """host names that are served; keep `127.0.0.1` for health checks"""
    ORIGINS: Words = []
    """origins allowed to post (`https://swe.example.org`) behind a proxy"""
    HTTPS: bool = False
    """set behind a TLS proxy: secure cookies, HSTS, and its `X-Forwarded-For` is trusted"""
    REQUIRE_2FA: bool = False
    """everybody needs a [second factor](accounts.md)"""
    SESSION_IDLE_HOURS: Annotated[float, Field(gt=0, le=720)] = 12.0
    """hours without use after which a session ends"""
    SESSION_DAYS: Annotated[float, Field(gt=0, le=365)] = 7.0
    """days after which a session ends in any case"""
    API_PER_MINUTE: Annotated[int, Field(ge=1, le=100_000)] = 120
    """requests of one [API](accounts.md#api) token a minute"""
    ADMIN_PASSWORD: Key = ""
    """the password that `aiswe config admin` sets, instead of asking for it"""

    MODEL: str = "qwen2.5-coder:7b"
    """the model; `scripted:<scenario>` plays a [recording](../how-to/scenarios.md) everywhere, and pages say so"""
    MODEL_WINDOW: Annotated[int, Field(ge=512, le=10_000_000)] = 32_768  # SWE-NFR-03
    """its context window in tokens, sent with every call"""
    MODEL_PARALLEL: Annotated[
        int, Field(ge=1, le=256), FieldVariables(("AISWE_MODEL_PARALLEL", "OLLAMA_NUM_PARALLEL"))
    ] = 1
    """conversations that a model server takes at a time; [samples](../explanation/search.md) of a task share them"""
    MODELS_FILE: Annotated[str, ShownDefault("`models.toml` in `AISWE_HOME`")] = ""
    """[which models do what](models.md), by persona, in order of preference"""
    MODEL_PLANNER: str = ""
    """models of the planner: `ollama:a, openai:b`"""
    MODEL_TESTER: str = ""
    """models of the tester"""
    MODEL_CODER: str = ""
    """models of the coder"""
    MODEL_REVIEWER: str = ""
    """models of the reviewer"""
    GUARD_MODEL: str = ""
    """a second model that may only tighten the firewall; with no usable answer from it, a person is asked"""
    DEMO_TOKENS_PER_S: Annotated[float, Field(ge=0, le=1_000_000)] = 60.0
    """speed of recorded replies; 0 plays them without delay"""

    SANDBOX: Literal["auto", "docker", "bubblewrap"] = "auto"
    """the sandbox; `auto` is Docker, else bubblewrap"""
    SANDBOX_READY: Annotated[int, Field(ge=0, le=64)] = 1
    """sandboxes of each kind opened before a task needs one"""
    SANDBOX_PYTHON: Annotated[str, ShownDefault("`.venv-sandbox`")] = ""
    """the Python environment of sandboxed code (bubblewrap)"""
    SANDBOX_NODE: Annotated[str, ShownDefault("Node of the host")] = ""
    """the Node installation of sandboxed code (bubblewrap)"""
    SANDBOX_IMAGE: Annotated[str, ShownDefault("built on first use")] = ""
    """the image of Docker sandboxes"""
    SANDBOX_IMAGE_NODE: Annotated[str, ShownDefault("built on first use")] = ""
    """the image of Docker sandboxes for Node"""
    DOCKER_RUNTIME: Annotated[str, ShownDefault("the engine's own")] = ""
    """another runtime, such as `runsc`"""
    DEBIAN_MIRROR: Annotated[str, ShownDefault("that of debootstrap")] = ""
    """where the packages of a sandbox image come from"""

    PYPI_INDEX: Annotated[str, ShownDefault("`PIP_INDEX_URL`, else the public one")] = ""
    """where Python [packages](../explanation/packages.md) come from"""
    NPM_REGISTRY: Annotated[str, ShownDefault("the public one")] = ""
    """where Node packages come from"""
    PACKAGES_FILE: str = ""
    """an allow-list of packages of your own beside the built-in one"""
    ADVISORIES: Annotated[str, ShownDefault('none: "not checked"')] = ""
    """folder or file of OSV records for pinned dependencies"""
    PRETTIER: Annotated[str, ShownDefault('on PATH, else "not checked"')] = ""
    """Prettier, for the style of scripts"""
    SEMGREP: Annotated[str, ShownDefault("`.venv-semgrep/bin/semgrep`, else on PATH")] = ""
    """the Semgrep program"""

    MEMORY: bool = True
    """[lessons](../explanation/memory.md) are recalled and learned"""
    EMBED_MODEL: str = ""
    """a model of the Ollama server that turns lessons, code and documentation into vectors; none: found by words"""
    LESSON_THRESHOLD: Annotated[float, Field(ge=0, le=1)] = 0.65  # ACA-3 asks for 0.6 to 0.7
    """least similarity of a failure to a lesson's"""
    SHARE_LESSONS: bool = False
    """a project is shown what was learned in the others"""

    WORKERS: Annotated[int, Field(ge=1, le=64)] = 4
    """jobs at a time in one process"""
    LEASE_SECONDS: Seconds = 30.0
    """how long the task of a vanished worker waits at most"""
    SWEEP_SECONDS: Seconds = 20.0
    """how often the database is searched for work that no worker does"""
    DISK_RESERVE_MB: Annotated[int, Field(ge=0, le=1_000_000)] = 200
    """below it tasks wait for disk space; the audit trail is still written"""
    AUDIT_HEADS: Annotated[str, ShownDefault("`audit/heads.jsonl` in `AISWE_HOME`")] = ""
    """where the ends of the [audit trails](../explanation/audit.md) are noted; better on another disk"""
    AUDIT_SECONDS: Seconds = 60.0
    """how often they are noted"""
    LOG_LEVEL: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "WARNING"
    """log lines on stderr and in `logs/aiswe.log`"""
    DEBUG: bool = False
    """Django's debug pages; for developers only"""
    PYTHON: Annotated[str, ShownDefault("the newest found")] = ""
    """Python for `make install`"""
    DATABASE_URL: Annotated[Key, ShownDefault("SQLite in `AISWE_HOME`"), FieldVariables(("DATABASE_URL",))] = ""
    """`postgres://user:password@host:port/name` to scale out"""
    REDIS_URL: Annotated[
        Key, ShownDefault("none: queue and notifications in memory"), FieldVariables(("REDIS_URL",))
    ] = ""
    """`redis://…` to scale out"""


@dataclass(frozen=True)
class SettingRow:
    """One setting as people read it."""

    name: str  # of the field; "" for the variables of model servers, which the registry of providers has
    variables: tuple[str, ...]  # the first that is set counts
    default: str
    allowed: str
    about: str
    secret: bool

    def value(self, values: Configuration) -> object:
        """The value in force; "" for a variable that is neither set nor has a default."""
        if self.name:
            return getattr(values, self.name)
        return os.environ.get(self.source()) or ("" if self.secret else self.default.strip("`"))

    def source(self, environment: Mapping[str, str] = os.environ) -> str:
        """The variable that is set, or "" for the default."""
        return next((name for name in self.variables if environment.get(name)), "")


def rows() -> Iterator[SettingRow]:
    """The table: the fields in their order, then address and key of each kind of model server."""
    for name, field in Configuration.model_fields.items():
        variables = next((mark.names for mark in field.metadata if isinstance(mark, FieldVariables)), (PREFIX + name,))
        shown = next((mark.text for mark in field.metadata if isinstance(mark, ShownDefault)), None)
        secret = any(isinstance(mark, Secret) for mark in field.metadata)
        yield SettingRow(
            name, variables, shown or _default(field.default), _allowed(field), field.description or "", secret
        )
    for kind in model_servers():
        variables = tuple(filter(None, (kind.url_variable, kind.url_fallback)))
        yield SettingRow("", variables, f"`{kind.url}`", "an address", f"the server of `{kind.name}:` models", False)
        if kind.key_variable:
            yield SettingRow("", (kind.key_variable,), "none", "a text", "the API key of that server", True)


def _default(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        value = ",".join(value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`" if value != "" else "none"


def _allowed(field: FieldInfo) -> str:
    """What the variable may hold, as a noun phrase."""
    kind = field.annotation
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) is list:
        return "a list with commas"
    if kind is bool:
        return "true or false"
    if kind not in (int, float):
        return "a text"
    bounds = {
        name: value
        for mark in field.metadata
        for name in ("ge", "gt", "le")
        if (value := getattr(mark, name, None)) is not None
    }
    low = f"{bounds['ge']:,}" if "ge" in bounds else f"above {bounds['gt']:,}"
    return f"{'a whole number' if kind is int else 'a number'} from {low} to {bounds['le']:,}"


def load() -> Configuration:
    """The settings of this environment. Raises WrongSetting for the first value that is not allowed."""
    table = {row.name: row for row in rows() if row.name}
    given = {name: os.environ[variable] for name, row in table.items() if (variable := row.source())}
    try:
        return Configuration.model_validate(given)
    except ValidationError as wrong:
        row = table[str(wrong.errors()[0]["loc"][0])]
        value = "set to something else" if row.secret else repr(os.environ[row.source()])
        raise WrongSetting(f"{row.source()} is {value}; it must be {row.allowed}.") from None
