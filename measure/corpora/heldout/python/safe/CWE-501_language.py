from flask import Flask, redirect, request, session

app = Flask(__name__)
LANGUAGES = ("en", "de", "fr")


@app.post("/language")
def set_language():
    wanted = request.form.get("language")
    session["language"] = wanted if wanted in LANGUAGES else "en"
    return redirect("/")
