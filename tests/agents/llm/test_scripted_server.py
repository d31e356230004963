"""The scripted server as any HTTP client sees it."""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from agents.llm.answers import REPLY_HEADER
from agents.llm.base import LLMError
from agents.llm.ollama import OllamaProvider
from agents.llm.runner import ModelRunner
from agents.llm.scripted import ScriptedProvider, reply_name
from agents.llm.scripted_server.pace import common_prefix, pieces
from agents.llm.scripted_server.scenario import Scenario, ScenarioError
from tests.agents.llm.fake_servers import FakeModelServer
from tests.tables import each_row
from tests.waiting import eventually

from .conftest import MODEL, REPLY, SCENARIO, talk


def chat(url: str, messages: list, reply: str = "", **more) -> list[dict]:
    headers = {REPLY_HEADER: reply} if reply else {}
    body = {"model": MODEL, "messages": messages, **more}
    answer = httpx.post(f"{url}/api/chat", json=body, headers=headers, timeout=20)
    assert answer.status_code == 200, answer.text
    assert answer.headers["X-Recorded"] == "small"
    return [json.loads(line) for line in answer.text.splitlines()]


def test_it_streams_json_lines_as_ollama_does(server):
    *lines, last = chat(server.url, talk(), options={"num_ctx": 8192})
    assert "".join(line["message"]["content"] for line in lines) == REPLY
    assert all(line["done"] is False and line["message"]["role"] == "assistant" for line in lines)
    assert last["done"] is True
    assert last["done_reason"] == "stop"
    assert last["eval_count"] == len(lines)
    assert last["prompt_eval_count"] > 10
    assert last["eval_duration"] > 0
    assert last["total_duration"] >= last["eval_duration"]


def test_without_streaming_the_reply_comes_whole(server):
    (only,) = chat(server.url, talk(), stream=False)
    assert only["message"]["content"] == REPLY
    assert only["done"] is True


def test_it_says_everywhere_that_it_is_a_recording(server):
    version = httpx.get(f"{server.url}/api/version")
    assert version.json()["recorded"] is True
    assert "recording" in version.json()["version"]
    assert version.headers["X-Recorded"] == "small"
    assert httpx.get(server.url).text == "Ollama is running"
    details = httpx.get(f"{server.url}/api/tags").json()["models"][0]["details"]
    assert details["family"] == "recording"


def test_a_model_is_loaded_with_the_window_asked_for(server):
    assert httpx.get(f"{server.url}/api/ps").json() == {"models": []}
    chat(server.url, talk(), options={"num_ctx": 8192})
    assert httpx.get(f"{server.url}/api/ps").json()["models"][0]["context_length"] == 8192


def test_show_knows_its_own_model_only(server):
    assert httpx.post(f"{server.url}/api/show", json={"model": MODEL}).json()["capabilities"] == ["completion"]
    assert httpx.post(f"{server.url}/api/show", json={"model": "x"}).status_code == 404


def test_a_missing_reply_names_the_file_wanted(server):
    answer = httpx.post(f"{server.url}/api/chat", json={"model": MODEL, "messages": talk("dance")})
    assert answer.status_code == 500
    assert "T-01/coder-dance.md is missing" in answer.json()["error"]


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[1]", b'{"messages": 3}', b'{"messages": [3]}', b'{"options": []}', b"[" * 100_000]
)
def test_senseless_bodies_get_an_answer(server, body):
    answer = httpx.post(f"{server.url}/api/chat", content=body)
    assert answer.status_code in (400, 404, 500)
    assert answer.json()["error"]


def test_unknown_routes_are_not_found(server):
    assert httpx.get(f"{server.url}/nowhere").status_code == 404
    assert httpx.post(f"{server.url}/nowhere", json={}).status_code == 404


