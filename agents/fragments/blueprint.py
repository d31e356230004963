"""The blueprint of an app: its state, its logic fragments and its UI fragments, each small enough for one prompt.

Values and calls are texts in Python's notation: a closed schema says them to every model server.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from agents.fragments.values import NoValue, as_text, fits, read_call, read_type, read_value

MOST_LOGIC, MOST_UI, MOST_STATE = 10, 6, 20  # so many are built within the hour that a task may take
_TAKEN = frozenset({*dir(builtins), "st", "logic", "state", "app", "main", "init_state", "pytest", "close"})
_MOST_PROBLEMS = 12


def _identifier(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", text):
        raise ValueError(f"{text[:60]!r} is not a name: write it in lower case with underscores, as in add_customer")
    if keyword.iskeyword(text):
        raise ValueError(f"{text!r} is a word of Python: choose another name")
    return text


def _function(text: str) -> str:
    if _identifier(text) in _TAKEN:
        raise ValueError(f"{text!r} is taken by Python or by the app: choose another name")
    return text


def _exception(text: str) -> str:
    kind = getattr(builtins, text, None)
    if text and not (isinstance(kind, type) and issubclass(kind, Exception)):
        raise ValueError(f"{text[:40]!r} is not an exception of Python: raise ValueError, KeyError or the like")
    return text


def _line(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        raise ValueError("it is empty: say it in one sentence")
    return words


def _type(text: str) -> str:
    return read_type(text)


def _referred(text: Any) -> Any:
    """The name of a function that may be written as it is called."""
    return text.strip().removeprefix("logic.").partition("(")[0] if isinstance(text, str) else text


def _is_text(type_name: object) -> bool:
    return isinstance(type_name, str) and type_name.strip() in ("str", "string")


def _written(value: Any) -> Any:
    """A value that came as JSON, in Python's notation."""
    return value if isinstance(value, str) else repr(value)


