"""Runs inside a sandbox: one package for Node, and the words that run its tests with a reporter of ours."""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
from collections.abc import Sequence
from typing import Any

from sandbox.inside.node_choice import FOLDERS, TEST_NAME, TYPED, expanded, runner_of, test_files
from sandbox.inside.node_tap import read_tap
from sandbox.inside.report import REPORT_FD, Report

HOME = "/workspace"
MODULES = "/node_modules"
PACKAGES = "/packages/node_modules"
PATIENCE = 10  # seconds for one test, where the project says nothing: the runners' own two to five are few here
KEPT_OUTPUT = 8000
CONFIGURED = {
    "vitest": ("vitest.config.*", "vite.config.*", "vitest.workspace.*"),
    "jest": ("jest.config.*",),
    "mocha": (".mocharc*",),
    "ava": ("ava.config.*",),
}


def manifest_of(folder: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, "package.json"), encoding="utf-8") as text:
            found = json.load(text)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def files_below(folder: str) -> list[str]:
    """Scripts and other small files of a package, without what was installed or built."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in ("node_modules", ".git"))
        found += [os.path.relpath(os.path.join(place, name), folder) for name in sorted(names)]
    return found


def tool_folder(name: str, folder: str) -> str:
    """Where a tool lies: the project's own comes first; "" when there is none."""
    places = (f"{folder}/node_modules", f"{HOME}/node_modules", PACKAGES, MODULES)
    return next((os.path.realpath(f"{at}/{name}") for at in places if os.path.isfile(f"{at}/{name}/package.json")), "")


def program_of(name: str, folder: str, command: str = "") -> str:
    """The script behind a tool's command."""
    place = tool_folder(name, folder)
    commands = manifest_of(place).get("bin", {}) if place else {}
    script = commands.get(command or name.rpartition("/")[2]) if isinstance(commands, dict) else commands
    return os.path.join(place, str(script)) if script else ""


def version_of(name: str, folder: str) -> int:
    found = re.match(r"\d+", str(manifest_of(tool_folder(name, folder)).get("version", "")))
    return int(found[0]) if found else 0


