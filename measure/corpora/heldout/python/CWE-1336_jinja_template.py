from jinja2 import Template


def mail_body(request):
    template = Template(request.POST["template"])
    return template.render(user=request.user)
