"""The tables of the shell rules."""

from functools import partial

from agents.firewall.base import names_in, pattern_in, table

rules = partial(table, "shell/rules.toml")
names = partial(names_in, "shell/rules.toml")
pattern = partial(pattern_in, "shell/rules.toml")
