"""The git repository of a project and the worktrees that tasks are built in."""