Identifier = Annotated[str, AfterValidator(_identifier)]
FunctionName = Annotated[str, AfterValidator(_function)]
FunctionReference = Annotated[str, AfterValidator(_referred)]
Line = Annotated[str, Field(max_length=400), AfterValidator(_line)]
TypeName = Annotated[str, Field(max_length=120), AfterValidator(_type)]
Literal = Annotated[str, Field(max_length=2_000), BeforeValidator(_written)]
PackageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class StateField(_Part):
    """One value that the app remembers from run to run; `default` is its value at the start."""

    name: Identifier
    type: TypeName
    default: Literal

    @model_validator(mode="before")
    @classmethod
    def _quoted(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and _is_text(value.get("type")) and isinstance(value.get("default"), str):
            return {**value, "default": as_text(value["default"])}
        return value

    @model_validator(mode="after")
    def _fits(self) -> StateField:
        if not fits(read_value(self.default), self.type):
            raise ValueError(f"the default {self.default[:60]} is not of type {self.type}")
        return self

    @property
    def value(self) -> Any:
        """The default as a value."""
        return read_value(self.default)


class Parameter(_Part):
    """One parameter of a logic fragment."""

    name: Identifier
    type: TypeName


class LogicExample(_Part):
    """A call with plain values, and what comes of it: a result, or the name of the exception that it `raises`."""

    call: str = Field(max_length=2_000)
    result: Literal = ""
    raises: Annotated[str, AfterValidator(_exception)] = ""


class LogicFragment(_Part):
    """A pure function, whole by itself: it calls no other fragment and knows no Streamlit."""

    name: FunctionName
    purpose: Line
    parameters: tuple[Parameter, ...] = Field(max_length=8)
    returns: TypeName
    examples: tuple[LogicExample, ...] = Field(min_length=1, max_length=8)

    @model_validator(mode="before")
    @classmethod
    def _quoted(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or not _is_text(value.get("returns")):
            return value
        examples = [
            {**one, "result": as_text(result)}
            if isinstance(one, Mapping) and isinstance(result := one.get("result"), str) and result
            else one
            for one in _items(value.get("examples"))
        ]
        return {**value, "examples": examples}

    @model_validator(mode="after")
    def _examples_fit(self) -> LogicFragment:
        names = [one.name for one in self.parameters]
        if len({*names}) < len(names):
            raise ValueError("two parameters have one name")
        for example in self.examples:
            arguments = self.arguments(example)
            for one in self.parameters:
                if not fits(arguments[one.name], one.type):
                    raise ValueError(f"in {example.call[:80]} the value of {one.name} is not of type {one.type}")
            if bool(example.raises) == bool(example.result.strip()):
                raise ValueError(f"{example.call[:80]} needs either a result or an exception that it raises")
            if not example.raises and not fits(read_value(example.result), self.returns):
                raise ValueError(
                    f"{example.call[:80]} gives {example.result[:60]}, which is not of type {self.returns}"
                )
        return self

    @property
    def signature(self) -> str:
        """The first line of the function."""
        return f"def {self.name}({', '.join(f'{one.name}: {one.type}' for one in self.parameters)}) -> {self.returns}:"

    def arguments(self, example: LogicExample) -> dict[str, Any]:
        """The values of an example's call, by parameter. Raises NoValue."""
        return read_call(example.call, self.name, [one.name for one in self.parameters])


class UIFragment(_Part):
    """One page of the app: which logic fragments it `uses`, which state fields it `reads` and `writes`."""

    name: Identifier
    title: Line
    purpose: Line
    uses: tuple[FunctionReference, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def function(self) -> str:
        """The name of the function that draws it."""
        return f"render_{self.name}"

    @property
    def fields(self) -> tuple[str, ...]:
        """The state fields it touches, each once."""
        return tuple(dict.fromkeys((*self.reads, *self.writes)))


class ProjectBlueprint(_Part):
    """A whole app. Names are unique within state, logic and UI; what a page uses exists."""

    name: Identifier
    title: Line
    summary: Line
    state: tuple[StateField, ...] = Field(default=(), max_length=MOST_STATE)
    logic: tuple[LogicFragment, ...] = Field(min_length=1, max_length=MOST_LOGIC)
    ui: tuple[UIFragment, ...] = Field(min_length=1, max_length=MOST_UI)
    packages: tuple[PackageName, ...] = Field(default=(), max_length=8)

    @model_validator(mode="after")
    def _whole(self) -> ProjectBlueprint:
        for what, names in (
            ("state fields", [one.name for one in self.state]),
            ("logic fragments", [one.name for one in self.logic]),
            ("UI fragments", [one.name for one in self.ui]),
            ("UI fragments", [one.title for one in self.ui]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"two {what} are called {twice[0]}: give each a name of its own")
        if wrong := missing_references(self.model_dump()):
            raise ValueError(wrong[0])
        functions = {one.name for one in self.logic}
        if clash := functions & {one.function for one in self.ui}:
            raise ValueError(f"{min(clash)} is the name of a page's function: call the logic fragment otherwise")
        return self

    def logic_of(self, page: UIFragment) -> list[LogicFragment]:
        """The logic fragments that a page uses."""
        return [one for one in self.logic if one.name in page.uses]

    def state_of(self, page: UIFragment) -> list[StateField]:
        """The state fields that a page touches."""
        return [one for one in self.state if one.name in page.fields]

    def to_json(self) -> dict[str, Any]:
        """The blueprint as plain data; `read_blueprint` gives it back."""
        return self.model_dump(mode="json")


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}
BLUEPRINT_SCHEMA = _closed(
    name=_TEXT,
    title=_TEXT,
    summary=_TEXT,
    state=_list(_closed(name=_TEXT, type=_TEXT, default=_TEXT)),
    logic=_list(
        _closed(
            name=_TEXT,
            purpose=_TEXT,
            parameters=_list(_closed(name=_TEXT, type=_TEXT)),
            returns=_TEXT,
            examples=_list(_closed(call=_TEXT, result=_TEXT, raises=_TEXT)),
        )
    ),
    ui=_list(
        _closed(name=_TEXT, title=_TEXT, purpose=_TEXT, uses=_list(_TEXT), reads=_list(_TEXT), writes=_list(_TEXT))
    ),
    packages=_list(_TEXT),
)


def missing_references(value: Mapping[Any, Any]) -> list[str]:
    """What pages name and no part of the blueprint has; for data that may be wrong otherwise, too."""
    functions, fields = _names(value.get("logic")), _names(value.get("state"))
    found = []
    for page in (one for one in _items(value.get("ui")) if isinstance(one, Mapping)):
        uses = [_referred(name) for name in _items(page.get("uses"))]
        used = [(name, functions, "uses {}, which is not a logic fragment") for name in uses]
        for part in ("reads", "writes"):
            used += [
                (name, fields, "reads or writes {}, which is not a state field") for name in _items(page.get(part))
            ]
        found += [
            f"UI fragment {str(page.get('name'))[:40]} {words.format(str(name)[:40])}"
            for name, known, words in used
            if name not in known
        ]
    return list(dict.fromkeys(found))


def _items(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _names(value: object) -> list[Any]:
    return [one.get("name") for one in _items(value) if isinstance(one, Mapping)]


def read_blueprint(value: object) -> tuple[ProjectBlueprint | None, list[str]]:
    """The blueprint in decoded JSON; none with what is wrong, in words that its author can act on."""
    if not isinstance(value, Mapping):
        return None, ["The blueprint is not a JSON object."]
    try:
        return ProjectBlueprint.model_validate(dict(value)), []
    except ValidationError as error:
        problems = [_words(one["loc"], one["msg"], value) for one in error.errors(include_url=False)]
    except NoValue as error:
        problems = [str(error)]
    said = "\n".join(problems)
    problems += [one for one in missing_references(value) if one not in said]
    return None, list(dict.fromkeys(problems))[:_MOST_PROBLEMS]


def _words(place: tuple[int | str, ...], message: str, value: object) -> str:
    """Where it is, with the name of the fragment instead of its number, and what is wrong."""
    parts: list[str] = []
    for step in place:
        value = _inside(value, step)
        if isinstance(step, int):
            name = value.get("name") if isinstance(value, Mapping) else None
            parts.append(str(name)[:40] if isinstance(name, str) and name else f"number {step + 1}")
        else:
            parts.append(step)
    said = message.removeprefix("Value error, ")
    return f"{' · '.join(parts)}: {said}" if parts else said


def _inside(value: object, step: int | str) -> object:
    if isinstance(value, Mapping):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None
