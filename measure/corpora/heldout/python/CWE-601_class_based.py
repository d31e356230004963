from django.http import HttpResponsePermanentRedirect
from django.views.generic import View


class ShortLink(View):
    def get(self, request, *args, **kwargs):
        to = request.GET.get("to")
        return HttpResponsePermanentRedirect("//" + to)
