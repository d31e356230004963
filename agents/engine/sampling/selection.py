"""Which of several samples to take: by what their runs showed, then by how many others behave the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

AGREEMENT = 2  # passing samples that behave the same: enough to stop sampling


@dataclass(frozen=True)
class Sample:
    """One sample after its run. `failing` names failed tests, `behaviour` is what distinguishing calls returned."""

    number: int
    ok: bool
    compiles: bool
    passed: int
    failing: frozenset[str] = frozenset()
    behaviour: str = ""

    def agrees(self, other: Sample) -> bool:
        """True for two samples that no test and no distinguishing call tells apart."""
        return (self.ok, self.compiles, self.failing, self.behaviour) == (
            other.ok,
            other.compiles,
            other.failing,
            other.behaviour,
        )


def agreeing(sample: Sample, samples: Sequence[Sample]) -> int:
    """How many of the samples behave as this one does, itself included."""
    return sum(sample.agrees(other) for other in samples)


def select(samples: Sequence[Sample]) -> Sample:
    """The sample to go on with: one that passes, then the most tests passed, the most agreement, the earliest."""
    return max(samples, key=lambda one: (one.ok, one.compiles, one.passed, agreeing(one, samples), -one.number))


def enough(samples: Sequence[Sample], *, tests_given: bool) -> bool:
    """True when another sample could not change much: given tests are the judge, written ones need agreement."""
    passing = [one for one in samples if one.ok]
    if tests_given:
        return bool(passing)
    return any(agreeing(one, passing) >= AGREEMENT for one in passing)
