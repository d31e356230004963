"""Code and documents are compared with a task by meaning, each text embedded once, and no task waits for a model."""

import time
from dataclasses import replace

import pytest

from agents.context.meaning import CHARS, MOST, REST_S, Asking, Meaning, meaning_of
from agents.context.vectors import VectorStore
from agents.llm.base import Cancelled, ModelUnavailable, Timeouts
from agents.memory.embedders import embedder_of, hashing
from agents.memory.folder import ChromaFolder
from tests.agents.context.support import Embedder
from tests.agents.llm.fake_servers import FakeModelServer

TEXTS = ["def reimburse(order): ...", "def forecast(city): ...", "def login(user): ..."]


@pytest.fixture
def store(tmp_path):
    return VectorStore(ChromaFolder(tmp_path / "chroma"), "shop", "m")


@pytest.fixture
def model():
    return Embedder()


def test_what_means_the_same_is_nearer_than_what_does_not(store, model):
    found = Meaning("m", model, store).near("pay the money back", TEXTS)
    assert found.problem == ""
    assert found.made == 4
    assert max(found.alike) == found.alike[0] > 0.9
    assert max(found.alike[1:]) < 0.2


def test_a_text_is_embedded_once_and_after_a_commit_only_what_is_new(store, model):
    first = Meaning("m", model, store).near("pay back", TEXTS)
    assert len(model.texts) == 4
    again = Meaning("m", model, store).near("pay back", TEXTS)
    assert (len(model.texts), again.made, again.alike) == (4, 0, first.alike)
    Meaning("m", model, store).near("pay back", [*TEXTS, "def logout(user): ..."])
    assert model.texts[4:] == ["def logout(user): ..."]


def test_the_answer_is_the_same_when_the_model_is_away_and_the_vectors_are_there(store, model):
    first = Meaning("m", model, store).near("pay back", TEXTS)
    model.away = ModelUnavailable("no server")
    assert Meaning("m", model, store).near("pay back", TEXTS).alike == first.alike


def test_a_model_that_is_away_is_said_and_left_alone_for_a_while(store, model):
    now = [0.0]
    model.away = ModelUnavailable("no server")
    meaning = Meaning("m", model, store, wall=lambda: now[0])
    found = meaning.near("pay back", TEXTS)
    assert (found.alike, found.problem) == ([None, None, None], "no server")
    asked = model.asked
    assert meaning.near("another", TEXTS).problem == "no server"
    assert model.asked == asked
    model.away, now[0] = None, REST_S + 1
    assert meaning.near("pay back once more", TEXTS).problem == ""


def test_a_slow_model_costs_the_time_limit_and_goes_on_with_the_next_task(store, model):
    now = [0.0]

    def slow(texts, seconds):
        now[0] += 4.0
        return model(texts, seconds)

    meaning = Meaning("m", slow, store, seconds=10.0, clock=lambda: now[0])
    many = [f"def part_{number}(): {'x' * CHARS}" for number in range(50)]
    first = meaning.near("pay back", many)
    assert now[0] <= 12.0
    assert 0 < first.made < len(many)
    assert "have no vector yet" in first.problem
    assert first.alike[0] is not None
    assert first.alike[-1] is None
    assert meaning.near("pay back", many) is first
    while "have no vector yet" in meaning.near(f"pay back {now[0]}", many).problem:
        assert now[0] < 120.0
    assert meaning.near(f"pay back {now[0]}", many).alike[-1] is not None


def test_a_model_that_makes_nothing_in_its_time_is_left_alone(store):
    asked = []

    def hangs(texts, seconds):
        asked.append(seconds)
        raise Cancelled

    meaning = Meaning("m", hangs, store, seconds=3.0)
    assert "no vector within 3 s" in meaning.near("pay back", TEXTS).problem
    meaning.near("pay back", TEXTS)
    assert len(asked) == 1
    assert asked[0] <= 3.0


def test_a_model_of_this_process_is_given_cpu_and_not_time(store):
    def waits(texts, seconds):
        time.sleep(0.3)  # for a core that others use
        return hashing.embed(texts, seconds)

    meaning = meaning_of(store, replace(hashing, embed=waits))
    assert meaning.learn([f"def part_{n}(): {'x' * CHARS}" for n in range(30)], 1.0) == (0, "")


def test_only_so_many_texts_are_compared(store, model):
    found = Meaning("m", model, store).near("pay back", [f"text {number % 9}" for number in range(MOST + 5)])
    assert len(found.alike) == MOST + 5
    assert found.alike[MOST - 1] is not None
    assert found.alike[MOST:] == [None] * 5


def test_vectors_of_two_lengths_are_not_compared(store):
    found = Meaning("m", lambda texts, seconds: [[1.0] * (2 + len(text) % 2) for text in texts], store).near(
        "ab", ["ab!", "abcd"]
    )
    assert found.alike == [None, 1.0]


def test_what_was_asked_can_be_looked_at_afterwards(store, model):
    asking = Asking(Meaning("m", model, store))
    assert asking.found is None
    assert list(asking("pay back", TEXTS)) == asking.found.alike


@pytest.fixture
def server(tmp_path):
    scenario = tmp_path / "scenario"
    scenario.mkdir()
    (scenario / "scenario.toml").write_text(
        'name = "t"\ntitle = "t"\ndescription = "d"\nmodel = "m"\nrecorded = true\n'
    )
    with FakeModelServer(scenario, tokens_per_s=0) as url:
        yield url


def test_a_model_server_gives_the_vectors_over_its_own_protocol(store, server):
    meaning = meaning_of(store, embedder_of("embedder", server))
    found = meaning.near("forecast city", TEXTS)
    meaning.close()
    assert (found.made, found.problem) == (4, "")
    assert max(found.alike) == found.alike[1] > 0.3


def test_a_server_that_is_not_there_costs_no_task(store):
    meaning = meaning_of(store, embedder_of("embedder", "http://127.0.0.1:9"))
    found = meaning.near("forecast", TEXTS)
    meaning.close()
    assert found.alike == [None, None, None]
    assert found.problem


@pytest.mark.parametrize("outside", [True, False])
def test_off_this_machine_no_secret_goes_along(store, monkeypatch, outside):
    sent = []

    class Provider:
        name, model, server, timeouts = "fake", "m", "http://elsewhere", Timeouts()

        async def embed(self, texts):
            sent.extend(texts)
            return [[1.0, 0.0] for _ in texts]

        async def aclose(self): ...

    monkeypatch.setattr("agents.memory.embedders.make_provider", lambda *_, **__: Provider())
    key = "AKIA" + "QWERTYUIOPASDFGH"
    server = "https://models.example.org" if outside else "http://127.0.0.1:1"
    meaning = meaning_of(store, embedder_of("a new one", server))
    found = meaning.near("log in", [f'key = "{key}"'])
    meaning.close()
    assert found.alike == [1.0]
    assert (key in "".join(sent)) is not outside
