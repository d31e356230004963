from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

hasher = PasswordHasher()


def store_password(user, password):
    user.password = hasher.hash(password)
    user.save()


def check(user, password):
    try:
        return hasher.verify(user.password, password)
    except VerifyMismatchError:
        return False
