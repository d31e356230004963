"""What requirements imply: by rules, with a reason, and only where nothing says it already."""

import pytest

from agents.requirements.extract import extract
from agents.requirements.implicit import imply
from agents.requirements.model import KINDS
from tests.tables import each_row


def implied(text: str) -> dict[str, str]:
    return {i.key: i.because_of for i in imply(extract(text).requirements)}


def test_a_login_implies_hashing_sessions_cookies_and_throttling() -> None:
    found = implied("## Features\nFR-1: Notes are listed.\n\nFR-2: Users log in with a password.\n")
    assert found == {
        "IMP-PASSWORD-HASHING": "R2",
        "IMP-SESSION-MANAGEMENT": "R2",
        "IMP-SECURE-COOKIES": "R2",
        "IMP-SIGN-IN-THROTTLING": "R2",
    }


def test_what_the_document_says_itself_is_not_implied() -> None:
    found = implied("## Features\nFR-1: Users log in.\n\nFR-2: Passwords are hashed with argon2.\n")
    assert "IMP-PASSWORD-HASHING" not in found
    assert "IMP-SESSION-MANAGEMENT" in found


@each_row(
    ("sentence", "key"),
    [
        ("Users pay by credit card.", "IMP-PAYMENT-INTEGRITY"),
        ("Users upload pictures.", "IMP-UPLOAD-SAFETY"),
        ("The e-mail address of each guest is kept.", "IMP-PERSONAL-DATA"),
        ("The system sends emails after an order.", "IMP-EMAIL-DELIVERY"),
        ("A REST API lists orders.", "IMP-INPUT-VALIDATION"),
        ("Admins ban users.", "IMP-ACCESS-CONTROL"),
        ("Users delete notes.", "IMP-DESTRUCTIVE-CONFIRMATION"),
        ("Guests pick a time slot.", "IMP-TIME-ZONES"),
    ],
)
def test_each_trigger_implies_its_requirement(sentence: str, key: str) -> None:
    found = {i.key: i for i in imply(extract(f"## Features\nFR-1: {sentence}\n").requirements)}
    assert found[key].because_of == "R1"
    assert found[key].reason
    assert found[key].origin == "implied"
    assert found[key].kind in KINDS


@each_row(
    ("by_chance", "meant", "key"),
    [
        (
            "Each invoice file is renamed after its number.",
            "An invoice adds up the price of all items.",
            "MONEY-PRECISION",
        ),
        ("The total cost of a path is minimal.", "The total cost is the price times the count.", "MONEY-PRECISION"),
        ("Lines that begin with # are comments.", "Readers see the comments of others.", "OUTPUT-ESCAPING"),
        ("It counts the words of an HTML page.", "A web page shows what users wrote.", "OUTPUT-ESCAPING"),
        ("A random password of 16 characters is printed.", "Users choose a password.", "PASSWORD-HASHING"),
        ("The command lists all cookie recipes.", "A cookie keeps the session.", "SECURE-COOKIES"),
        ("Private methods are left out of the index.", "A note of a user is private.", "ACCESS-CONTROL"),
        ("The file permissions are copied.", "Members have permissions.", "ACCESS-CONTROL"),
        ("The tool runs git checkout.", "Customers go to the checkout.", "PAYMENT-INTEGRITY"),
        ("The endpoints of an interval count.", "The API has an endpoint for orders.", "INPUT-VALIDATION"),
        ("Each line shows the file name.", "The file name is given as an argument.", "PATH-SAFETY"),
        ("Third-party imports are sorted last.", "A third-party service geocodes.", "OUTBOUND-CALLS"),
        ("It makes a scrapbook of the notes.", "It scrapes the prices.", "OUTBOUND-CALLS"),
        ("Deleted lines are red.", "A command deletes notes.", "DESTRUCTIVE-CONFIRMATION"),
        ("It tells the calendar week.", "Events stand in a calendar.", "TIME-ZONES"),
    ],
)
def test_a_word_that_means_something_else_implies_nothing(by_chance: str, meant: str, key: str) -> None:
    assert f"IMP-{key}" not in implied(f"## Features\nFR-1: {by_chance}\n")
    assert f"IMP-{key}" in implied(f"## Features\nFR-1: {meant}\n")


@pytest.mark.parametrize(
    "text",
    [
        "## Features\n- The app works without login.\n",
        "## Features\n- There is no password.\n",
        "## Out of scope\n- Users log in with a password.\n",
        "## Features\n- The plural form is right and licenses are registered.\n",
    ],
)
def test_what_is_denied_or_excluded_implies_nothing(text: str) -> None:
    assert implied(text) == {}


def test_a_written_key_is_never_taken() -> None:
    text = "## Features\nIMP-SESSION-1: Users log in.\n\nIMP-SESSION-2: Users log in.\n"
    requirements = extract(text).requirements
    keys = [r.key for r in requirements] + [i.key for i in imply(requirements)]
    assert len(keys) == len(set(keys)) > 2
