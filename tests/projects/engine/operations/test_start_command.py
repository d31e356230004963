"""How an application is started, from its files."""

import pytest

from projects.engine.operations.start_command import start_command, words_of
from tests.tables import each_row

UVICORN = ("--host", "127.0.0.1", "--port", "8000")


@each_row(
    ("files", "words"),
    [
        (
            {"Procfile": "release: x\nweb: gunicorn app:app -b :$PORT\n", "main.py": "app = FastAPI()"},
            "gunicorn app:app -b :8000",
        ),
        ({"manage.py": ""}, "python manage.py runserver --noreload 127.0.0.1:8000"),
        (
            {"shop/main.py": "api: FastAPI = FastAPI(title='x')\n"},
            "python -m uvicorn shop.main:api --host 127.0.0.1 --port 8000",
        ),
        (
            {"src/shop/__init__.py": "app = Starlette()\n"},
            "python -m uvicorn shop:app --app-dir src --host 127.0.0.1 --port 8000",
        ),
        (
            {"web.py": "site = flask.Flask(__name__)\n"},
            "python -m flask --app web:site run --host 127.0.0.1 --port 8000",
        ),
        (
            {"tests/test_a.py": "app = FastAPI()", "serve.py": "if __name__ == '__main__':\n    s.serve_forever()"},
            "python serve.py",
        ),
        ({"lib.py": "X = 1", "test_app.py": "app = FastAPI()"}, ""),
        ({}, ""),
    ],
)
def test_the_files_tell_how_it_is_started(files: dict[str, str], words: str) -> None:
    assert " ".join(start_command(list(files), lambda path: files.get(path, ""))) == words


def test_a_command_is_words_and_never_a_shell_line() -> None:
    assert words_of("run --port ${PORT:-5000} 'a b' ; rm -rf /") == (
        "run",
        "--port",
        "8000",
        "a b",
        ";",
        "rm",
        "-rf",
        "/",
    )
    with pytest.raises(ValueError, match="No closing quotation"):
        words_of("run 'x")
