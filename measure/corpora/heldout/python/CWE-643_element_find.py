import xml.etree.ElementTree as ElementTree

from flask import Flask, abort, request

app = Flask(__name__)


@app.get("/setting")
def setting():
    root = ElementTree.parse("settings.xml").getroot()
    key = request.args.get("key")
    node = root.find("./setting[@key='" + key + "']")
    if node is None:
        abort(404)
    return node.text or ""
