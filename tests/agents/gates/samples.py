"""Small programs for the gate tests: one known-bad snippet, and clean code as people write it."""

BAD = "import subprocess\n\n\ndef run(command: str) -> int:\n    return subprocess.call(command, shell=True)\n"

CLEAN_APP = '''"""A small todo service."""

import logging
import os
import secrets
import sqlite3
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from fastapi import Depends, FastAPI, HTTPException, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

app = FastAPI()
hasher = PasswordHasher()
log = logging.getLogger(__name__)
DATABASE = Path(os.environ.get("TODO_DB", "todo.db"))
UPLOADS = Path("uploads").resolve()
SECRET_KEY = os.environ["SECRET_KEY"]
TOKEN_URL = "/auth/token"
password_field = "password"
COLUMNS = "id, title, done"


class NewUser(BaseModel):
    name: str = Field(min_length=1, max_length=80)
    password: str = Field(min_length=12)


class Todo(BaseModel):
    title: str
    done: bool = False


def get_db() -> sqlite3.Connection:
    return sqlite3.connect(DATABASE)


@app.post("/users", status_code=201)
def create_user(user: NewUser, db: sqlite3.Connection = Depends(get_db)) -> dict[str, str]:
    digest = hasher.hash(user.password)
    db.execute("INSERT INTO users (name, password) VALUES (?, ?)", (user.name, digest))
    db.commit()
    log.info("user %s created", user.name)
    return {"name": user.name}


@app.post("/login")
def login(user: NewUser, response: Response, db: sqlite3.Connection = Depends(get_db)) -> dict[str, str]:
    row = db.execute("SELECT password FROM users WHERE name = ?", (user.name,)).fetchone()
    if row is None:
        raise HTTPException(status_code=401, detail="wrong name or password")
    try:
        hasher.verify(row[0], user.password)
    except VerifyMismatchError:
        raise HTTPException(status_code=401, detail="wrong name or password") from None
    token = secrets.token_urlsafe(32)
    response.set_cookie("session", token, httponly=True, secure=True, samesite="lax")
    return {"status": "ok"}


@app.get("/todos/{todo_id}")
def read_todo(todo_id: int, db: sqlite3.Connection = Depends(get_db)) -> dict[str, str]:
    row = db.execute(f"SELECT {COLUMNS} FROM todos WHERE id = ?", (todo_id,)).fetchone()
    if row is None:
        raise HTTPException(status_code=404)
    return {"title": row[1]}


@app.get("/todos")
def search(q: str = "", limit: int = 20, db: sqlite3.Connection = Depends(get_db)) -> list[str]:
    rows = db.execute("SELECT title FROM todos WHERE title LIKE ? LIMIT ?", (f"%{q}%", limit))
    return [row[0] for row in rows]


def read_many(db: sqlite3.Connection, ids: list[int]) -> list[tuple[int, str]]:
    marks = ",".join("?" for _ in ids)
    return db.execute(f"SELECT id, title FROM todos WHERE id IN ({marks})", ids).fetchall()


@app.get("/files/{name}")
def read_file(name: str) -> str:
    path = (UPLOADS / name).resolve()
    if not path.is_relative_to(UPLOADS):
        raise HTTPException(status_code=404)
    return path.read_text()


@app.get("/go/{todo_id}")
def go(todo_id: int) -> RedirectResponse:
    return RedirectResponse(f"/todos/{todo_id}")
'''

CLEAN_TESTS = '''"""Tests of the todo service."""

import subprocess
import sys

from fastapi.testclient import TestClient

from app import app

client = TestClient(app)


def test_a_user_is_created() -> None:
    answer = client.post("/users", json={"name": "ada", "password": "correct horse battery"})
    assert answer.status_code == 201
    assert answer.json() == {"name": "ada"}


def test_a_wrong_password_is_refused() -> None:
    password = "Wrong-Passw0rd"
    assert client.post("/login", json={"name": "ada", "password": password}).status_code == 401


def test_the_program_starts() -> None:
    done = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=True)
    assert done.stdout == b"1\\n"
'''

CLEAN_FUNCTIONS = '''"""Small exercises."""

import hashlib
import math
import random
from collections import Counter


def has_close_elements(numbers: list[float], threshold: float) -> bool:
    ordered = sorted(numbers)
    return any(b - a < threshold for a, b in zip(ordered, ordered[1:], strict=False))


def is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def longest_word(text: str) -> str:
    return max(text.split(), key=len, default="")


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def shuffle_deck(size: int) -> list[int]:
    deck = list(range(size))
    random.shuffle(deck)
    return deck


def tokens(text: str) -> Counter[str]:
    token_count = Counter(text.lower().split())
    return token_count
'''

CLEAN_PAGE = """<!doctype html>
<title>Todos</title>
<ul id="list">{% for todo in todos %}<li>{{ todo.title }}</li>{% endfor %}</ul>
<script>
  const list = document.getElementById("list");
  list.addEventListener("click", (event) => { event.target.textContent = "done"; });
</script>
"""

CLEAN_DOCKERFILE = """FROM python:3.12.4-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
RUN useradd --create-home app
COPY . /srv
USER app
CMD ["python", "-m", "app"]
"""
