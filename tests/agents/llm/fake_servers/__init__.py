"""Model servers for tests: a recording that goes wrong to order and speaks OpenAI's and Gemini's protocols too."""

from tests.agents.llm.fake_servers.faults import Fault, Faults
from tests.agents.llm.fake_servers.server import FakeModelServer

__all__ = ["FakeModelServer", "Fault", "Faults"]
