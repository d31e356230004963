"""A task's Dockerfile is built and started: a failure goes to the coder, and what could not be tried is said."""

import pytest

from sandbox.container_report import ContainerReport
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, task

pytestmark = pytest.mark.usefixtures("quiet_sandbox")
FILE = """FROM debian:12
USER 1000
HEALTHCHECK NONE
CMD ["id"]
"""
GOOD = ContainerReport(
    "ok", health="healthy", user="1000", ports=("8000/tcp",), packages=("a 1",), size_mb=40, seconds=3
)


def reply(text=FILE):
    return f"The image.\n\n````dockerfile path=Dockerfile\n{text}````\n"


@pytest.fixture
def bench(tmp_path):
    written = task(kind="infra", files=["Dockerfile"], title="Container")
    bench = Bench(tmp_path, {"coder-code": reply(), "reviewer-review": APPROVED}, written)
    bench.start_with({"PLAN.md": "# Plan\n"})
    return bench


def answers(bench, *reports):
    left = list(reports)
    bench.try_container = lambda folder, path: left.pop(0) if len(left) > 1 else left[0]


def test_the_last_lines_of_a_build_go_to_the_coder_without_secrets(bench):
    key = "AKIA" + "QX7Z2MPL4TRW5BVN"
    answers(bench, ContainerReport("failed", "the build failed", f"cat: /gone: No such file\n{key}"), GOOD)
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="gone") + reply(FILE.replace("12", "13"))
    assert bench.run()["verdict"] == "merged"
    (prompt,) = bench.last_turns("repair")
    assert "cat: /gone: No such file" in prompt
    assert key not in prompt
    first, *_, last = bench.event_log.of("container.tried")
    assert (first["outcome"], first["payload"]["state"]) == ("fail", "failed")
    assert key not in first["payload"]["tail"]
    assert (
        last["summary"] == "Dockerfile: built and started in 3 s, healthy, user 1000, port 8000/tcp, 1 packages, 40 MB"
    )


@pytest.mark.parametrize("state", ["not built", "no verdict"])
def test_what_could_not_be_tried_is_said_and_stops_nothing(bench, state):
    answers(bench, ContainerReport(state, "no Docker engine answers"))
    assert bench.run()["verdict"] == "merged"
    said = f"Dockerfile: {state}: no Docker engine answers"
    assert said in bench.event_log.of("test.result")[0]["summary"]
    assert bench.event_log.of("container.tried")[0]["payload"]["state"] == state


def test_a_secret_in_a_layer_is_a_failure(bench):
    key = "AKIA" + "QX7Z2MPL4TRW5BVN"
    leaking = ContainerReport("ok", health="healthy", user="1000", texts=(("srv/.env", f"AWS_ACCESS_KEY_ID={key}"),))
    answers(bench, leaking, GOOD)
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="leak") + reply(FILE.replace("12", "13"))
    assert bench.run()["verdict"] == "merged"
    assert "a secret can be read in the image: srv/.env" in bench.event_log.of("container.tried")[0]["summary"]


def test_a_dockerfile_with_findings_is_not_built(bench):
    built = []
    bench.try_container = lambda folder, path: (built.append((folder / path).read_text()), GOOD)[1]
    bench.replies["coder-code"] = reply(FILE.replace("USER 1000\n", ""))
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="root") + reply()
    assert bench.run()["verdict"] == "merged"
    first, second = bench.event_log.of("test.result")[:2]
    assert "DL3002" in first["payload"]["failures"][0]["message"]
    assert set(built) == {FILE}
    assert second["outcome"] == "ok"
