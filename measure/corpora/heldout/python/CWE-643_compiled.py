from flask import request
from lxml import etree


def balance(document):
    account = request.args["account"]
    find = etree.XPath("//account[@id=" + account + "]/balance/text()")
    return find(document)
