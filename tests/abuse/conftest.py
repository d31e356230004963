"""The cases of abuse run against each real sandbox backend in turn."""

from tests.sandbox.conftest import backend, box, docker_engine

__all__ = ["backend", "box", "docker_engine"]
