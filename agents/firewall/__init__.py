"""The semantic firewall: every command, path, piece of code and reply of an agent is judged before it has an effect."""
