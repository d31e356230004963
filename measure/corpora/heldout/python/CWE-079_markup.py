from flask import render_template, request
from markupsafe import Markup


def comment():
    text = Markup("<p>%s</p>" % request.form["text"])
    return render_template("comment.html", text=text)
