"""Applications that stay up: where one version of a project runs, is watched and is stopped."""
