import elementpath
from flask import request
from lxml import etree


def tickets():
    root = etree.parse("tickets.xml").getroot()
    owner = request.cookies.get("owner")
    return elementpath.select(root, "//ticket[owner='" + owner + "']")
