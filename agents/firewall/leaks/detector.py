"""What must not leave: planted canaries, configured secrets, recited prompts — plain, encoded, split or disguised."""

from __future__ import annotations

from agents.firewall.base import ALLOW, FirewallContext, FirewallVerdict, layer_verdicts
from agents.firewall.leaks.decodings import MAX_TEXT, differences, raw_runs, readings, squash
from agents.firewall.leaks.recitation import recites
from agents.secrets.formats import find_known, is_placeholder

_deny, _approve = layer_verdicts("leak")
_PIECE = 5
_LEET = str.maketrans("013457@$", "oieastas")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ATBASH = str.maketrans(_LETTERS, _LETTERS[::-1])


def judge_leak(text: str, context: FirewallContext, *, formats: bool) -> FirewallVerdict:
    """Look for everything that the context protects; with `formats` also for any well-known kind of secret."""
    if len(text) > MAX_TEXT:
        return _deny("too-long", f"The text is longer than {MAX_TEXT} characters; send it in parts.")
    named = [*(("canary", value) for value in context.canaries), *(("secret", value) for value in context.secrets)]
    guarded = [(name, value) for name, value in named if len(value) >= 6]
    seen = list(readings(text)) if guarded or context.protected_texts else []
    for name, value in guarded:
        if _found(value, seen) or _combined(value, text):
            return _deny(name, f"The text contains a protected {name}, plain or disguised.")
    if any(recites(text, protected, seen) for protected in context.protected_texts):
        return _deny("prompt", "The text recites a protected prompt.")
    for kind, start, end in find_known(text) if formats else ():
        if not is_placeholder(text[start:end]):
            return _approve("known-format", f"The text contains what looks like a secret ({kind}).")
    return ALLOW


def _found(value: str, seen: list[str]) -> bool:
    core = squash(value)
    if len(core) < 6:
        return any(value in reading for reading in seen)
    # Without its first letter too: an acrostic may begin within a line.
    forms = {core, core[1:] if len(core) > 15 else core, core[::-1], core.translate(_ATBASH), core.translate(_LEET)}
    for shift in range(1, 26):
        turned = core.translate(str.maketrans(_LETTERS, _LETTERS[shift:] + _LETTERS[:shift]))
        forms |= {turned, turned[::-1]}
    for reading in seen:
        if any(form in reading for form in forms) or core.translate(_LEET) in reading.translate(_LEET):
            return True
        if len(core) >= 2 * _PIECE and (_in_pieces(core, reading) or _in_pieces(core[::-1], reading)):
            return True
    return False


def _combined(value: str, text: str) -> bool:
    """Whether the value stands there in hexadecimal or base64 after every byte was combined with one byte (XOR)."""
    wanted = differences(value.encode())
    return any(wanted in differences(data) for data in raw_runs(text))


def _in_pieces(core: str, reading: str) -> bool:
    """Whether the value stands there in order, cut into parts of five or more characters with text between."""
    at, position = 0, 0
    while at < len(core):
        length, place = 0, -1
        for size in range(min(_PIECE, len(core) - at), len(core) - at + 1):
            found = reading.find(core[at : at + size], position)
            if found < 0:
                break
            length, place = size, found
        if not length:
            return False
        at, position = at + length, place + length
    return True
