import os

from django.http import JsonResponse
from django.views import View


class UploadView(View):
    def post(self, request):
        document = request.FILES["document"]
        folder = request.POST.get("folder", "inbox")
        destination = os.path.join("/srv/documents", folder, document.name)
        with open(destination, "wb+") as out:
            for chunk in document.chunks():
                out.write(chunk)
        return JsonResponse({"stored": document.name})
