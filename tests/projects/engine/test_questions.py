"""Questions about a project, with a real repository and a real Chroma."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.context.vectors import VectorStore
from agents.llm.base import Cancelled, LLMError, TokenUsage
from agents.memory.embedders import Embedder
from agents.memory.folder import ChromaFolder
from projects.engine import questions
from projects.errors import BadInput, NotFound
from projects.jobs import upkeep
from projects.models import Run, SiteEvent
from projects.services.memory import lessons
from projects.services.planning.deleting import delete_project
from projects.services.repositories.importing import CodeSource, import_project
from projects.storage.paths import repository_of
from tests.factories import make_project, make_run, make_user

pytestmark = pytest.mark.django_db(transaction=True)  # jobs close their connections

FILES = {
    "shop/basket.py": (
        "LIMIT = 50  # most articles that one basket holds\n\n\n"
        "class Basket:\n    def discount(self, customer):\n"
        '        """Reduce the price for regular customers."""\n        return 0.9\n\n\n'
        "def forecast(city):\n    return 'rain'\n"
    ),
    "tests/test_basket.py": "def test_regular_customers_get_a_discount():\n    assert Basket().discount(None) == 0.9\n",
    "README.md": "# Shop\n\n## Returns\n\nArticles are sent back within two weeks.\n",
}


@pytest.fixture(autouse=True)
def home(settings: Any, tmp_path: Path) -> Iterator[Path]:
    settings.AISWE_HOME = tmp_path / "home"
    lessons.store.cache_clear()
    yield settings.AISWE_HOME
    lessons.store().close()
    lessons.store.cache_clear()


@pytest.fixture
def project(enqueued: list[Any], django_user_model: Any, tmp_path: Path) -> Any:
    for path, text in FILES.items():
        file = tmp_path / "code" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    owner = django_user_model.objects.create_user("ada")
    return import_project(CodeSource(folder=tmp_path / "code"), by=owner, name="Shop").project


def rows(project: Any) -> dict[str, dict[str, Any]]:
    name = f"code.{project.slug}.{lessons.embedder().label}"
    got = lessons.store().folder.client().get_collection(name, embedding_function=None).get(include=["metadatas"])
    return {about["symbol"]: about for about in got["metadatas"] if about}


def test_code_constants_documents_and_libraries_are_found_code_before_its_test(project: Any, home: Path) -> None:
    found = questions.search(project, "How much less do regular customers pay, their discount?")
    assert next((one.path, one.symbol, one.line) for one in found.places) == ("shop/basket.py", "Basket", 4)
    assert "tests/test_basket.py" in [one.path for one in found.places]
    assert (found.answer, found.notes) == (None, [])
    [limit, *_] = questions.search(project, "What is the limit of articles in one basket?").places
    assert (limit.path, limit.line) == ("shop/basket.py", 1)
    [returns, *_] = questions.search(project, "Can articles be sent back?").places
    assert (returns.path, returns.kind, returns.symbol) == ("README.md", "document", "Shop > Returns")
    (home / "docs").mkdir(parents=True, exist_ok=True)
    (home / "docs" / "payments.md").write_text("# Payments\n\nA chargeback is answered within a week.\n")
    [place, *_] = questions.search(project, "How is a chargeback answered?").places
    assert (place.path, place.kind, place.in_repository) == ("docs/payments.md", "library", False)


def test_an_import_is_indexed_and_a_merge_costs_only_what_it_changed(project: Any, enqueued: list[Any]) -> None:
    assert ("projects.jobs.index_project", (project.pk,)) in [(name, tuple(args)) for name, args in enqueued]
    upkeep.index_project(project.pk)
    before = rows(project)
    assert before["forecast"]["path"] == "shop/basket.py"
    assert (before["forecast"]["language"], before["forecast"]["kind"]) == ("python", "code")
    repository = repository_of(project)
    base = repository.head()
    tree = repository.worktree("mine", base)
    tree.write({"shop/basket.py": FILES["shop/basket.py"].replace("'rain'", "'sun'")})
    commit = tree.commit(base, "Better weather", "", {})
    repository.fast_forward(commit)
    upkeep.index_project(project.pk, commit)
    after = rows(project)
    assert after["forecast"]["commit"] == commit
    assert after["Basket"]["commit"] == before["Basket"]["commit"] == base
    assert len(after) == len(before)


def test_a_changed_embedding_is_said_and_switches_nothing_by_itself(project: Any, monkeypatch: Any) -> None:
    upkeep.index_project(project.pk)
    other = Embedder("another model", lambda texts, seconds: [[1.0, 0.0] for _ in texts])
    monkeypatch.setattr(questions, "embedder", lambda: other)
    found = questions.search(project, "discount of customers")
    assert found.to_index
    assert "was indexed with hashing-256, and another model is in use now" in found.notes[0]
    assert found.places[0].path == "shop/basket.py"
    upkeep.index_project(project.pk)
    assert VectorStore(lessons.store().folder, project.slug, other.label).other_embedding() == "hashing-256"
    upkeep.index_project(project.pk, "", True)
    assert not questions.search(project, "discount of customers").notes


def test_a_model_that_is_away_leaves_the_words_and_says_so(project: Any, monkeypatch: Any) -> None:
    def away(texts: Any, seconds: float) -> Any:
        raise LLMError("the server is off")

    monkeypatch.setattr(questions, "embedder", lambda: Embedder("a model", away))
    found = questions.search(project, "discount of customers")
    assert found.places[0].path == "shop/basket.py"
    assert "the server is off" in " ".join(found.notes)


def test_a_process_that_does_not_own_the_memory_searches_a_copy_of_it(project: Any, monkeypatch: Any) -> None:
    upkeep.index_project(project.pk)
    owner = lessons.store()
    lessons.store.cache_clear()
    try:
        found = questions.search(project, "discount of customers")
        assert lessons.store().folder.taken
        assert (found.places[0].path, found.notes) == ("shop/basket.py", [])
        assert "Another process owns the memory" in questions.index_project(project)
    finally:
        owner.close()


def test_with_workers_a_page_takes_a_copy_and_leaves_the_memory_to_them(project: Any, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert "cannot be read" in questions.search(project, "discount of customers").notes[0]
    assert not lessons.store().folder.path.exists()
    upkeep.index_project(project.pk)  # a worker
    lessons.store().close()
    lessons.store.cache_clear()
    found = questions.search(project, "discount of customers")
    assert (found.places[0].path, found.notes) == ("shop/basket.py", [])
    assert ChromaFolder(lessons.store().folder.path).client() is not None


def test_a_deleted_project_leaves_no_vectors(project: Any, django_user_model: Any) -> None:
    upkeep.index_project(project.pk)
    slug = project.slug
    delete_project(project, by=django_user_model.objects.create_superuser("root"), named=slug)
    client = lessons.store().folder.client()
    assert not [one.name for one in client.list_collections() if slug in one.name]


class Model:
    """Replies, or raises, in place of the model; keeps what it was asked."""

    def __init__(self, reply: str | Exception) -> None:
        self.reply, self.asked = reply, ""

    def complete(self, provider: Any, messages: Any, **options: Any) -> Any:
        self.asked = json.dumps([dict(message) for message in messages], default=str)
        assert options["max_tokens"] <= 400
        if isinstance(self.reply, Exception):
            raise self.reply
        return SimpleNamespace(text=self.reply, usage=TokenUsage(900, 12, 0.5, 0.1, "coder:7b"))


class Chosen:
    """The provider that a project has chosen."""

    model, server = "coder:7b", "http://127.0.0.1:11434"


@pytest.fixture
def model(monkeypatch: Any) -> Any:
    """Have the model say something."""

    def say(reply: str | Exception) -> Model:
        made = Model(reply)
        monkeypatch.setattr(questions, "runner", lambda: made)
        monkeypatch.setattr(questions, "provider_for", lambda *_: Chosen)
        return made

    return say


def ordered(project: Any, question: str = "discount of customers") -> questions.FoundAnswer:
    found = questions.search(project, question)
    questions.order(project, question, found, by=project.memberships.first().user)
    return found


def test_what_the_model_names_comes_first_and_its_tokens_are_on_record(project: Any, model: Any) -> None:
    plain = questions.search(project, "discount of customers")
    asked = model('{"best": [2]}')
    found = ordered(project)
    assert found.places == [plain.places[1], plain.places[0], *plain.places[2:]]
    assert (found.first, found.order) == ([1], "Ordered by coder:7b.")
    assert "[2] " + found.places[0].path in asked.asked
    row = SiteEvent.objects.get(action="question.ordered")
    assert (row.subject, row.detail["model"], row.detail["prompt_tokens"]) == (project.slug, "coder:7b", 900)
    assert row.detail["completion_tokens"] == 12


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (LLMError("No server answers."), "The model did not respond (No server answers)."),
        (Cancelled(), "The model did not respond (no reply within 45 s)."),
        ("I like the first one.", "The model's reply names no place."),
        ('{"best": [77]}', "The model's reply names no place."),
    ],
)
def test_without_a_usable_reply_the_order_stays_and_says_why(project: Any, model: Any, reply: Any, why: str) -> None:
    plain = questions.search(project, "discount of customers")
    model(reply)
    found = ordered(project)
    assert (found.places, found.first) == (plain.places, ())
    assert found.order == f"{why} Ordered by words and vectors."


def test_a_model_that_works_for_a_run_is_not_held_up_by_a_question(project: Any, model: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(questions, "parallel", lambda server: 1)
    run = make_run()
    asked = model('{"best": [2]}')
    assert ordered(project).order == "The model is busy with a run. Ordered by words and vectors."
    assert not asked.asked
    Run.objects.filter(pk=run.pk).update(wait_reason="hours")
    assert ordered(project).first == [1]


def test_whoever_may_start_no_run_and_a_recording_cost_no_model_call(project: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(questions, "runner", lambda: pytest.fail("a model was asked"))
    found, stranger = questions.search(project, "discount"), make_user("stranger")
    questions.order(project, "discount", found, by=stranger)
    assert found.order == "Ordered by words and vectors."
    questions.answer(project, "discount", found, by=stranger)
    assert "does not include run.start" in found.notes[-1]
    monkeypatch.setattr(type(project), "is_recording", True)
    assert not questions.may_order(project, found, by=project.memberships.first().user)


def test_a_known_order_is_shown_again_without_a_call(project: Any) -> None:
    found = questions.search(project, "discount of customers")
    plain = list(found.places)
    questions.put_first(found, [1, 1, 500, -1], "Ordered by the model.")
    assert (found.first, found.places[:2]) == ([1], [plain[1], plain[0]])
    questions.put_first(found, [500], "Ordered by nobody.")
    assert found.order == "Ordered by the model."


def test_an_answer_is_asked_for_with_numbered_labelled_places_and_no_secret(project: Any, model: Any) -> None:
    asked = model("It returns 0.9 [1].")
    key = "AKIA" + "QWERTYUIOPASDFGH"
    question = f"How is the price reduced in the basket with {key}?"
    found = questions.search(project, question)
    questions.answer(project, question, found, by=project.memberships.first().user)
    assert found.answer == "It returns 0.9 [1]."
    assert "place=1 path=shop/basket.py lines=4-7 from=repository" in asked.asked
    assert key not in asked.asked


@pytest.mark.parametrize("reply", [LLMError("no server answers"), ""])
def test_without_an_answer_there_are_places_and_the_reason(project: Any, model: Any, reply: Any) -> None:
    model(reply)
    found = questions.search(project, "discount")
    questions.answer(project, "discount", found, by=project.memberships.first().user)
    assert found.answer is None
    assert found.notes[-1] in ("No model answered: no server answers.", "The model's answer was empty.")


def test_a_question_has_words_and_an_end_and_a_project_code(project: Any) -> None:
    for question in ("", "  ", "x" * 201):
        with pytest.raises(BadInput, match="at most 200 characters"):
            questions.search(project, question)
    with pytest.raises(NotFound, match="has no code yet"):
        questions.search(make_project("Empty"), "discount")
