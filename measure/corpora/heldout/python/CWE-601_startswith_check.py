from flask import Blueprint, redirect, request

pages = Blueprint("pages", __name__)


@pages.route("/go")
def go():
    destination = request.values.get("to", "/")
    if destination.startswith("https://shop.example"):
        return redirect(destination)
    return redirect("/")
