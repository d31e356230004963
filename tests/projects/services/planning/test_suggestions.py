import pytest

from agents.requirements.second_reading import DOUBTS
from projects.errors import IllegalMove
from projects.services.planning import documents, suggestions
from tests.factories import make_document, owner_of

pytestmark = pytest.mark.django_db


def test_what_the_model_reads_as_asked_for_is_accepted_at_once_and_nothing_else():
    document = make_document(confirmed=False)
    read = {"text": "t", "kind": "functional", "lines": [3, 3], "origin": "inferred", "reason": "The model reads it."}
    rows = {
        "R1": {"origin": "explicit", "reason": ""},
        "READ": {},
        "LACKING": {"lines": [0, 0]},
        "DOUBTED": {"reason": DOUBTS[0]},
        "EXCLUDED": {"kind": "non_goal"},
        "IMPLIED": {"origin": "implied"},
    }
    documents.record_extraction(document, [{**read, "key": key, **more} for key, more in rows.items()], [])
    assert suggestions.accept_read(document, by=owner_of(document.project)) == 1
    assert [row.key for row in document.requirements.filter(status="accepted")] == ["READ"]
    documents.confirm_requirements(document, by=owner_of(document.project))
    with pytest.raises(IllegalMove, match="is confirmed"):
        suggestions.accept_read(document, by=owner_of(document.project))
