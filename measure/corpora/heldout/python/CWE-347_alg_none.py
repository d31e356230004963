import jwt


def read_token(token, key):
    return jwt.decode(token, key, algorithms=["HS256", "none"])
