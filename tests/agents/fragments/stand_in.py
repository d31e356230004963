"""A stand-in for Streamlit on a local index: what the small CRM calls of it, and an AppTest that runs its script.

Tests of the flow need no 360 MB from PyPI; that the real one draws the app is tested in test_streamlit.
"""

from tests.sandbox.local_index import LocalIndex

STREAMLIT = """
from contextlib import contextmanager

session_state, shown, inputs, place = {}, [], {}, ["main"]


def _show(kind):
    def show(value=None, *more, **options):
        shown.append((place[-1], kind, value))
    return show


title, caption, header = _show("title"), _show("caption"), _show("header")
metric, info, error, success = _show("metric"), _show("info"), _show("error"), _show("success")
dataframe, set_page_config = _show("dataframe"), _show("page_config")


def radio(label, options, **more):
    shown.append((place[-1], "radio", label))
    return inputs.get("radio", options[0])


def text_input(label, *, placeholder=None):
    return ""


def number_input(label, *, min_value=0.0, step=1.0):
    return min_value


def form_submit_button(label, *, type="secondary"):
    shown.append((place[-1], "button", label))
    return inputs.pop("pressed", None) == label


def columns(number):
    class Column:
        metric = staticmethod(metric)
    return [Column() for _ in range(number)]


@contextmanager
def form(key, *, clear_on_submit=False):
    yield


class _Sidebar:
    def __enter__(self):
        place.append("sidebar")

    def __exit__(self, *error):
        place.pop()


sidebar = _Sidebar()
"""
APP_TEST = """
import runpy
import traceback

import streamlit


class _Shown:
    def __init__(self, value):
        self.value = self.message = value
        self.stack_trace = []


class _Radio:
    def __init__(self, app):
        self.app = app

    def set_value(self, value):
        streamlit.inputs["radio"] = value
        return self.app


class _Button:
    def __init__(self, app, label):
        self.app, self.label = app, label

    def click(self):
        streamlit.inputs["pressed"] = self.label
        return self.app


class AppTest:
    session_state = streamlit.session_state

    @classmethod
    def from_file(cls, path, default_timeout=3):
        app = cls()
        app.path, app.exception = path, []
        streamlit.session_state.clear()
        streamlit.inputs.clear()
        return app

    def run(self):
        streamlit.shown.clear()
        try:
            runpy.run_path(self.path, run_name="__main__")
        except Exception:
            self.exception = [_Shown(traceback.format_exc())]
        return self

    def _of(self, place, kind):
        return [_Shown(value) for where, what, value in streamlit.shown if (where, what) == (place, kind)]

    @property
    def header(self):
        return self._of("main", "header")

    @property
    def main(self):
        class Main:
            button = [_Button(self, one.value) for one in self._of("main", "button")]
        return Main

    @property
    def sidebar(self):
        class Sidebar:
            title, radio = self._of("sidebar", "title"), [_Radio(self)] * bool(self._of("sidebar", "radio"))
        return Sidebar
"""


def add_streamlit(index: LocalIndex) -> None:
    """Put the stand-in on the index."""
    files = {
        "streamlit/__init__.py": STREAMLIT,
        "streamlit/testing/__init__.py": "",
        "streamlit/testing/v1.py": APP_TEST,
    }
    index.add_wheel("streamlit", files)
