"""What belongs to the code that a task names: what that calls, and what calls it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence, Set

from agents.context.retrieval import Chunk

SHARED = 3  # a name that more pieces of code have does not tell which is meant
MOST = 12
AROUND_CHARS = 6_000  # of what is called and what calls
MEMBER_CHARS = 1_500  # of a member of a base class
# Methods of every container and file: who calls one need not mean this one.
_EVERYWHERE = frozenset(
    "add append clear close copy count extend get index insert items join keys open pop popitem read remove set split"
    " update values write".split()
)
HIDES = frozenset("len int str list print range".split())  # functions that do what Python's own of this name does
_BEGINS = ("__init__", "constructor")  # the methods in which a class says what it holds
_IS_CLASS = re.compile(r"\s*(?:export\s+|default\s+|abstract\s+|@.*\n\s*)*class\b")
_METHOD = re.compile(r"^\s+(?:async\s+)?(?:def\s+(\w+)|(\w+)\s*\([^)]*\)\s*\{)", re.MULTILINE)
_BASES = re.compile(r"\bclass\s+\w+(?:\s*\(([^)]*)\)|\s+extends\s+([\w.]+))")
_PATH = re.compile(r"[\w.-]*/[\w./-]*|\b[\w-]+\.(?:pyi?|[cm]?[jt]sx?|md|rst|txt|toml|json|ya?ml)\b")
_WORD = re.compile(r"[A-Za-z_]\w+")
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\(")
_CALL = re.compile(r"(?:(\w*)(\.))?\b([A-Za-z_]\w+)\(")  # what stands before the dot, and the name
_QUOTED = re.compile(r"`([^`\n]*)`")


def named(about: str, chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks that `about` names: by their full name first, then what is in a class of which it names no method."""
    words, by_name = code_words(about), _by_name(chunks)
    whole = [chunk for chunk in chunks if words & {chunk.name, _class(chunk)}]
    # Where classes are named, what others call the same is not meant.
    classes = {_class(chunk) for chunk in whole} | _bases(whole) | {""} if any(map(_class, whole)) else set()
    telling = [
        chunk
        for chunk in chunks
        if _last(chunk) in words and len(by_name[_last(chunk)]) <= SHARED and (not classes or _class(chunk) in classes)
    ]
    telling += [] if classes else _by_methods(words, [chunk for chunk in chunks if chunk not in whole])
    # Till.count is meant, not all of Till.
    exact = {_class(chunk) for chunk in telling if chunk.name != _class(chunk)}
    whole = [chunk for chunk in whole if _class(chunk) not in exact or chunk.name in words]
    return list(dict.fromkeys([*telling, *sorted(whole, key=lambda chunk: _last(chunk) not in words)]))


def _by_methods(words: Set[str], chunks: Sequence[Chunk]) -> list[Chunk]:
    """Short classes, which are one chunk: what they define is named with them."""
    methods = {chunk: _methods(chunk) & words for chunk in chunks}
    shared = Counter(name for names in methods.values() for name in names)
    return [chunk for chunk, names in methods.items() if any(shared[name] <= SHARED for name in names)]


def around(first: Sequence[Chunk], chunks: Sequence[Chunk]) -> list[Chunk]:
    """What belongs to `first`: how their classes begin, what they call, in that order, and what calls them.

    At most MOST, and AROUND_CHARS, of these; then what they inherit.
    """
    telling = _telling(chunks)
    begins = {f"{_class(chunk)}.{name}" for chunk in first for name in _BEGINS if _class(chunk)}
    called = [chunk for chunk in chunks if chunk.name in begins] + called_by(first, chunks)
    callers = _callers({_last(chunk) for chunk in first} & telling.keys(), chunks)
    related, left = list[Chunk](), AROUND_CHARS
    for one in dict.fromkeys([*called, *callers]):
        if one not in first and len(related) < MOST and len(one.text) <= left:
            related.append(one)
            left -= len(one.text)
    bases = _bases(first)
    inherited = [one for one in chunks if _class(one) in bases and len(one.text) <= MEMBER_CHARS]
    return [*related, *(one for one in inherited if one not in first and one not in related)]


def _callers(names: Set[str], chunks: Sequence[Chunk]) -> list[Chunk]:
    # Most pieces of a large repository hold none of the names, which is seen sooner than what they call.
    near = [one for one in chunks if any(name in one.text for name in names)]
    return [one for one in near if not names.isdisjoint(name for *_, name in _calls(one))]


def called_by(first: Sequence[Chunk], chunks: Sequence[Chunk]) -> list[Chunk]:
    """What `first` call, in their order; one more than once where several do."""
    telling = _telling(chunks)
    return [one for chunk in first for call in _calls(chunk) for one in telling.get(call[2], ()) if _fits(one, call)]


def _telling(chunks: Sequence[Chunk]) -> dict[str, list[Chunk]]:
    """The chunks by names that tell which is meant."""
    return {
        name: found
        for name, found in _by_name(chunks).items()
        if len(found) <= SHARED and name not in HIDES and (name not in _EVERYWHERE or not all(map(_class, found)))
    }


def _fits(one: Chunk, call: tuple[str, str, str]) -> bool:
    """Whether a call can mean this definition: `text.strip()` means a method, or a function of a module `text`."""
    owner, dot, _ = call
    module = one.path.rpartition("/")[2].partition(".")[0]
    return bool(_class(one)) or not dot or owner == module


def code_words(about: str) -> set[str]:
    """The words that `about` writes as names, not as English: called, quoted, or spelt as names are."""
    about = _PATH.sub(" ", about)  # `shop/__init__.py` names no `__init__`
    spelt = {word for word in set(_WORD.findall(about)) if not word.islower() or "_" in word}
    quoted = {word for span in _QUOTED.findall(about) for word in _WORD.findall(span)}
    return spelt | quoted | set(_CALLED.findall(about))


def _methods(chunk: Chunk) -> set[str]:
    return {a or b for a, b in _METHOD.findall(chunk.text)} if _IS_CLASS.match(chunk.text) else set()


def _bases(chunks: Sequence[Chunk]) -> set[str]:
    """The classes that those among the chunks inherit from."""
    return {name for chunk in chunks for found in _BASES.findall(chunk.text) for name in _WORD.findall(" ".join(found))}


def _class(chunk: Chunk) -> str:
    """The class itself, or the one that a method is in; "" for a function."""
    name, _, method = chunk.name.partition(".")
    return name if method or _IS_CLASS.match(chunk.text) else ""


def _calls(chunk: Chunk) -> list[tuple[str, str, str]]:
    """Calls in their order: what stands before the dot, the dot, and the name."""
    return [call for call in _CALL.findall(chunk.text) if call[2] != _last(chunk)]


def _by_name(chunks: Sequence[Chunk]) -> dict[str, list[Chunk]]:
    found: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        found[_last(chunk)].append(chunk)
    return found


def _last(chunk: Chunk) -> str:
    return chunk.name.rpartition(".")[2]
