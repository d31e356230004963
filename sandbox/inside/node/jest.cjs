"use strict";
// A reporter of Jest.
const { send, idOf, told, relative } = require("./channel.cjs");

module.exports = class {
  onTestFileStart(test) {
    send({ kind: "file", file: relative(test.path) });
  }

  onTestResult(test, result) {
    if (result.testExecError || (result.failureMessage && result.testResults.length === 0)) {
      const said = result.failureMessage || String(result.testExecError?.message);
      const words = said.replace(/^\s*● .*\n+/, "").replace(/^ {4}/gm, "").trim();
      send({ kind: "broken", file: relative(test.path), tests: 0, ...told({ name: "Error", message: words, stack: words }) });
    }
    for (const one of result.testResults) {
      const id = idOf(test.path, [...one.ancestorTitles, one.title]);
      const outcome = { passed: "passed", failed: "failed" }[one.status] ?? "skipped";
      const words = (one.failureMessages ?? []).join("\n").replace(/^Error: (?=expect\()/, "AssertionError: ");
      const message = words.split(/\n\s+at /)[0].replace(/^(?:Assertion)?Error: /, "");
      const about = outcome === "failed" ? told({ name: "Error", message, stack: words }) : {};
      send({ kind: "test", id, outcome, reason: "", ...about });
    }
  }

  onRunComplete(contexts, results) {
    if (!results.wasInterrupted) send({ kind: "done" });
  }
};
