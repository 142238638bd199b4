"""Whether what lock_try() and unlock() said is what is stored, and how soon they knew."""

from collections.abc import Iterator
from typing import Any

FURTHER = 2  # Commands that it may take to find out what became of one.
UNKNOWN, NOT_APPLIED = "outcome unknown", "not applied"
# After these another connection can be made at once, so that there is time to find out.
WORKS_AGAIN = ("lost request", "cut request", "lost reply", "cut reply", "half-closed")


def said(answer: Any) -> Any:
    """In a word or two."""
    return (answer.get("result") or answer.get("code") or answer["event"]).partition(",")[0]


def fault_of(plan: Any, scenario: Any) -> str:
    """The name under which the figures count it."""
    if len(plan) > 1:
        number = "two" if len(plan) == 2 else "three"
        return f"{number} at once at a {plan[0].kind}"
    if plan[0].kind not in ("claim", "release"):
        return "of another command"
    first = " of a lock without a document" if scenario == "first" else ""
    return f"{plan[0].deed} of a {plan[0].kind}{first}"


def never_found_out(plan: Any, told: Any, *, absent: Any) -> Any:
    """Whether nobody learned what became of the claim or release that the plan did something to,
    after which the network worked again: at once, or after one more command. `told`: what was said
    in all attempts. Of a request for a lock whose document is `absent` it cannot be known that it
    will not come yet."""
    found_out = {one.lower() for one in told} - {UNKNOWN, "pending"}
    if len(plan) > FURTHER or found_out or (absent and plan[0].deed.endswith("request")):
        return False
    return plan[0].kind in ("claim", "release") and plan[0].deed in WORKS_AGAIN


def ours(stored: Any, process: str) -> Any:
    return stored is not None and stored["state"] != 0 and stored["process"] == process


def violations(answer: Any, before: Any, stored: Any, process: str, commands: Any) -> Any:
    """One line each. `before` and `stored`: the lock's document; `commands`: (kind, what was done to
    it) of the attempt."""
    kind = answer["event"]
    if kind == "grant":
        wrong = [] if ours(stored, process) and stored["ts"] == answer["ts"] else [
            f"said to be granted {answer['ts']}, and stored is {stored}"]
    elif kind == "error":
        wrong = _of_error(answer, before, stored, process)
    elif kind == "busy" or answer["result"] != "pending":
        said = answer.get("result", kind)
        wrong = [f"{said}, and it is held all the same: {stored}"] if ours(stored, process) else []
        if said == "released" and stored["ts"] != before["ts"]:
            wrong.append(f"another hold was released: {stored} after {before}")
    else:
        wrong = []
    return wrong + list(_of_further(commands))


def _of_error(answer: Any, before: Any, stored: Any, process: str) -> Any:
    if UNKNOWN in answer["code"].lower():
        return []  # Whether it is freed is seen by who gets it next.
    if ours(stored, process) and not ours(before, process):
        return [f"{answer['code']}, and it is held all the same: {stored}"]
    if NOT_APPLIED in answer["code"].lower() and stored != before:
        return [f"{answer['code']}, and {before} has become {stored}"]
    return []


def _of_further(commands: Any) -> Iterator[Any]:
    kinds = [kind for kind, _ in commands]
    for number, (kind, deed) in enumerate(commands):
        if deed is None or kind not in ("claim", "release"):
            continue
        after = kinds[number + 1:]
        further = after.count("release")
        if kind == "claim":
            further = after.count("look")
            if "claim" in after:
                # It was found out before, and the new attempt began with looks as the first did.
                own = max(1, kinds[:kinds.index("claim")].count("look"))
                further = after[:after.index("claim")].count("look") - own
        if further > FURTHER:
            yield f"{further} further commands after the {deed} of a {kind}: {commands}"
