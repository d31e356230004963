"""What a prefix cache can reuse of the real prompts over a repair."""

import pytest

from agents.llm.runner import ModelRunner
from measure.performance.prefix import jobs, play
from sandbox.registry import open_backend

pytestmark = [pytest.mark.bubblewrap, pytest.mark.slow]


@pytest.fixture
def parts():
    runner = ModelRunner(attempts=1)
    yield open_backend("bubblewrap"), runner
    runner.close()


def test_a_bug_fix_needs_fewer_new_tokens_than_the_leanest_agent_and_ten_repairs_reuse_two_thirds(tmp_path, parts):
    fix = play(tmp_path / "fix", jobs()["bug fix"], *parts)
    assert fix["calls"] == 2
    assert fix["uncached"] < fix["strict"] < 1_220
    long = play(tmp_path / "long", jobs()["ten repairs"], *parts)
    assert long["calls"] == 11
    assert long["uncached"] <= 0.35 * long["sent"]
