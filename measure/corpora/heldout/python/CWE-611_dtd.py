from lxml import etree


def validate(request):
    parser = etree.XMLParser(load_dtd=True, dtd_validation=True)
    return etree.parse(request.FILES["file"], parser)