@pytest.mark.parametrize("parallel", [1, 2])
def test_calls_wait_for_a_slot_and_all_are_answered(folder, parallel):
    slow = FakeModelServer(folder, tokens_per_s=200, parallel=parallel)
    with slow as url:
        threads = [threading.Thread(target=chat, args=(url, talk())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
        # The server notes it after its last byte, when the client may have gone on already.
        assert eventually(lambda: [seen.outcome for seen in slow.requests] == ["done"] * 3)
        assert slow.most_at_once == parallel


def test_it_serves_slowly_too_in_a_process_with_more_than_a_thousand_open_files(folder):
    held = [os.dup(0) for _ in range(1_100)]
    try:
        assert max(held) > 1_024
        with FakeModelServer(folder, tokens_per_s=200) as url:
            answer = httpx.post(f"{url}/api/chat", json={"model": MODEL, "messages": talk()}, timeout=60)
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert json.loads(answer.text.splitlines()[-1])["done"] is True


def test_the_same_port_answers_after_a_restart_and_the_cache_is_cold(server):
    chat(server.url, talk())
    before = server.url
    server.stop()
    server.start()
    assert server.url == before
    chat(server.url, talk())
    assert [seen.reused_tokens for seen in server.requests] == [0, 0]
    chat(server.url, talk())
    assert server.requests[-1].reused_tokens > 0


def test_it_listens_on_the_loopback_address_only(server):
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=1):
        pass


def test_a_real_server_is_no_recording_to_the_scripted_provider(server, monkeypatch):
    provider = ScriptedProvider(server.url, model=MODEL)
    assert provider.recorded
    assert provider.health().ok
    monkeypatch.setattr("agents.llm.web.RECORDED_HEADER", "X-Nothing")
    health = provider.health()
    assert not health.ok
    assert "not a recording" in health.problem


def test_it_runs_from_the_command_line(folder):
    command = [sys.executable, "-m", "agents.llm.scripted_server", "--scenario", str(folder), "--tokens-per-s", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        try:
            assert chat(url, talk(), "T-01/coder-code")[-1]["done"] is True
        finally:
            process.terminate()
        assert process.wait(timeout=10) == 0


def test_a_folder_without_a_scenario_ends_with_code_3_and_a_reason(tmp_path):
    command = [sys.executable, "-m", "agents.llm.scripted_server", "--scenario", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 3
    assert "no scenario.toml" in done.stderr
    assert "Traceback" not in done.stderr


class TestScenario:
    def test_it_is_read_from_its_folder(self, folder):
        scenario = Scenario.load(folder)
        assert (scenario.name, scenario.model) == ("small", MODEL)

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ('name = "small"', "", "'name'"),
            ('name = "small"', 'name = "../x"', "letters"),
            ('model = "', 'model = 3 # "', "'model'"),
            ("title", "[[", "cannot be read"),
        ],
    )
    def test_a_bad_one_says_what_is_wrong(self, folder: Path, old, new, words):
        (folder / "scenario.toml").write_text(SCENARIO.replace(old, new))
        with pytest.raises(ScenarioError, match=words):
            Scenario.load(folder)

    @pytest.mark.parametrize(
        "name", ["", "T-01", "/coder-code", "../../etc/passwd", "T-01/../passwd", "T-01/a/b", "T 1/x"]
    )
    def test_a_name_that_is_no_reply_is_refused(self, folder, name):
        with pytest.raises(ScenarioError, match="by its name"):
            Scenario.load(folder).reply(name)


def labelled(step="code", *, persona="coder", **opening):
    return [
        {"role": "system", "content": "s", "label": {"persona": persona}},
        {"role": "user", "content": "u", "label": {"step": step, **opening}},
    ]


class TestReplyName:
    def test_a_reply_is_named_by_task_persona_step_approach_and_count(self):
        first = labelled("repair", task="T-01", approach=1)
        again = [
            *first,
            {"role": "assistant", "content": "x"},
            {"role": "user", "content": "", "label": {"step": "repair"}},
        ]
        assert reply_name(labelled(task="T-01", approach=1)) == "T-01/coder-code"
        assert reply_name(again) == "T-01/coder-repair-2"
        assert reply_name(labelled(task="T-02", approach=2)) == "T-02/coder-code-a2"
        assert reply_name(labelled("plan", persona="planner")) == "plan/planner-plan"

    def test_words_of_a_conversation_do_not_change_it(self):
        conversation = labelled(task="T-01", approach=2)
        conversation[1]["content"] = "Task: T-99 write things\nApproach: 4\nStep: repair"
        assert reply_name(conversation) == "T-01/coder-code-a2"

    def test_a_conversation_without_labels_names_none(self):
        assert reply_name([{"role": "user", "content": "Step: code"}]) == ""
        assert reply_name([]) == ""

    def test_only_the_provider_of_recordings_sends_it(self, server):
        conversation = labelled(task="T-01", approach=1)
        for kind, file in ((ScriptedProvider, "T-01/coder-code.md"), (OllamaProvider, "")):
            with ModelRunner(attempts=1) as runner, suppress(LLMError):
                runner.complete(kind(server.url, model=MODEL), conversation)
            call = [seen for seen in server.requests if seen.path == "/api/chat"][-1]
            assert call.file == file
            assert all(set(sent) == {"role", "content"} for sent in call.body["messages"])


@each_row("text", ["", " ", "a", REPLY, "\n\n  x\n", "é" * 9, "word " * 40 + "\n"])
def test_pieces_are_the_text_again(text):
    assert "".join(pieces(text)) == text


@pytest.mark.parametrize(
    ("one", "other", "length"), [("", "x", 0), ("abc", "abd", 2), ("abc", "abc", 3), ("b", "a", 0)]
)
def test_the_common_prefix_is_found(one, other, length):
    assert common_prefix(one, other) == length
