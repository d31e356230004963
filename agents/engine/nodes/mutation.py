"""Mutation check: small mistakes are put into code that just passed; tests that notice none are sent back."""

from __future__ import annotations

from agents.checks.compose_services import with_services
from agents.engine.contracts import Runtime, TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.rebuilt import decided_by_build
from agents.engine.nodes.verify import REWARD_LINT, close_attempt, write_candidate
from agents.engine.state import Candidate, TaskState, key_of
from agents.events.effects import EffectAnnounced, MutationChecked
from agents.languages.registry import language_of_task
from agents.mutation.check import Result, check, mutants_of

SHOWN = 5  # survivors that the tester is shown


def due(state: TaskState, ctx: TaskContext) -> bool:
    """True for tests that a persona wrote and that were not checked yet; given ones are nobody's to change."""
    if "mutation" in ctx.switched_off or state["task"].get("tests_given") or decided_by_build(state):
        return False
    return not state["candidate"]["mutation"].get("done")


def mutate(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Run mutants of the changed lines against the task's tests; "weak" once when not one is noticed."""
    ctx, candidate, used = runtime.context, state["candidate"], state["counters"]
    files, known = candidate["files"], candidate["mutation"]
    base = {path: text for path in files if (text := ctx.repository.read(state["base"], path)) is not None}
    found = mutants_of(files, base, seed=state["task"]["key"])
    done: TaskState = {"verdict": "pass", "candidate": {"mutation": known | {"done": True}}}
    if not found:  # nothing that can be got wrong in small: data, pages, plain constants
        return done
    tree = write_candidate(state, ctx)
    key, number = key_of(state, "mutation"), used["attempt"]
    announcement = EffectAnnounced(
        summary=f"tries up to {len(found)} small mistakes …", role="tester", effect="mutation", mutants=len(found)
    )
    with effect(ctx.event_log, announcement, key=key, attempt=number):
        sandbox = ctx.sandbox(candidate["packages"])
        sandbox.mirror(tree.path)
        language = language_of_task(state["task"])
        setup = with_services(ctx.test_setup, tree.path)
        result = check(language, sandbox, found, files, list(candidate["tests"]), setup, _took(candidate))
    ctx.event_log.emit(mutation_checked(result), attempt=number, key=key)
    done["candidate"]["mutation"] |= {"remark": result.one_sided or partly_noticed(result), "attempt": number}
    again = result.blind and not known.get("rounds") and used["iteration"] < ctx.limits.max_iterations
    if not again:
        return done
    close_attempt(state, ctx, candidate["report"], "rejected", REWARD_LINT, tree.diff(state["base"]))
    survivors = [mutant.diff for mutant in result.survivors[:SHOWN]]
    return {"verdict": "weak", "candidate": {"mutation": {"rounds": 1, "survivors": survivors}}}


def _took(candidate: Candidate) -> float:
    """Seconds of computing in which the tests passed; time in which they waited does not count against a limit."""
    return float(candidate["report"].get("cpu_seconds") or 0.0)


def partly_noticed(result: Result) -> str:
    """A sentence for the reviewer where the tests let some mistakes through, with their places."""
    if result.noticed == result.ran or not result.survivors:
        return ""
    places = ", ".join(dict.fromkeys(f"{one.path}:{one.line}" for one in result.survivors[:SHOWN]))
    return (
        f"Of {result.ran} small mistakes put into the change, {result.noticed} were noticed; not those near {places}."
    )


def mutation_checked(result: Result) -> MutationChecked:
    """How many small mistakes the tests noticed."""
    number = f"{result.noticed} of {result.ran} small mistakes"
    return MutationChecked(
        summary=f"The tests notice {number}" if result.ran else "No small mistake could be tried in time",
        outcome="fail" if result.blind else "ok",
        duration_ms=int(result.seconds * 1000),
        effect="mutation",
        mutants=result.ran,
        noticed=result.noticed,
        survived=[{"path": mutant.path, "diff": mutant.diff} for mutant in result.survivors[:SHOWN]],
        seconds=round(result.seconds, 2),
    )
