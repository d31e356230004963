import xml.etree.ElementTree as ET

from django.http import JsonResponse

CATALOGUE = ET.parse("catalogue.xml").getroot()


def products(request):
    category = request.GET.get("category", "")
    found = CATALOGUE.findall(".//product[@category='%s']" % category)
    return JsonResponse({"names": [item.findtext("name") for item in found]})
