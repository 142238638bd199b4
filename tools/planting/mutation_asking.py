"""Which tests notice a mistake: those that reach its place, the quick ones first."""

import collections
import html
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

FIRST = 20  # Tests that are asked before all others.
SLOW = 0.05  # Seconds; tests that take longer come last.
SEPARATE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
KEPT_ALIVE = ["sh", "-c", '"$@"; exit $?', "sh"]  # The first process of a name space ignores signals.


class Test(collections.namedtuple("Test", "program name seconds failed reached")):
    pass


def apart() -> Any:
    """The words before a command that keep its mistakes from signalling other processes."""
    rootless = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return [SEPARATE[0], *rootless, *SEPARATE[1:], *KEPT_ALIVE]


def run(command: Any, environment: dict[str, str], seconds: float) -> Any:
    """Its output and exit status, None if it did not end in time."""
    memory = "/dev/shm"  # Where SQLite need not wait for a disk.
    given = dict(os.environ, **environment)
    given.update({"TMPDIR": memory} if os.path.isdir(memory) else {})
    cpu = int(seconds) + 2
    process = subprocess.Popen(
        ["nice", "-n", "19", *apart(), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=given, start_new_session=True, errors="replace",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 2)))
    try:
        return process.communicate(timeout=10 + 4 * seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], None


def listened(programs: dict[str, str]) -> Any:
    """All tests of these programs, with what each of them reaches; `programs`: name and path."""
    tests = []
    with tempfile.TemporaryDirectory(prefix="distlock-mutation-") as folder:
        for name, path in programs.items():
            notes, reached = pathlib.Path(folder, f"{name}.tests"), pathlib.Path(folder, "reached")
            reached.unlink(missing_ok=True)
            run([path, "~[as_root]"], {"DISTLOCK_TESTS": str(notes), "DISTLOCK_REACHED": str(reached)},
                300)
            if not notes.exists():
                raise RuntimeError(f"{name} ran no test")
            tests += noted(name, notes.read_text())
    return tests


def noted(program: Any, notes: Any) -> Any:
    tests, outside = [], set()
    for line in notes.splitlines():
        name, seconds, failed, numbers = line.split("\t")
        numbers = {int(number) for number in numbers.split()}
        if name:
            tests.append(Test(program, name, float(seconds), failed == "1", numbers))
        else:
            outside |= numbers
    # A mistake that runs before the first test may show in any.
    return [test._replace(reached=test.reached | outside) for test in tests]


def quoted(name: str) -> str:
    return re.sub(r'([\\",])', r"\\\1", name)


def batches(tests: Any) -> Iterator[Any]:
    """Tests by program: those that reach little, which know most of it, and the slow ones last."""
    quick = sorted((test for test in tests if test.seconds <= SLOW), key=lambda test: len(test.reached))
    slow = [test for test in tests if test.seconds > SLOW]
    for chosen in (quick[:FIRST], quick[FIRST:], slow):
        for program in dict.fromkeys(test.program for test in chosen):
            yield program, [test for test in chosen if test.program == program]


def failed_test(report: Any) -> Any:
    """The first of Catch's XML, also of one that a crash has cut off."""
    for case in report.split("<TestCase ")[1:]:
        ended = re.search(r'<OverallResult success="(\w+)"', case)
        if not ended or ended.group(1) == "false":
            return html.unescape(re.match(r'name="([^"]*)"', case).group(1))
    return ""


def found_by(paths: dict[str, str], tests: Any, number: int) -> Any:
    """The first of these tests that fails with this mistake, or ""."""
    for program, batch in batches([test for test in tests if not test.failed]):
        with tempfile.NamedTemporaryFile("w", prefix="distlock-mutation-") as names:
            names.write("".join(quoted(test.name) + "\n" for test in batch))
            names.flush()
            report, status = run([paths[program], "-f", names.name, "--abort", "-r", "xml"],
                                 {"DISTLOCK_PLANTED": str(number)},
                                 2 + 10 * sum(test.seconds for test in batch))
        if status == 0 and report.count("<TestCase ") != len(batch):
            raise RuntimeError(f"{program} did not run all of {[test.name for test in batch]}")
        if status != 0:
            test = failed_test(report) or f"{program} ends with {status}"
            return f"hangs in {test}" if status is None else test
    return ""
