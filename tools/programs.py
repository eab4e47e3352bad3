"""Programs of tests: which there are, how one is run, and what its output says. `tools/check` and `tools/flaky` use this."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

if sys.version_info < (3, 11):
    sys.exit("tools: Python 3.11 or newer is needed: Debian 12 and Ubuntu 24.04 have it")

import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
# The packages of all builds of tests: with one choice of packages, features are the same and nothing is compiled twice.
WORKSPACE = ["--workspace", "--exclude", "terse-bench"]

# A result of one test, as libtest prints it with --report-time, and the interoperability matrix likewise.
RESULT = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored|skipped|no peer)\b.*?(?:<([0-9.]+)s>)?$")
SUMMARY = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
MATRIX = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
UNITTEST = re.compile(r"^Ran (\d+) tests? in ")
BOGO = re.compile(r"^\| passed \|.*?\**(\d+)\**\s*\|$")
SKIPPED = re.compile(r"^(?:prepare: )?skipp(?:ed|ing)\b:?\s*(.*)")
SLOW = re.compile(r"^test (\S.*) has been running for over 60 seconds$")


class Program:
    """A program of tests that Cargo has built."""

    def __init__(self, manifest, kind, name, path):
        self.folder = pathlib.Path(manifest).parent
        with open(manifest, "rb") as file:
            self.package = tomllib.load(file)["package"]["name"]
        self.kind = kind
        self.name = name
        self.path = path

    def __str__(self):
        return f"{self.package} {self.name if self.kind == 'test' else self.kind}"

    def command(self, arguments):
        """Returns the command that runs this program with arguments of libtest; only times of tests need the unstable ones."""
        return [self.path, "-Zunstable-options", "--report-time", "--show-output", *arguments]

    def repeat(self, test):
        """Returns the command with which a person repeats one test."""
        kind = "--lib" if self.kind == "lib" else f"--{self.kind} {self.name}"
        return f"cargo test -p {self.package} {kind} -- --exact {test}"

    def environment(self):
        """Returns the environment that `cargo test` gives, and the flag for times of tests, which is stable Rust's to ignore."""
        return {**settings(), "CARGO_MANIFEST_DIR": str(self.folder), "RUSTC_BOOTSTRAP": "1"}


def settings():
    """Returns this process's environment, with what `.cargo/config.toml` adds to that of a test."""
    with open(ROOT / ".cargo/config.toml", "rb") as file:
        added = tomllib.load(file).get("env", {})
    return {**added, **os.environ}


def rules():
    """Returns the table of the check, tools/check.toml."""
    with open(ROOT / "tools/check.toml", "rb") as file:
        return tomllib.load(file)


def plain():
    """Returns the programs that have a main function of their own."""
    return rules()["programs"]["plain"]


def build(log):
    """Builds all programs of tests; what Cargo says goes to a file. Returns the run, and the programs if it succeeded."""
    command = [CARGO, "test", *WORKSPACE, "--no-run", "--message-format", "json-render-diagnostics"]
    messages = log.with_suffix(".json")
    run = Run(command, messages, errors=log)
    programs = []
    for line in messages.read_text().splitlines() if not run.status else []:
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message.get("executable"):
            target = message["target"]
            programs.append(Program(message["manifest_path"], target["kind"][0], target["name"], message["executable"]))
    return run, sorted(programs, key=str)


class Outcome:
    """What the output of a program of tests, or of a part of the check, says of tests."""

    def __init__(self):
        self.passed = self.failed = self.ignored = 0
        self.times = {}
        self.failures = []
        self.skips = []
        self.slow = set()

    def read(self, text):
        for line in text.splitlines():
            if result := RESULT.match(line):
                name, verdict, seconds = result.groups()
                if seconds:
                    self.times[name] = float(seconds)
                if verdict == "FAILED":
                    self.failures.append(name)
                self.slow.discard(name)
            elif summary := SUMMARY.match(line):
                passed, failed, ignored = map(int, summary.groups())
                self.passed, self.failed, self.ignored = self.passed + passed, self.failed + failed, self.ignored + ignored
            elif summary := MATRIX.match(line):
                self.passed, self.failed = self.passed + int(summary[1]), self.failed + int(summary[2])
            elif summary := UNITTEST.match(line):
                self.passed += int(summary[1])
            elif summary := BOGO.match(line):
                self.passed += int(summary[1])
            elif skip := SKIPPED.match(line):
                self.skips.append(skip[1])
            elif slow := SLOW.match(line):
                self.slow.add(slow[1])
        return self


class Run:
    """A command that runs with its output in a file, in a process group of its own, so that all of it can be ended. It stays in the
    session: Linux may schedule sessions as one each, and then `nice` has no effect between them."""

    running = set()
    lock = threading.Lock()
    stopped = threading.Event()

    def __init__(self, command, log, cwd=ROOT, environment=None, minutes=None, errors=None):
        began = time.monotonic()
        with open(log, "wb") as output, open(errors or os.devnull, "wb") as error_output:
            with Run.lock:
                if Run.stopped.is_set():
                    self.status, self.wall, self.cpu, self.expired = -signal.SIGTERM, 0.0, 0.0, False
                    return
                process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                           stderr=error_output if errors else subprocess.STDOUT, process_group=0)
                Run.running.add(process.pid)
        self.expired = False
        timer = threading.Timer(60 * minutes, self.expire, [process.pid]) if minutes else None
        if timer:
            timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        if timer:
            timer.cancel()
        with Run.lock:
            Run.running.discard(process.pid)
        end(process.pid)  # what it has left running
        process.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.wall = time.monotonic() - began
        self.cpu = usage.ru_utime + usage.ru_stime

    def expire(self, pid):
        self.expired = True
        end(pid)

    @classmethod
    def stop_all(cls):
        """Ends all that runs; nothing starts any more."""
        cls.stopped.set()
        with cls.lock:
            for pid in cls.running:
                end(pid)


def end(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
