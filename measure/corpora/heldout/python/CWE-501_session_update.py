from flask import Blueprint, request, session

preferences = Blueprint("preferences", __name__)


@preferences.post("/preferences")
def save():
    session.update(request.form.to_dict())
    return "", 204
