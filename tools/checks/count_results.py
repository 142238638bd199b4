"""Adds up what tools/test collected in a folder: ctest's JUnit reports, and a NAME.missing for each
layer that left none. Says what failed, with the end of its output, and what was skipped, and why; the
last line is the sum."""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any

LINES_SHOWN = 20


def judge(case: Any) -> tuple[str, str]:
    """('passed' | 'failed' | 'skipped', why) of one testcase."""
    status = case.get("status")
    if status == "run":
        return "passed", ""
    skipped = case.find("skipped")
    why = skipped.get("message", "") if skipped is not None else ""
    # ctest says "notrun" also of a test whose program is not there or whose fixture failed.
    if status == "disabled" or (status == "notrun" and why.startswith("SKIP_")):
        return "skipped", why or status
    return "failed", why


def end_of_output(case: Any) -> str:
    lines = (case.findtext("system-out") or "").strip().splitlines()
    return "\n".join(f"  {line}" for line in lines[-LINES_SHOWN:])


def count(report: Any) -> Any:
    """The outcomes of one report: a list of (verdict, layer and test, why, end of its output)."""
    layer = report.stem
    cases = ElementTree.parse(report).getroot().findall("testcase")
    if not cases:
        return [("failed", layer, "no test ran in this layer", "")]
    outcomes = []
    for case in cases:
        verdict, why = judge(case)
        outcomes.append((verdict, f"{layer}: {case.get('name')}", why, end_of_output(case)))
    return outcomes


def main(folder: pathlib.Path) -> int:
    outcomes = []
    for report in sorted(folder.glob("*.xml")):
        outcomes += count(report)
    for missing in sorted(folder.glob("*.missing")):
        outcomes.append(("failed", missing.stem, missing.read_text().strip(), ""))
    for verdict, test, _, output in outcomes:
        if verdict == "failed" and output:
            print(f"\n== the end of what {test} printed\n{output}")
    print()
    for verdict in ("skipped", "failed"):
        for _, test, why, _ in (outcome for outcome in outcomes if outcome[0] == verdict):
            print(f"{verdict.upper()}: {test}" + (f": {why}" if why else ""))
    number = {v: sum(o[0] == v for o in outcomes) for v in ("passed", "failed", "skipped")}
    skipped = f", {number['skipped']} skipped" if number["skipped"] else ""
    print(f"{number['passed']} passed, {number['failed']} failed{skipped}")
    return 0 if number["passed"] and not number["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
