"""Quantiles and the tokens that a prefix cache cannot reuse."""

from __future__ import annotations

import pytest

from agents.llm.tokens import count_messages
from measure.figures import quantile
from measure.trials.counting import uncached_tokens


def test_a_quantile_is_one_of_the_values():
    assert quantile([5, 1, 3], 0.5) == 3
    assert quantile([5, 1, 3], 0.95) == 5
    assert quantile([], 0.5) == 0.0


def turn(role, text):
    return {"role": role, "content": text}


def test_an_appended_turn_costs_only_itself():
    before = [turn("system", "You write code."), turn("user", "Add two numbers.")]
    after = [*before, turn("assistant", "def add(): ..."), turn("user", "It failed.")]
    assert uncached_tokens(before, []) == count_messages(before)
    assert uncached_tokens(after, [before]) == count_messages(after[2:])
    assert uncached_tokens(before, [before]) == 0


def test_a_change_in_the_middle_costs_everything_after_it():
    before = [turn("system", "You write code."), turn("user", "File a.\n" * 50)]
    after = [turn("system", "You write prose."), turn("user", "File a.\n" * 50)]
    assert uncached_tokens(after, [before]) == pytest.approx(count_messages(after), abs=12)
