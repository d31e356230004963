import os

from flask import Flask, redirect, request
from werkzeug.utils import secure_filename

app = Flask(__name__)


@app.route("/attachments/delete", methods=["POST"])
def delete_attachment():
    filename = secure_filename(request.form["filename"])
    os.unlink(os.path.join("uploads", filename))
    return redirect("/attachments")
