"""How the rig itself ends, and what it says where the machine lacks something.

    tools/python tests.faults.rig_test
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
from typing import Any

from tests.faults import clients, processes, rig
from tests.faults.nemesis import catalogue, plan
from tests.faults.processes import wait_for
from tools.servers import children

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
TAKEOVERS = ("takeover", "--store", "mongod", "--seconds", "600")
KILLS = ("kills", "--store", "sqlite", "--count", "20000")  # For hours.
FAULTS = [str(TOOLS / "faults")]


def environment(**more: Any) -> Any:
    """Of a run that does not demand everything, unless it is told to."""
    return {key: value for key, value in os.environ.items() if key != "CI"} | more


def run(*words: Any, **more: Any) -> Any:
    return subprocess.run([*FAULTS, *words], capture_output=True, text=True,
                          env=environment(**more),
                          preexec_fn=processes.die_with_parent())


def parents() -> Any:
    """Of all processes: process id to parent's."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass
    return found


def descendants(process: int) -> Any:
    of, found = parents(), {process}
    while True:
        more = {child for child, parent in of.items() if parent in found} - found
        if not more:
            return found - {process}
        found |= more


def folders(process: int) -> Any:
    return list(pathlib.Path(tempfile.gettempdir()).glob(f"{rig.PREFIX}{process}-*"))


def shared_memory(processes_of_a_run: Any) -> Any:
    """Of libfaketime: two files for each process with a clock of its own."""
    found = [path for path in pathlib.Path("/dev/shm").glob("*faketime*")
             if int(path.name.rpartition("_")[2]) in processes_of_a_run]
    return found if len(found) > 1 else []


def noted(process: int) -> Any:
    """Its folders whose sweeper is to remove more than the folder."""
    return [folder for folder in folders(process)
            if (folder / children.SWEPT_TOO).stat().st_size > 0]


