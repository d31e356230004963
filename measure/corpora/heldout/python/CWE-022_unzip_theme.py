import os
import zipfile


def install_theme(upload, themes_dir):
    with zipfile.ZipFile(upload) as bundle:
        for member in bundle.namelist():
            target = os.path.join(themes_dir, member)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as out:
                out.write(bundle.read(member))
