#!/usr/bin/env python3
"""Tests of tools/check: a check that cannot fail would be worth nothing."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import tempfile
import threading
import time
import unittest

import programs
from programs import Outcome, Run

loader = importlib.machinery.SourceFileLoader("check", str(pathlib.Path(__file__).with_name("check")))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
loader.exec_module(check)


def part(name, command, lane="computes", **rest):
    return {"name": name, "tier": "test", "lane": lane, "command": command, "why": "", **rest}


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(setattr, check, "OUT", check.OUT)
        self.folder = check.OUT = pathlib.Path(folder.name)
        self.addCleanup(Run.stopped.clear)
        required = os.environ.pop("TERSE_REQUIRE_ALL", None)
        if required is not None:
            self.addCleanup(os.environ.__setitem__, "TERSE_REQUIRE_ALL", required)

    def script(self, name, text):
        """Returns a command that runs a script of the shell."""
        file = self.folder / name
        file.write_text(text)
        return f"sh {file}"

    def run_all(self, parts, stop_at=None):
        """Runs parts. Returns whether all is well, what was printed, and the report."""
        run = check.Check({"part": parts, "programs": {"waits": [], "plain": []}, "later": []})
        with contextlib.redirect_stdout(io.StringIO()) as output:
            if stop_at:
                threading.Thread(target=lambda: (wait_for(stop_at), run.stop("stopped"))).start()
            run.run(parts)
            passed = run.report()
        return passed, output.getvalue(), json.loads((self.folder / "report.json").read_text())

    def test_a_run_without_a_failure_passes_and_counts(self):
        passing = "test a::b ... ok <0.010s>\ntest result: ok. 1 passed; 0 failed; 2 ignored; 0 measured"
        passed, output, report = self.run_all([part("one", self.script("one", f"echo '{passing}'"))])
        self.assertTrue(passed)
        self.assertEqual(report["cases"], {"one": [1, 0, 2]})
        self.assertEqual(report["slowest"], [{"seconds": 0.01, "test": "one: a::b"}])
        self.assertEqual(output.splitlines()[-1], "1 passed, 0 failed, 0 skipped")

    def test_a_part_that_fails_is_named_with_its_output_and_command(self):
        command = self.script("one", "echo 'it is broken'; exit 3")
        passed, output, report = self.run_all([part("one", command)])
        self.assertFalse(passed)
        self.assertIn("it is broken", output)
        self.assertEqual(report["failures"], [{"what": "one", "repeat": command}])
        self.assertEqual(output.splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_a_test_that_fails_is_named_and_not_only_its_part(self):
        command = self.script("one", "echo 'test a::b ... FAILED <0.010s>'; exit 101")
        passed, _, report = self.run_all([part("one", command, repeat="repeat {test}")])
        self.assertFalse(passed)
        self.assertEqual(report["failures"], [{"what": "one: a::b", "repeat": "repeat a::b"}])

    def test_parts_that_come_after_a_failure_are_not_run_and_others_are(self):
        parts = [part("one", "false"), part("two", f"touch {self.folder}/two", after=["one"]),
                 part("three", f"touch {self.folder}/three")]
        passed, _, report = self.run_all(parts)
        self.assertFalse(passed)
        self.assertFalse((self.folder / "two").exists())
        self.assertTrue((self.folder / "three").exists())
        notes = {row["part"]: (row["passed"], row["note"]) for row in report["parts"]}
        self.assertEqual(notes["two"], (False, "not run, since one failed"))

    def test_a_part_waits_for_one_of_the_other_lane(self):
        first = self.script("first", f"sleep 0.2; touch {self.folder}/made")
        passed, _, _ = self.run_all([part("first", first, lane="waits"),
                                     part("second", f"test -e {self.folder}/made", after=["first"])])
        self.assertTrue(passed)

    def test_a_skip_fails_where_all_is_required_and_only_there(self):
        parts = [part("one", self.script("one", "echo 'skipped gnutls: it is not installed'"))]
        passed, output, _ = self.run_all(parts)
        self.assertTrue(passed)
        self.assertIn("skipped: one: gnutls: it is not installed", output)
        os.environ["TERSE_REQUIRE_ALL"] = "1"
        self.addCleanup(os.environ.pop, "TERSE_REQUIRE_ALL")
        self.assertFalse(self.run_all(parts)[0])

    def test_a_stop_ends_what_runs_and_names_it(self):
        long = self.script("long", f"touch {self.folder}/began; sleep 600; touch {self.folder}/ended")
        passed, output, report = self.run_all([part("long", long), part("next", "true")], self.folder / "began")
        self.assertFalse(passed)
        self.assertFalse((self.folder / "ended").exists(), "it waited for the end of what it stopped")
        self.assertIn("long was running", report["failures"][0]["what"])
        self.assertIn("check: stopped; ending what runs", output)
        self.assertEqual([row["note"] for row in report["parts"] if row["part"] == "next"], ["not run"])

    def test_a_part_that_takes_too_long_is_ended(self):
        run = Run(["sleep", "600"], self.folder / "log", minutes=0.001)
        self.assertTrue(run.expired)
        self.assertNotEqual(run.status, 0)

    def test_processor_time_includes_that_of_children(self):
        run = Run(["sh", "-c", "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'"], self.folder / "log")
        self.assertGreater(run.cpu, 0.01)

    def test_a_table_is_written_between_its_markers_and_nowhere_else(self):
        _, _, report = self.run_all([part("one", "true")])
        page = self.folder / "page.md"
        page.write_text(f"before\n{check.BEGIN}old\n{check.END}\nafter\n")
        check.write_table(page, self.folder / "report.json")
        text = page.read_text()
        self.assertEqual(text, f"before\n{check.BEGIN}{check.table(report)}{check.END}\nafter\n")
        page.write_text("no markers\n")
        with self.assertRaises(SystemExit):
            check.write_table(page, self.folder / "report.json")


def wait_for(file):
    """Waits until a file is there, for at most five minutes."""
    end = time.monotonic() + 300
    while not file.exists():
        if time.monotonic() > end:
            raise TimeoutError(file)
        time.sleep(0.01)


class Outputs(unittest.TestCase):
    def test_the_lines_of_each_runner_are_read(self):
        outcome = Outcome().read("\n".join([
            "test a - should panic ... ok <0.001s>",
            "test b ... FAILED",
            "test c has been running for over 60 seconds",
            "test d has been running for over 60 seconds",
            "test d ... ok <61.000s>",
            "test openssl::client::tls13::alpn ... no peer: it has none",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
            "7 passed, 1 failed, 0 skipped",
            "| passed | 1 | **5** |",
            "Ran 3 tests in 0.1s",
            "prepare: skipping valgrind: it is not there",
        ]))
        self.assertEqual((outcome.passed, outcome.failed, outcome.ignored), (17, 2, 0))
        self.assertEqual(outcome.failures, ["b"])
        self.assertEqual(outcome.slow, {"c"})
        self.assertEqual(outcome.times, {"a": 0.001, "d": 61.0})
        self.assertEqual(outcome.skips, ["valgrind: it is not there"])


class Rules(unittest.TestCase):
    def test_each_part_comes_after_parts_that_are_there_and_of_its_tier(self):
        tiers = {}
        for row in programs.rules()["part"]:
            self.assertIn(row["tier"], ("test", "all"), row)
            self.assertIn(row["lane"], ("computes", "waits"), row)
            self.assertTrue(row["why"], row)
            for name in row.get("after", []):
                self.assertIn(name, tiers, f"{row['name']} comes after {name}, which stands below it or nowhere")
                self.assertFalse(row["tier"] == "test" and tiers[name] == "all", row)
            tiers[row["name"]] = row["tier"]


if __name__ == "__main__":
    unittest.main()
