import shutil

from flask import request


def register(app):
    @app.post("/templates/clone")
    def clone():
        source = request.json["source"]
        target = request.json["target"]
        shutil.copyfile("templates/" + source, "templates/" + target)
        return {"ok": True}
