import hashlib


def hash_password(password: str, salt: str) -> str:
    return hashlib.sha256((salt + password).encode()).hexdigest()


def verify(user, password):
    return user.password_hash == hash_password(password, user.salt)
