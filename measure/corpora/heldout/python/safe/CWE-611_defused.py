from defusedxml import minidom


def import_contacts(request):
    document = minidom.parseString(request.body)
    return [node.firstChild.data for node in document.getElementsByTagName("name")]
