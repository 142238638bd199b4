"""Judges what `distlock list --json` says of a mirrored store: which members are there, and whether
each of them has the holds that it should have.

    tools/python examples.balancer.members --self-test  judges listings whose faults are known
"""

import sys
from collections.abc import Collection, Iterator
from typing import Any


def hold_of(listing: dict[str, Any], name: str) -> Any:
    """The lock of that name, if it is taken."""
    return next((lock for lock in listing["locks"]
                 if lock["name"] == name and lock.get("state") == "taken"), None)


def faults_of(listing: dict[str, Any], holds: dict[str, Any], away: Collection[int] = ()) -> Iterator[str]:
    """A line for each difference from this: the members of `away` are away, the others count and lack
    nothing, and the `holds` are on all of them. A hold is a name and its `ts`, or None for any."""
    here = [member["member"] for member in listing["members"] if member["member"] not in away]
    for member in listing["members"]:
        number, state = member["member"], member["state"]
        if number in away and state != "away":
            yield f"member {number} is not away but {state}"
        elif number in here and state != "counts":
            yield f"member {number} is {state}"
        elif member["lacks"]:
            yield f"member {number} lacks {member['lacks']} of the holds"
    for name, ts in holds.items():
        hold = hold_of(listing, name)
        if hold is None or ts not in (None, hold["ts"]):
            yield f"the hold of {name} is gone"
        elif hold["members"] != here:
            yield f"{name} is on the members {hold['members']}, not on {here}"


def _listing(states: list[str], **holds: Any) -> dict[str, Any]:
    """Of members with these states, and of holds by name, on these members."""
    lacks = [sum(state == "counts" and number not in on for on in holds.values())
             for number, state in enumerate(states, 1)]
    return {"locks": [{"name": name, "state": "taken", "ts": "1", "members": on}
                      for name, on in holds.items()],
            "members": [{"member": number, "state": state, "lacks": lacks[number - 1]}
                        for number, state in enumerate(states, 1)]}


def self_test() -> None:
    up = ["counts"] * 3
    one_away = ["counts", "away", "counts"]
    sound = [(_listing(up, backup=[1, 2, 3]), ()), (_listing(one_away, backup=[1, 3]), (2,))]
    for listing, away in sound:
        assert not list(faults_of(listing, {"backup": "1"}, away)), listing
        assert not list(faults_of(listing, {"backup": None}, away)), listing
        assert list(faults_of(listing, {"backup": "2"}, away)) == ["the hold of backup is gone"]
        assert list(faults_of(listing, {"other": None}, away)) == ["the hold of other is gone"]

    planted = {
        "member 2 is away": _listing(one_away, backup=[1, 3]),
        "member 2 is kept_out": _listing(["counts", "kept_out", "counts"], backup=[1, 3]),
        "member 2 lacks 1 of the holds": _listing(up, backup=[1, 3]),
    }
    for fault, listing in planted.items():
        assert list(faults_of(listing, {"backup": "1"})) == [
            fault, "backup is on the members [1, 3], not on [1, 2, 3]"], listing
    assert list(faults_of(_listing(up, backup=[1, 2, 3]), {}, (2,))) == [
        "member 2 is not away but counts"]
    free = _listing(up, backup=[1, 2, 3])
    free["locks"][0]["state"] = "free"
    assert list(faults_of(free, {"backup": "1"})) == ["the hold of backup is gone"]


if __name__ == "__main__":
    if sys.argv[1:] != ["--self-test"]:
        sys.exit(__doc__.strip())
    self_test()
    print("of a listing of members every planted fault is found, and no other")
