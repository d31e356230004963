import os


def execute(command):
    return os.system(command)


def backup(request):
    target = request.POST.get("target")
    execute("tar czf /backups/%s.tgz /srv/data" % target)
