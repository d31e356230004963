from lxml import etree


def rooms(request):
    tree = etree.parse("hotel.xml")
    evaluate = etree.XPathEvaluator(tree)
    floor = request.GET["floor"]
    return evaluate("//room[@floor='{}']".format(floor))
