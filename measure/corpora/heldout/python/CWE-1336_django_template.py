from django.http import HttpResponse
from django.template import Context, Engine


def banner(request):
    template = Engine.get_default().from_string(request.GET["text"])
    return HttpResponse(template.render(Context({"settings": load_settings()})))
