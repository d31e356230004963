from flask import Flask, request
from lxml import etree

app = Flask(__name__)
CATALOGUE = etree.parse("catalogue.xml", etree.XMLParser(resolve_entities=False, no_network=True))


@app.get("/product")
def product():
    hit = CATALOGUE.xpath("//product[@id=$id]", id=request.args["id"])
    return (hit[0].findtext("name"), 200) if hit else ("none", 404)
