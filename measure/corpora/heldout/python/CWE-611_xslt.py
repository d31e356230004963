from flask import request
from lxml import etree


def transform(document):
    stylesheet = etree.fromstring(request.files["xsl"].read())
    return str(etree.XSLT(stylesheet)(document))
