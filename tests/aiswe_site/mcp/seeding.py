"""Fill a new data folder for a server in a process of its own; prints what tests need to know of it as JSON.

python -m tests.aiswe_site.mcp.seeding, with AISWE_HOME set.
"""

from __future__ import annotations

import json
import sys

from aiswe_site.startup.django import start


def main() -> None:
    """Tell the story of two projects, and make tokens for the people in it."""
    start()
    from projects.services.accounts import api_tokens
    from tests.dashboard.story import add_code, tell
    from tests.factories import make_user

    story = tell(make_user("ada"))
    add_code(story)
    make_user("root", superuser=True)
    people = {
        "ada": (story.owner, list(api_tokens.SCOPES)),
        "reader": (story.owner, ["read"]),
        "starter": (story.owner, ["read", "write", "run"]),
        "viewer": (make_user("eve", role="viewer", project=story.project), list(api_tokens.SCOPES)),
        "stranger": (make_user("sue"), list(api_tokens.SCOPES)),
        "leaver": (story.owner, ["read"]),
    }
    tokens = {
        name: api_tokens.make_token(user, name=name, scopes=scopes, days=1)[1]
        for name, (user, scopes) in people.items()
    }
    known = {
        "tokens": tokens,
        "run": story.run.pk,
        "approval": story.approval.pk,
        "plan": story.waiting_plan.pk,
        "hash": story.waiting_plan.content_hash,
    }
    sys.stdout.write(json.dumps(known))


if __name__ == "__main__":
    main()
