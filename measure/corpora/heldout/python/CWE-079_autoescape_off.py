from jinja2 import Environment, FileSystemLoader

environment = Environment(loader=FileSystemLoader("templates"), autoescape=False)


def page(request):
    return environment.get_template("profile.html").render(bio=request.args["bio"])
