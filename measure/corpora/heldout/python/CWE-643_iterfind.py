import xml.etree.ElementTree as ET

from bottle import request, route


@route("/orders")
def orders():
    root = ET.parse("orders.xml").getroot()
    state = request.query.state
    return {"ids": [order.get("id") for order in root.iterfind("order[@state='" + state + "']")]}
