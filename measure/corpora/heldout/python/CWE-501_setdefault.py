from flask import request, session


def plan_view():
    plan = request.args.get("plan")
    session.setdefault("plan", plan)
    if session["plan"] == "enterprise":
        return enterprise_page()
    return starter_page()
