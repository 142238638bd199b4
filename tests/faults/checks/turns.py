"""Whether all that came for a lock got their turn, once, or heard that their time was over. Whether
those who came for more turns got them by turns."""

from typing import Any

PASSED_OVER = 4  # More than one grant in so many out of turn is no chance.


def violations(events: list[dict[str, Any]], patient: Any, impatient: Any, killed: Any) -> Any:
    """One line each. The three are names of processes; a killed one may have got anything."""
    heard = {}
    for event in events:
        if event["event"] in ("grant", "busy", "error"):
            heard.setdefault(event["process"], []).append(event)
    wrong = []
    for name in sorted(set(patient) | set(impatient)):
        kinds = [event["event"] for event in heard.get(name, [])]
        if kinds == ["error"] and heard[name][0]["code"].startswith("not applied"):
            kinds = ["no answer"]  # Of the store, before the time was over.
        good = (["grant"],) if name in patient else (["grant"], ["busy"], ["no answer"])
        if kinds not in good:
            wrong.append(f"{name} heard {heard.get(name, 'nothing')}")
    both = set(killed) & (set(patient) | set(impatient))
    return wrong + [f"{name} was not to be killed" for name in sorted(both)]


def unfair(events: list[dict[str, Any]], names: Any, turns: int) -> Any:
    """One line each: who had two turns more than one that waited, if that was often, and who had not so
    many turns. A waiter that is slow to come at its turn is passed over (R17), which is no fault."""
    had = dict.fromkeys(names, 0)
    wrong = []
    grants = [event for event in events if event["event"] == "grant" and event["process"] in had]
    for event in sorted(grants, key=lambda event: event["at"]):
        name = event["process"]
        least = min(had, key=had.__getitem__)
        if had[name] > had[least]:
            wrong.append(f"{name} had its turn {had[name] + 1} before {least} had {had[least] + 1}")
        had[name] += 1
    if len(wrong) <= max(2, len(grants) // PASSED_OVER):
        wrong = []
    return wrong + [f"{name} had {count} turns instead of {turns}"
                    for name, count in sorted(had.items()) if count != turns]
