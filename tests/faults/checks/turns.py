"""Whether all that came for a lock got their turn, once, or heard that their time was over."""

from typing import Any


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