class Ends(unittest.TestCase):
    def end_by(self, number: int, words: Any = TAKEOVERS, busy: int = 12, **more: Any) -> Any:
        """Of a run in which a server and clients are at work; gives its exit status."""
        run = subprocess.Popen([*FAULTS, *words], stdout=subprocess.DEVNULL,
                               env=environment(**more), preexec_fn=processes.die_with_parent())
        self.addCleanup(processes.kill, run)
        wait_for("clients at work", lambda: run.poll() is None and len(descendants(run.pid)) > busy)
        family = descendants(run.pid)
        self.assertEqual(1, len(folders(run.pid)))
        run.send_signal(number)
        status = run.wait(processes.PATIENCE)
        wait_for("the end of all its processes", lambda: not family & parents().keys())
        wait_for("the end of its folder", lambda: not folders(run.pid))
        return status

    def test_nothing_is_left_after_ctrl_c(self) -> None:
        self.assertEqual(128 + signal.SIGINT, self.end_by(signal.SIGINT))

    def test_nothing_is_left_after_ctrl_c_where_there_are_no_namespaces(self) -> None:
        self.assertEqual(128 + signal.SIGINT,
                         self.end_by(signal.SIGINT, DISTLOCK_FAULTS_NETWORK="loopback"))

    def test_what_waits_for_its_turn_is_not_begun_after_ctrl_c(self) -> None:
        self.assertEqual(128 + signal.SIGINT, self.end_by(signal.SIGINT, KILLS, busy=4))

    def test_nothing_is_left_after_sigterm(self) -> None:
        self.assertEqual(128 + signal.SIGTERM, self.end_by(signal.SIGTERM))

    def test_nothing_is_left_after_sigkill(self) -> None:
        self.assertEqual(-signal.SIGKILL, self.end_by(signal.SIGKILL))

    def test_nothing_is_left_of_what_tools_evidence_runs_after_sigterm(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.Popen([str(TOOLS / "release/evidence"), "counter-sqlite",
                                    "--out", f"{folder}/evidence.md"], text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=environment(), preexec_fn=processes.die_with_parent())
            self.addCleanup(processes.kill, run)
            wait_for("clients at work", lambda: len(descendants(run.pid)) > 5)
            family = descendants(run.pid)
            run.terminate()
            _, said = run.communicate(timeout=processes.PATIENCE)
        self.assertEqual((128 + signal.SIGTERM, ""), (run.returncode, said))
        wait_for("the end of all its processes", lambda: not family & parents().keys())
        wait_for("the end of its folder", lambda: not any(map(folders, family)))

    def test_no_server_with_a_clock_of_its_own_leaves_shared_memory_after_sigkill(self) -> None:
        run = subprocess.Popen([*FAULTS, "skew", "--rounds", "600"], stdout=subprocess.DEVNULL,
                               env=environment(), preexec_fn=processes.die_with_parent())
        self.addCleanup(processes.kill, run)
        left = wait_for("a clock of a server's own",
                        lambda: noted(run.pid) and shared_memory(descendants(run.pid)))
        processes.kill(run)
        wait_for("the end of its folder", lambda: not folders(run.pid))
        self.assertEqual([], [path for path in left if path.exists()])

    def test_a_signal_that_comes_while_a_process_is_started_is_not_lost(self) -> None:
        script = ("import os, sys\n"
                  "from tests.faults import processes, signals\n"
                  "signals.lead_to(lambda number: sys.exit(128 + number))\n"
                  f"os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), {signal.SIGINT}))\n"
                  "processes.spawn(['true'])\n"
                  "print('it went on')\n")
        done = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True,
                              env=environment(PYTHONPATH=str(TOOLS.parent)))
        self.assertEqual((128 + signal.SIGINT, "", ""),
                         (done.returncode, done.stdout, done.stderr))

    def test_what_a_run_left_that_could_not_even_end_is_swept_up_by_the_next(self) -> None:
        gone = subprocess.Popen(["true"])
        gone.wait()
        left = tempfile.mkdtemp(prefix=f"{rig.PREFIX}{gone.pid}-")
        mine = tempfile.mkdtemp(prefix=f"{rig.PREFIX}{os.getpid()}-")
        rig.sweep()
        self.assertFalse(os.path.exists(left))
        self.assertTrue(os.path.exists(mine))
        os.rmdir(mine)


