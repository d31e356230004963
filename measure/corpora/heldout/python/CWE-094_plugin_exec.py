def run_hook(request):
    source = request.POST["hook"]
    scope = {}
    exec(compile(source, "<hook>", "exec"), scope)
    return scope.get("result")
