import sqlite3


class UserRepository:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def by_email(self, email: str) -> tuple[int, str] | None:
        query = "SELECT id, name FROM users"
        query += " WHERE email = ?"
        return self.connection.execute(query, (email,)).fetchone()

    def by_ids(self, ids: list[int]) -> list[tuple[int, str]]:
        marks = ", ".join("?" for _ in ids)
        return self.connection.execute("SELECT id, name FROM users WHERE id IN (" + marks + ")", ids).fetchall()
