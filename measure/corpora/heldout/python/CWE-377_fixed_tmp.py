def lock(pid):
    with open("/tmp/myapp.pid", "w") as handle:
        handle.write(str(pid))
