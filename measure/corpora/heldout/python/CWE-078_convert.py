import subprocess


def thumbnail(request):
    name = request.FILES["image"].name
    subprocess.run(f"convert /tmp/{name} -resize 100x100 /tmp/thumb_{name}", shell=True, check=True)
