from defusedxml.ElementTree import parse
from django.http import JsonResponse

CATALOGUE = parse("catalogue.xml").getroot()


def products(request):
    category = request.GET.get("category", "")
    found = [item for item in CATALOGUE.findall(".//product") if item.get("category") == category]
    return JsonResponse({"names": [item.findtext("name") for item in found]})
