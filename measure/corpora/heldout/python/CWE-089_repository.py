class UserRepository:
    def __init__(self, connection):
        self.connection = connection

    def by_email(self, email):
        query = "SELECT id, email, name FROM users"
        query += " WHERE email = '" + email + "'"
        return self.connection.cursor().execute(query).fetchone()
