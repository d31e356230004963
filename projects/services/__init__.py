"""The doors: every change of the truth goes through one of these verbs."""
