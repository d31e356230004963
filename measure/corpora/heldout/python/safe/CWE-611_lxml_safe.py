from flask import Flask, request
from lxml import etree

app = Flask(__name__)


@app.post("/invoice")
def invoice():
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(request.data, parser).findtext("total")
