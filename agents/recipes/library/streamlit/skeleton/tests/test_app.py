"""The app as Streamlit draws it."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

APP = Path(__file__).parent.parent / "app.py"


def test_the_app_starts_without_an_error() -> None:
    app = AppTest.from_file(str(APP), default_timeout=120).run()
    assert not app.exception
    assert [title.value for title in app.title] == ["__NAME__"]
