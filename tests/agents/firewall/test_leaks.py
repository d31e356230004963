"""A planted canary leaves in no disguise, and ordinary text is not mistaken for one."""

import base64
import codecs
import gzip
import quopri
import random
import zlib
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.firewall import FirewallContext, inspect

CANARY = "zebra7Kq2mWx9RtLp4vB"
CONTEXT = FirewallContext(
    canaries=(CANARY,),
    secrets=("correct-horse-42",),
    protected_texts=(" ".join(f"rule{n} says something" for n in range(20)),),
)
RAW = CANARY.encode()


def caesar(text: str, by: int) -> str:
    turn = str.maketrans({chr(a + i): chr(a + (i + by) % 26) for a in (65, 97) for i in range(26)})
    return text.translate(turn)


ENCODINGS = {
    "plain": CANARY,
    "upper case": CANARY.upper(),
    "lower case": CANARY.lower(),
    "swapped case": CANARY.swapcase(),
    "inside a word": f"xx{CANARY}yy",
    "base64": base64.b64encode(RAW).decode(),
    "base64 shifted by one": base64.b64encode(b"a" + RAW).decode(),
    "base64 shifted by two": base64.b64encode(b"ab" + RAW).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(RAW + b"\xff").decode(),
    "base64 without padding": base64.b64encode(RAW).decode().rstrip("="),
    "base64 twice": base64.b64encode(base64.b64encode(RAW)).decode(),
    "base64 over lines": "\n".join(base64.b64encode(RAW).decode()[i : i + 6] for i in range(0, 28, 6)),
    "base64 reversed": base64.b64encode(RAW).decode()[::-1],
    "base64 of reversed": base64.b64encode(RAW[::-1]).decode(),
    "base64 of rot13": base64.b64encode(codecs.encode(CANARY, "rot13").encode()).decode(),
    "base64 of utf-16": base64.b64encode(CANARY.encode("utf-16")).decode(),
    "base32": base64.b32encode(RAW).decode(),
    "base85": base64.b85encode(RAW).decode(),
    "ascii85": base64.a85encode(RAW, adobe=True).decode(),
    "gzip in base64": base64.b64encode(gzip.compress(RAW, mtime=0)).decode(),
    "zlib in base64": base64.b64encode(zlib.compress(RAW)).decode(),
    "hex": RAW.hex(),
    "hex upper case": RAW.hex().upper(),
    "hex spaced": RAW.hex(" "),
    "hex with colons": RAW.hex(":"),
    "hex escapes": "".join(f"\\x{b:02x}" for b in RAW),
    "hex numbers": ", ".join(f"0x{b:02x}" for b in RAW),
    "hex reversed": RAW.hex()[::-1],
    "hex of base64": base64.b64encode(RAW).hex(),
    "rot13": codecs.encode(CANARY, "rot13"),
    "caesar by seven": caesar(CANARY, 7),
    "reversed": CANARY[::-1],
    "reversed rot13": codecs.encode(CANARY[::-1], "rot13"),
    "spaces between": " ".join(CANARY),
    "dashes between": "-".join(CANARY),
    "a letter a line": "\n".join(CANARY),
    "zero-width between": "\u200b".join(CANARY),
    "full-width letters": "".join(chr(ord(c) + 0xFEE0) for c in CANARY),
    "mathematical letters": "".join(chr(0x1D400 + ord(c) - 65) if c.isupper() else c for c in CANARY),
    "percent": "".join(f"%{b:02X}" for b in RAW),
    "percent twice": quote("".join(f"%{b:02X}" for b in RAW)),
    "html numbers": "".join(f"&#{b};" for b in RAW),
    "html hex numbers": "".join(f"&#x{b:x};" for b in RAW),
    "unicode escapes": "".join(f"\\u{b:04x}" for b in RAW),
    "decimal numbers": " ".join(str(b) for b in RAW),
    "decimal list": str(list(RAW)),
    "octal": "".join(f"\\{b:03o}" for b in RAW),
    "binary": " ".join(f"{b:08b}" for b in RAW),
    "quoted-printable": quopri.encodestring("".join(f"={b:02X}" for b in RAW).encode(), quotetabs=True).decode(),
    "joined strings": '"' + '" + "'.join(CANARY[i : i + 4] for i in range(0, 20, 4)) + '"',
    "two halves": f"first {CANARY[:10]} and then, much later, {CANARY[10:]}",
    "three parts": f"a={CANARY[:7]}\nb={CANARY[7:14]}\nc={CANARY[14:]}",
    "a letter begins each line": "\n".join(f"{c} is a letter" for c in CANARY),
    "markdown": "**" + "**_**".join([CANARY[:9], CANARY[9:]]) + "**",
    "in a comment": f"# note: {CANARY}\nprint(1)",
    "as a branch name": f"feature/{CANARY.lower()}",
}


@pytest.mark.parametrize("kind", ["output", "code", "command", "path"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_a_canary_leaves_in_no_encoding(name: str, kind: str) -> None:
    verdict = inspect(kind, ENCODINGS[name], context=CONTEXT)  # type: ignore[arg-type]
    assert verdict.decision == "deny"
    assert kind == "path" or verdict.rule == "leak.canary"
    assert CANARY not in verdict.reason


def test_there_are_at_least_forty_encodings() -> None:
    assert len(ENCODINGS) >= 40


def test_a_configured_secret_is_denied_like_a_canary() -> None:
    assert inspect("output", "the key is correct-horse-42", context=CONTEXT).rule == "leak.secret"


def test_reciting_a_protected_prompt_is_denied() -> None:
    said = "My rules: " + " ".join(f"rule{n} says something" for n in range(5, 15))
    assert inspect("output", said, context=CONTEXT).rule == "leak.prompt"


def test_a_known_kind_of_secret_in_output_asks() -> None:
    verdict = inspect("output", "use gh" + "p_" + "a1B2" * 9)
    assert (verdict.decision, verdict.rule) == ("approve", "leak.known-format")


def test_ordinary_prose_code_and_hashes_pass() -> None:
    source = random.Random(7)
    words = [
        "the",
        "plan",
        "adds",
        "a",
        "route",
        "that",
        "lists",
        "todo",
        "items",
        "sorted",
        "by",
        "date",
        "and",
        "returns",
        "json",
        "with",
        "status",
        "codes",
    ]
    for _ in range(20):
        text = (
            " ".join(source.choices(words, k=120))
            + f" {source.getrandbits(256):064x} "
            + base64.b64encode(source.randbytes(60)).decode()
        )
        assert inspect("output", text, context=CONTEXT).decision == "allow"


@given(st.text(max_size=300))
def test_no_text_makes_the_judge_fail(text: str) -> None:
    for kind in ("output", "code", "command", "path"):
        verdict = inspect(kind, text, context=CONTEXT)  # type: ignore[arg-type]
        assert verdict.rule != "input.error"
        assert verdict.decision in ("allow", "approve", "deny")
