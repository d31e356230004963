import hashlib
import time


def reset_token(email):
    return hashlib.sha1((email + str(time.time())).encode()).hexdigest()
