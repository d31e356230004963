from django.shortcuts import render
from django.utils.safestring import mark_safe


def preview(request):
    body = mark_safe("<article>" + request.POST.get("body", "") + "</article>")
    return render(request, "preview.html", {"body": body})
