"""How many calls a server answers at a time."""

import pytest

from agents.llm.base import ModelUnavailable
from agents.llm.concurrency import ConcurrencyLimit
from agents.llm.ollama import OllamaProvider
from agents.llm.runner import ModelRunner

from .conftest import MODEL, talk


def test_each_server_has_a_limit_of_its_own():
    limit = ConcurrencyLimit(lambda server: 3 if server == "a" else 1)
    with limit.call("a"), limit.call("b"):
        assert limit.free("a") == 2
    assert limit.free("a") == 3


def test_one_call_is_always_possible_and_queues_at_the_server():
    limit = ConcurrencyLimit(lambda server: 1)
    with limit.call("a"), limit.call("a"):
        assert limit.free("a") == 1


def test_a_call_counts_as_long_as_it_lasts(server):
    provider, free = OllamaProvider(server.url, MODEL), []
    with ModelRunner(parallel=lambda server: 2) as runner:
        runner.complete(provider, talk(), on_delta=lambda text: free.append(runner.limit.free(provider.server)))
        assert free[0] == 1
        assert runner.limit.free(provider.server) == 2


def test_a_call_that_fails_counts_no_longer(server):
    server.faults.add("status", status=503)
    provider = OllamaProvider(server.url, MODEL)
    with ModelRunner(attempts=1, parallel=lambda server: 2) as runner:
        with pytest.raises(ModelUnavailable):
            runner.complete(provider, talk())
        assert runner.limit.free(provider.server) == 2
