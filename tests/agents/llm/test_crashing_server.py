"""A real server whose runner crashes comes back; its HTTP 500 is waited for, unlike a recording's missing reply."""

import pytest

from agents.llm.base import ModelUnavailable
from agents.llm.ollama import OllamaProvider
from agents.llm.runner import ModelRunner
from tests.agents.stand_in_server import stand_in


def test_a_crashed_runner_is_waited_for():
    with stand_in() as server, ModelRunner(attempts=1) as runner:
        server.says({"error": "llama runner process has terminated: exit status 2"}, 500)
        with pytest.raises(ModelUnavailable, match="terminated"):
            runner.complete(OllamaProvider(server.url), [{"role": "user", "content": "hello"}])
