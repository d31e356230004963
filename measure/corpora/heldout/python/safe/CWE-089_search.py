import sqlite3

from flask import Flask, jsonify, request

app = Flask(__name__)


@app.get("/search")
def search():
    term = request.args.get("q", "")
    with sqlite3.connect("shop.db") as db:
        rows = db.execute("SELECT id, name FROM products WHERE name LIKE ?", (f"%{term}%",)).fetchall()
    return jsonify(rows)
