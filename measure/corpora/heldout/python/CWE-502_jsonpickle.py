import jsonpickle
from flask import request


def restore_state():
    state = jsonpickle.decode(request.get_data(as_text=True))
    return state.summary()
