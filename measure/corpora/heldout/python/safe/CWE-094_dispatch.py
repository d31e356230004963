from collections.abc import Callable

ACTIONS: dict[str, Callable[[int], int]] = {"double": lambda x: 2 * x, "square": lambda x: x * x}


def dispatch(request):
    action = ACTIONS.get(request.GET.get("action", ""))
    return action(3) if action else None
