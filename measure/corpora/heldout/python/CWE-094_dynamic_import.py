import importlib

from flask import request


def render_widget():
    module = importlib.import_module(request.args["widget"])
    return module.render(request.args)
