"""python -m aiswe_site.cli: the command without the installed script."""

from aiswe_site.cli import main

if __name__ == "__main__":
    main()
