from flask import Flask, request
from lxml import etree

app = Flask(__name__)
USERS = etree.parse("users.xml")


@app.post("/login")
def login():
    name, word = request.form["name"], request.form["word"]
    hit = USERS.xpath("//user[name='" + name + "' and word='" + word + "']")
    return ("welcome", 200) if hit else ("no", 401)
