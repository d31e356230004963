import hashlib


def store_password(user, password):
    user.password = hashlib.md5(password.encode()).hexdigest()
    user.save()