class Lacks(unittest.TestCase):
    def test_what_falls_away_is_said_and_the_rest_goes_on(self) -> None:
        done = run("intervals", "--store", "mongod", "--without", "partitions,clocks,small disks",
                   "--only", "step_down,primary_alone,other_clock,disk_full")
        self.assertEqual(0, done.returncode, done.stdout)
        for what in ("NO PARTITIONS", "NO CLOCKS", "NO SMALL DISKS", "FALLS AWAY: primary_alone",
                     "FALLS AWAY: other_clock", "FALLS AWAY: disk_full", "step_down 1"):
            self.assertIn(what, done.stdout)

    def test_a_run_of_which_all_falls_away_has_shown_nothing(self) -> None:
        done = run("skew", "--without", "clocks")
        self.assertEqual(69, done.returncode, done.stdout)
        self.assertIn("skew on mongod: nothing shown", done.stdout)

    def test_what_is_no_mongod_is_told(self) -> None:
        done = run("skew", MONGOD="/bin/false")
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("WRONG: the rig failed: /bin/false is no mongod", done.stdout)

    def test_what_falls_away_is_a_failure_where_everything_is_demanded(self) -> None:
        for lack in ("namespaces", "partitions", "clocks", "small disks"):
            demands: tuple[dict[str, str], ...] = ({"CI": "true"}, {})
            for demand in demands:
                words = () if demand else ("--require-all",)
                done = run("intervals", "--store", "mongod", "--without", lack, *words, **demand)
                self.assertEqual(1, done.returncode, done.stdout)
                self.assertIn(f"no {lack}", done.stdout)

    def hosts_without(self, *lacks: Any) -> Any:
        """The messages of a rig without them, and the rig."""
        said = []
        options = types.SimpleNamespace(
            seed=1, store="mongod", seconds=0, rounds=1, history=None, require_all=False,
            network="auto", without=lacks)
        one = rig.Rig(options, said.append)
        self.addCleanup(one.close)
        one.hosts = one.find_hosts()
        return said, one

    def test_without_namespaces_there_is_a_relay(self) -> None:
        said, one = self.hosts_without("namespaces")
        self.assertEqual(["NO NAMESPACES: as was asked for"], said)
        self.assertTrue(one.relayed)
        self.assertNotIn("partitions", one.lacking)

    def test_without_namespaces_and_the_library_of_names_there_are_no_partitions(self) -> None:
        with unittest.mock.patch("tests.faults.loopback.glob.glob", return_value=[]):
            said, one = self.hosts_without("namespaces")
        self.assertEqual("NO PARTITIONS: no libnss_wrapper (package libnss-wrapper)", said[-1])
        self.assertFalse(one.relayed)
        self.assertIn("partitions", one.lacking)

    def test_a_mongod_of_another_version_is_a_failure_where_everything_is_demanded(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix="-mongod", delete=False) as file:
            file.write("#!/bin/sh\necho 'db version v7.0.1'\n")
        self.addCleanup(os.unlink, file.name)
        os.chmod(file.name, 0o755)
        done = run("intervals", "--store", "mongod", "--require-all", MONGOD=file.name)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("no mongod 6.0: faults of 7.0.1 may be others", done.stdout)

    def test_a_server_that_keeps_no_commands_back_is_not_asked_to(self) -> None:
        for version, falls_away in (("4.2.6", True), ("4.2.8", True), ("4.2.9", False),
                                    ("4.2.10", False), ("6.0.5", False)):
            said, one = self.hosts_without()
            one.cluster = types.SimpleNamespace(version=version, start=lambda: None)
            with unittest.mock.patch.dict(os.environ, {"DISTLOCK_MONGOD_VERSION": version}):
                one._start_servers("standalone")
            del said[:]
            one.options.only = ("block", "error_before")
            steps = plan.make(catalogue.OF_REPLICA_SET, one)
            expected = {"error_before"} if falls_away else {"block", "error_before"}
            self.assertEqual(expected, {step.name for step in steps}, version)
            self.assertEqual(["FALLS AWAY: block, which needs mongod 4.2.9"] if falls_away else [],
                             said)
            one.cluster = None

    def test_evidence_of_sources_that_are_in_no_commit_is_not_published(self) -> None:
        run = subprocess.run([str(TOOLS / "release/evidence"), "counter-sqlite"], text=True,
                             env=environment() | {"GIT_INDEX_FILE": "/nowhere/index"},
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertEqual(64, run.returncode)
        self.assertIn("these are in no commit:\n", run.stderr)


class Lines(unittest.TestCase):
    def client(self, script: Any) -> Any:
        def spawn(command: Any, **options: Any) -> Any:
            return processes.spawn(["sh", "-c", script], **options)
        events = types.SimpleNamespace(add=lambda event: None)
        one = clients.Client("c", "sh", events, spawn)
        self.addCleanup(one.process.stdout.close)
        self.addCleanup(processes.kill, one.process)
        return one

    def test_what_is_no_event_is_told(self) -> None:
        with self.assertRaisesRegex(processes.Broken, "c said what is no event: 'half"):
            self.client("echo half").wait_ended()
        with self.assertRaises(processes.Broken):
            self.client("printf half").wait_ended()

    def test_a_kill_may_cut_off_the_last_line_and_no_other(self) -> None:
        for said, good in (("{}\\nhalf", True), ("half\\n", False), ("half\\n{}\\nhalf", False)):
            one = self.client(f"printf '{said}'; kill -9 $$")
            one.process.wait()
            one.kill() if good else self.assertRaises(processes.Broken, one.kill)


if __name__ == "__main__":
    unittest.main()
