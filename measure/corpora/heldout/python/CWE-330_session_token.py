import random


def new_session_token():
    return "%032x" % random.getrandbits(128)
