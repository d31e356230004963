"""What a new version of a document changes, requirement by requirement."""

from hypothesis import given
from hypothesis import strategies as st

from agents.requirements.changes import Said, change_of, partners

ADD = Said("The user shall add a to-do with a title.", "FR-1")
DONE = Said("The user shall mark a to-do as done.", "FR-2")
SORT = Said("The list shall be sorted by date.")
words = st.sampled_from("add sort list user to-do date title done".split())
texts = st.lists(words, min_size=1, max_size=5).map(" ".join)
said = st.builds(Said, texts, st.sampled_from(["", "", "FR-1", "FR-2"]), st.lists(texts, max_size=1).map(tuple))
documents = st.lists(said, max_size=8)


def changes(old: list[Said], new: list[Said]) -> list[str]:
    """The change of each new requirement, then "removed" for each old one that is gone."""
    pairs = partners(old, new)
    found = [change_of(old[pairs[at]] if at in pairs else None, one) for at, one in enumerate(new)]
    return [*found, *(change_of(one, None) for at, one in enumerate(old) if at not in pairs.values())]


@given(documents, documents)
def test_each_requirement_is_paired_at_most_once(old: list[Said], new: list[Said]) -> None:
    pairs = partners(old, new)
    assert len(set(pairs.values())) == len(pairs)
    assert all(0 <= at < len(new) and 0 <= before < len(old) for at, before in pairs.items())


@given(documents)
def test_a_document_changes_nothing_against_itself(document: list[Said]) -> None:
    assert set(changes(document, document)) <= {"same"}


@given(documents, st.randoms())
def test_moving_requirements_about_changes_nothing(document: list[Said], random: st.DataObject) -> None:
    moved = list(document)
    random.shuffle(moved)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    assert set(changes(document, moved)) <= {"same"}


@given(documents, documents)
def test_what_is_said_in_the_same_words_is_never_added_or_removed(old: list[Said], new: list[Said]) -> None:
    pairs = partners(old, new)
    lost = [one.words for at, one in enumerate(old) if at not in pairs.values()]
    assert not {one.words for at, one in enumerate(new) if at not in pairs} & set(lost)


@given(documents, documents)
def test_case_and_spacing_are_no_change(old: list[Said], new: list[Said]) -> None:
    shouted = [Said(one.text.upper().replace(" ", "  "), one.author_key, one.acceptance) for one in new]
    assert changes(old, shouted) == changes(old, new)


def test_an_altered_requirement_is_found_by_the_id_of_its_author() -> None:
    other = Said("Titles are mandatory, and short.", "FR-1")
    assert changes([ADD, DONE], [other, DONE]) == ["altered", "same"]


def test_ids_that_move_on_do_not_alter_what_keeps_its_words() -> None:
    new = [Said("The user shall log in.", "FR-1"), Said(ADD.text, "FR-2"), Said(DONE.text, "FR-3")]
    assert partners([ADD, DONE], new) == {1: 0, 2: 1}


def test_an_altered_requirement_without_an_id_is_found_by_its_words() -> None:
    assert changes([SORT, ADD], [ADD, Said("The list shall be sorted by title.")]) == ["same", "altered"]


def test_less_alike_is_enough_where_its_neighbours_are_the_same() -> None:
    old, new = [ADD, SORT, DONE], [ADD, Said("The list is always sorted by title first."), DONE]
    assert changes(old, new) == ["same", "altered", "same"]
    assert changes(old, [ADD, DONE, new[1]]) == ["same", "same", "added", "removed"]


def test_a_new_requirement_beside_it_does_not_make_an_altered_one_another() -> None:
    altered, more = Said("The list is always sorted by title first."), Said("Users shall log in with a password.")
    assert changes([SORT], [altered, more]) == ["altered", "added"]
    assert changes([SORT], [more, altered]) == ["added", "altered"]
    assert changes([SORT, DONE], [more, altered, DONE]) == ["added", "altered", "same"]
    assert changes([SORT, DONE], [more, altered, more, DONE]) == ["added", "added", "added", "same", "removed"]


def test_different_ids_are_different_requirements() -> None:
    assert changes([ADD], [Said("The user shall add a to-do with a date.", "FR-9")]) == ["added", "removed"]


def test_another_acceptance_criterion_alters_a_requirement() -> None:
    assert changes([SORT], [Said(SORT.text, "", ("Newest first.",))]) == ["altered"]
