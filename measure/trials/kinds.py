"""The kinds of small mistakes in plain words, as a diagnosis names them and a lesson hands them on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MistakeKind:
    """What is wrong, and what cures it."""

    name: str
    cause: str
    fix: str


_KINDS = (
    MistakeKind(
        "boundary",
        "a comparison treats its boundary wrongly",
        "look whether the boundary belongs in, and use < or <= (> or >=) accordingly",
    ),
    MistakeKind("direction", "a comparison points the wrong way", "turn the comparison round"),
    MistakeKind("opposite", "a condition asks the opposite of what is meant", "negate the condition"),
    MistakeKind("junction", "two conditions are joined by the wrong word", "exchange and with or"),
    MistakeKind("arithmetic", "a calculation uses the wrong operator", "use the operator that the text asks for"),
    MistakeKind("truth", "a yes-or-no value is the wrong one", "exchange True with False"),
    MistakeKind("number", "a number is off by one", "count again where the number starts and ends"),
    MistakeKind("fraction", "a constant with a fraction has the wrong value", "take the value from the text"),
    MistakeKind(
        "arguments", "two arguments of a call are exchanged", "pass the arguments in the order of the definition"
    ),
    MistakeKind("slice", "a slice starts or ends one element off", "count the first and the last element of the slice"),
    MistakeKind("result", "the function does not give its result back", "return the computed value"),
    MistakeKind("sum", "a running total is not carried on", "add the current value to the running total"),
    MistakeKind("step", "a step of the computation is left out", "write the missing statement"),
)
KINDS = {kind.name: kind for kind in _KINDS}


def kind_in(text: str) -> str:
    """The name of the kind that a text speaks of, by the words of its cause or its cure; "" when it names none."""
    squeezed = " ".join(text.split())
    return next((kind.name for kind in _KINDS if kind.fix in squeezed or kind.cause in squeezed), "")
