"""A planted canary leaves in no disguise, and ordinary text is not mistaken for one."""

import base64
import random
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from agents.firewall.base import FirewallContext
from agents.firewall.judge import inspect
from tests.agents.firewall.leaks.disguises import disguises
from tests.tables import each_row

CANARY = "zebra7Kq2mWx9RtLp4vB"
CONTEXT = FirewallContext(
    canaries=(CANARY,),
    secrets=("correct-horse-42",),
    protected_texts=(" ".join(f"rule{n} says something" for n in range(20)),),
)

ENCODINGS = disguises(CANARY)


@each_row(("kind", "name"), product(["output", "code", "command", "path"], ENCODINGS))
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
    words = "the plan adds a route that lists todo items sorted by date and returns json with status codes".split()
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
