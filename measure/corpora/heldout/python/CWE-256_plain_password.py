import sqlite3


def register(name, password):
    with sqlite3.connect("app.db") as db:
        db.execute("INSERT INTO users (name, password) VALUES (?, ?)", (name, password))


def login(name, password):
    with sqlite3.connect("app.db") as db:
        row = db.execute("SELECT password FROM users WHERE name = ?", (name,)).fetchone()
    return row is not None and row[0] == password
