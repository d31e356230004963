from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404

from .models import Tenant


@login_required
def choose_tenant(request):
    tenant = get_object_or_404(Tenant, pk=request.POST["tenant"], members=request.user)
    request.session["tenant_id"] = tenant.pk
    return HttpResponse("ok")