class Package:
    """One folder with a package.json, and how its tests are run."""

    def __init__(self, folder: str, request: dict[str, Any], scratch: str, wanted: Sequence[str]) -> None:
        self.folder, self.scratch, self.request = folder, scratch, request
        self.manifest, self.paths = manifest_of(folder), files_below(folder)
        self.top = "" if folder == HOME else os.path.relpath(folder, HOME) + "/"
        runner, arguments = request["runner"], [word.removeprefix(self.top) for word in request["arguments"]]
        if not runner:
            runner, found = runner_of(self.manifest, self.paths)
            arguments = arguments or found
        self.runner, self.arguments = runner, arguments
        self.typed = [
            path for path in self.paths if TYPED.search(path) and not {"dist", "build"} & set(path.split("/"))
        ]
        self.wanted = [path.removeprefix(self.top) for path in wanted]
        self.modules = self.manifest.get("type") == "module"

    def said(self, word: str) -> bool:
        """Whether the runner's configuration or arguments speak of this."""
        texts = [" ".join(self.arguments), json.dumps(self.manifest.get(self.runner, ""))]
        for pattern in CONFIGURED.get(self.runner, ()):
            for path in glob.glob(os.path.join(self.folder, pattern)):
                with open(path, encoding="utf-8", errors="replace") as text:
                    texts.append(text.read(100_000))
        return any(word.lower() in text.lower() for text in texts)

    @property
    def configured(self) -> bool:
        found = (glob.glob(os.path.join(self.folder, name)) for name in CONFIGURED.get(self.runner, ()))
        return any(found) or self.runner in self.manifest

    def tests(self) -> list[str]:
        """The test files that were asked for, or that the arguments mean, or that are found."""
        if self.wanted:
            return self.wanted
        words = [word for word in self.arguments if not word.startswith("-")]
        return expanded(words, self.paths) or test_files(self.paths)

    def options(self) -> list[str]:
        """The arguments that are no test files."""
        if not self.wanted and self.runner in ("vitest", "jest"):
            return self.arguments
        return [word for word in self.arguments if not self._is_place(word)]

    def _is_place(self, word: str) -> bool:
        return not word.startswith("-") and bool(expanded([word], self.paths) or any(sign in word for sign in "*{"))

    def node(self) -> list[str]:
        """Node with what is loaded before the tests."""
        words = ["node"]
        if self.runner in ("node", "mocha"):
            words += ["--require", f"{self.scratch}/guard.cjs"]
        loader = tool_folder("tsx", self.folder)
        tests = self.tests()
        loaded = [path for path in self.paths if path in tests or not FOLDERS & set(path.split("/")[:-1])]
        needed = any(path.endswith(".jsx") or path in self.typed for path in loaded)
        if self.runner in ("node", "mocha", "tape") and loader and needed:
            words += ["--import", f"file://{loader}/dist/loader.mjs"]
        return words

    def command(self, coverage: str) -> list[str]:
        """The words that run the tests with our reporter; raises LookupError with what is missing."""
        made: list[str] = getattr(self, f"_{self.runner}")(coverage)
        return made

    def _need(self, name: str, command: str = "") -> str:
        found = program_of(name, self.folder, command)
        if not found:
            raise LookupError(f"{name}, which runs these tests, is not installed: list it in devDependencies")
        return found

    def _node(self, coverage: str) -> list[str]:
        limit = int(self.request["test_seconds"] * 1000)
        words = [*self.node(), "--test", "--test-concurrency=1", f"--test-timeout={limit}"]
        for reporter, place in ((f"{self.scratch}/node_test.mjs", "stderr"), ("spec", "stdout")):
            words += [f"--test-reporter={reporter}", f"--test-reporter-destination={place}"]
        return [*words, *self.options(), *self.tests()]

    def _mocha(self, coverage: str) -> list[str]:
        words = [*self.node(), self._need("mocha"), f"--reporter={self.scratch}/mocha.cjs", "--no-color"]
        words += ["--bail"] if self.request["first"] else []
        words += [] if self.said("timeout") else [f"--timeout={PATIENCE * 1000}"]
        places = [word for word in self.arguments if self._is_place(word)]
        files = self.wanted or expanded(places, self.paths)
        if (
            not files
            and not self.said("spec")
            and not glob.glob(f"{self.folder}/test/*.[cm]js") + glob.glob(f"{self.folder}/test/*.js")
        ):
            files = test_files(self.paths)
        return [*words, *self.options(), *files]

    def _jest(self, coverage: str) -> list[str]:
        program = self._need("jest")
        modules = ["--experimental-vm-modules"] if self.modules or any(p.endswith(".mjs") for p in self.paths) else []
        words = [
            "node",
            *modules,
            program,
            "--runInBand",
            f"--reporters={self.scratch}/jest.cjs",
            "--reporters=default",
        ]
        words += ["--ci", "--watchman=false", f"--cacheDirectory={self.scratch}/jest", "--colors=false"]
        words += ["--bail"] if self.request["first"] else []
        words += [] if self.said("timeout") else [f"--testTimeout={PATIENCE * 1000}"]
        plain = not (self.said("transform") or self.said("preset") or glob.glob(f"{self.folder}/*babel*"))
        if plain and (self.typed or any(path.endswith(".jsx") for path in self.paths)):
            words += ["--transform", json.dumps({r"\.[jt]sx?$|\.[cm]ts$": f"{self.scratch}/transform.cjs"})]
        if coverage:
            words += [
                "--coverage",
                "--coverageProvider=v8",
                "--coverageReporters=json",
                f"--coverageDirectory={coverage}",
            ]
            words += ["--coverageThreshold={}"]
        return [*words, *self.options(), *(["--runTestsByPath", *self.wanted] if self.wanted else [])]

    def _vitest(self, coverage: str) -> list[str]:
        words = ["node", self._need("vitest"), "run", f"--reporter={self.scratch}/vitest.mjs", "--reporter=default"]
        words += ["--bail=1"] if self.request["first"] else []
        words += (
            [] if self.said("timeout") else [f"--testTimeout={PATIENCE * 1000}", f"--hookTimeout={PATIENCE * 1000}"]
        )
        if not self.configured:
            component = any(TEST_NAME.search(path) and path.endswith("x") for path in self.paths)
            test = {"globals": True, "environment": "jsdom" if component else "node"}
            settings = {"root": self.folder, "esbuild": {"jsx": "automatic"}, "test": test}
            with open(f"{self.scratch}/vitest.config.mjs", "w", encoding="utf-8") as text:
                text.write(f"export default {json.dumps(settings)};\n")
            words += ["--config", f"{self.scratch}/vitest.config.mjs"]
        own = version_of("vitest", self.folder)
        if coverage and version_of("@vitest/coverage-v8", self.folder) == own:
            words += ["--coverage.enabled", "--coverage.provider=v8", "--coverage.reporter=json"]
            words += [f"--coverage.reportsDirectory={coverage}", "--coverage.reportOnFailure"]
            words += [f"--coverage.thresholds.{kind}=0" for kind in ("lines", "functions", "branches", "statements")]
        return [*words, *self.options(), *self.wanted]

    def environment(self, coverage: str) -> dict[str, str]:
        found = {"NODE_ENV": "test", **os.environ, "NO_COLOR": "1", "AISWE_FIRST": "1" if self.request["first"] else ""}
        limits = ("MAX_WORKERS", "MAX_FORKS", "MIN_FORKS", "MAX_THREADS", "MIN_THREADS")
        found |= {f"VITEST_{limit}": "1" for limit in limits}  # each version knows some of them
        found["AISWE_TESTS_INSIDE"] = "1" if self.runner == "mocha" else ""
        if esbuild := tool_folder("esbuild", self.folder):
            found["AISWE_ESBUILD"] = esbuild
        if coverage and self.runner in ("node", "mocha", "tape", "ava"):
            found["NODE_V8_COVERAGE"] = f"{coverage}/v8"
        return {**found, **self.request["environment"]}

    def run(self, report: Report, coverage: str) -> int:
        """Run the tests; the exit code of the runner."""
        environment = self.environment(coverage)
        try:
            if self.runner in ("tape", "ava"):
                return self._run_tap(report, environment)
            words = self.command(coverage)
        except LookupError as missing:
            report.send("no_runner", text=str(missing))
            return 1
        read, write = os.pipe()
        os.write(write, self.request["reporter_token"].encode())
        os.close(write)
        inside = os.fork()
        if inside == 0:
            try:
                os.dup2(read, REPORT_FD + 1)
                os.dup2(REPORT_FD, 3)
                os.dup2(REPORT_FD + 1, 4)
                os.closerange(5, 1024)
                os.chdir(self.folder)
                os.execvpe(words[0], words, environment)  # noqa: S606 - no shell is the point
            finally:
                os._exit(127)
        os.close(read)
        _, status = os.waitpid(inside, 0)
        return os.waitstatus_to_exitcode(status)

    def _run_tap(self, report: Report, environment: dict[str, str]) -> int:
        """Runners that print their results: their word is taken for it, as far as the exit codes agree."""
        code, loader, program = 0, self.node(), self._need("ava") if self.runner == "ava" else ""
        for path in self.tests():
            words = [*loader, *([program, "--tap"] if self.runner == "ava" else []), path]
            report.send("file", file=self.top + path)
            done = subprocess.run(
                words, capture_output=True, text=True, errors="replace", cwd=self.folder, env=environment, check=False
            )
            print(done.stdout[-KEPT_OUTPUT:], done.stderr[-KEPT_OUTPUT:], sep="\n", flush=True)  # noqa: T201
            read_tap(report, self.top + path, done.stdout, done.stderr, done.returncode)
            code = code or done.returncode
        return code
