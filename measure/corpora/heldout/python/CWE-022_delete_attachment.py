import os

from flask import Flask, redirect, request

app = Flask(__name__)


@app.route("/attachments/delete", methods=["POST"])
def delete_attachment():
    filename = request.form["filename"]
    os.unlink("uploads/" + filename)
    return redirect("/attachments")
