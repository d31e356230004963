"""Token counts, the breaker, the registry and Retry-After."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agents.llm.answers import error_text, retry_after_seconds
from agents.llm.base import ModelUnavailable
from agents.llm.breaker import Breaker
from agents.llm.tokens import count_messages, count_tokens


class TestTokens:
    @pytest.mark.parametrize(
        ("text", "least", "most"),
        [
            ("", 0, 0),
            ("hello", 1, 1),
            ("The quick brown fox jumps over the lazy dog.", 9, 12),
            ("1234567890", 10, 10),
            ("def total(items):\n    return sum(items)\n", 10, 20),
            ("日本語", 3, 6),
        ],
    )
    def test_counts_are_near_what_vocabularies_give(self, text, least, most):
        assert least <= count_tokens(text) <= most

    @given(st.text(), st.text())
    def test_more_text_never_costs_less(self, one, other):
        assert count_tokens(one + other) + 2 >= max(count_tokens(one), count_tokens(other))

    def test_code_costs_at_least_a_token_for_five_characters(self):
        code = "for index, value in enumerate(values):\n    if value.name == 'x':\n        print(f'{index}')\n" * 20
        assert count_tokens(code) >= len(code) / 5

    def test_a_huge_text_is_counted_roughly(self):
        assert count_tokens("x" * 3_000_000) == 1_000_000

    def test_messages_cost_their_borders_too(self):
        assert count_messages([{"role": "user", "content": ""}] * 3) > 0


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("value", "seconds"),
        [
            ("7", 7.0),
            ("0.5", 0.5),
            ("-3", 0.0),
            ("999999999", 3600.0),
            ("inf", 3600.0),
            ("nan", None),
            ("", None),
            (None, None),
            ("soon", None),
            ("Fri, 01 Jan 1999 00:00:00 GMT", 0.0),
        ],
    )
    def test_seconds_and_dates_are_read(self, value, seconds):
        assert retry_after_seconds(value) == seconds

    @given(st.text())
    def test_nothing_a_server_writes_there_raises(self, value):
        seconds = retry_after_seconds(value)
        assert seconds is None or 0 <= seconds <= 3600


class TestErrorText:
    @pytest.mark.parametrize(
        ("body", "text"),
        [
            ({"error": "gone"}, "gone"),
            ({"error": {"message": "gone"}}, "gone"),
            ([{"error": {"message": "gone"}}], "gone"),
            ({"error": '{"error": {"code": 400, "message": "gone"}}'}, "gone"),
            ({"error": "{not JSON"}, "{not JSON"),
            ({"detail": [{"msg": "gone"}]}, "gone"),
            ({"error": {"code": 3}}, ""),
            (7, ""),
            (None, ""),
        ],
    )
    def test_an_error_is_found_in_every_common_shape(self, body, text):
        assert error_text(body) == text


class BreakerMachine(RuleBasedStateMachine):
    """Whatever happens, an open breaker lets nobody in, and a half open one lets one in."""

    LIMIT = 3

    @initialize()
    def start(self) -> None:
        self.now = 0.0
        self.breaker = Breaker("http://x", failures=self.LIMIT, cooldown=10, clock=lambda: self.now)
        self.in_row = 0
        self.inside = 0

    @rule()
    def enter(self) -> None:
        state = self.breaker.state
        if state == "open" or (state == "half_open" and self.probing):
            with pytest.raises(ModelUnavailable) as caught:
                self.breaker.enter()
            assert caught.value.retry_after > 0
        else:
            self.breaker.enter()
            self.inside += 1
            self.probing = state == "half_open"

    probing = False

    @precondition(lambda self: self.inside)
    @rule(asked=st.sampled_from([None, 5.0, 60.0]))
    def fail(self, asked: float | None) -> None:
        was = self.breaker.state
        self.breaker.failed(asked)
        self.inside -= 1
        self.in_row += 1
        if self.probing or self.in_row >= self.LIMIT:
            assert self.breaker.state == "open"
        else:
            assert self.breaker.state == was
        self.probing = False

    @precondition(lambda self: self.inside)
    @rule()
    def succeed(self) -> None:
        self.breaker.succeeded()
        self.inside -= 1
        self.in_row, self.probing = 0, False
        assert self.breaker.state == "closed"

    @rule(seconds=st.floats(min_value=0, max_value=100))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def an_open_breaker_names_a_time(self) -> None:
        if self.breaker.state == "open":
            with pytest.raises(ModelUnavailable) as caught:
                self.breaker.enter()
            assert caught.value.retry_after > 0


TestBreaker = BreakerMachine.TestCase


def test_a_probe_that_was_stopped_lets_the_next_one_try():
    now = [0.0]
    breaker = Breaker("http://x", failures=1, cooldown=1, clock=lambda: now[0])
    breaker.failed()
    now[0] = 2.0
    breaker.enter()
    with pytest.raises(ModelUnavailable):
        breaker.enter()
    breaker.left()
    breaker.enter()
    breaker.succeeded()
    assert breaker.state == "closed"
