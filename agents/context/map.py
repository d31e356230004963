"""The map of a repository: signatures of what matters, in about a thousand tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agents.context.ranking import ranked
from agents.languages.symbols import Definition, Symbols
from agents.llm.tokens import count_tokens

MAP_TOKENS = 1_000
PER_FILE = 12  # definitions of one file, so that a long file leaves room for others
FEW = 4  # definitions of a file that are shown in any case: leaving some out saves nothing


def repository_map(
    symbols: Mapping[str, Symbols],
    own: Iterable[str] = (),
    words: Iterable[str] = (),
    *,
    tokens: int = MAP_TOKENS,
    without: Iterable[str] = (),
    alone: bool = False,
) -> str:
    """Signatures by file, the best-ranked files that fit into `tokens`, then in order of path.

    Files in `without` are shown elsewhere. These files `alone` matter: of a long one only what the words name, if
    there is any. Equal commits and tasks give equal bytes.
    """
    left, known = tokens, set(words)
    chosen: dict[str, str] = {}
    hidden = set(without)
    order = [path for path, _ in ranked(symbols, own, known) if path not in hidden and symbols[path].definitions]
    for amounts in ((FEW, 1), (PER_FILE * (1 + alone),)):  # some of many files before more of the best
        for path in order:
            for amount in amounts:
                block = _block(path, symbols[path], known, amount, alone=alone)
                cost = count_tokens(block) + 1 - (count_tokens(chosen[path]) + 1 if path in chosen else 0)
                if cost <= left:
                    chosen[path] = block
                    left -= cost
                    break
            if left < 20:
                break
    return "\n".join(chosen[path] for path in sorted(chosen))


def _block(path: str, symbols: Symbols, words: set[str], amount: int, *, alone: bool = False) -> str:
    telling = [each for each in symbols.definitions if each.kind != "value" or not each.name.startswith("__")]
    chosen = symbols.definitions if alone and len(telling) > FEW else []
    meant = [one for one in chosen if one.name.lower() in words or one.name == "__all__"]
    wanted = sorted(meant or telling, key=lambda each: _interest(each, words))[:amount]
    lines = [f"{path}:"]
    for definition in sorted(wanted, key=lambda each: (each.line, each.name)):
        shown = _shows(definition.inside, wanted)
        head = f"{definition.inside}: " if definition.inside and not shown else ""
        lines.append(f"{'    ' if shown else '  '}{head}{definition.signature}")
    if len(telling) > len(wanted):
        lines.append(f"  … {len(telling) - len(wanted)} more")
    return "\n".join(lines)


def _shows(name: str, among: Iterable[Definition]) -> bool:
    return any(each.kind == "class" and each.name == name for each in among)


def _interest(definition: Definition, words: set[str]) -> tuple[bool, bool, int, int]:
    kinds = {"class": 0, "function": 1, "value": 2}
    name = definition.name
    return (
        name.lower() not in words,
        name.startswith("_"),
        kinds[definition.kind] + bool(definition.inside),
        definition.line,
    )
