"use strict";
// Loaded before a test file: the file ends as a failure when it leaves early with success, or replaces what asserts do.
const { isMainThread } = require("node:worker_threads");

const ENDS = 87;
const runner = process.env.AISWE_TEST_PARENT;
const holdsTests = process.env.AISWE_TESTS_INSIDE === "1" ? runner === undefined : runner === String(process.ppid);
if (runner === undefined) process.env.AISWE_TEST_PARENT = String(process.pid);

if (isMainThread && holdsTests) {
  const assert = require("node:assert");
  const { reallyExit, exit } = process;
  const { writeSync } = require("node:fs");
  const parts = [assert, assert.strict].flatMap((one) =>
    Object.getOwnPropertyNames(one)
      .filter((name) => typeof one[name] === "function")
      .map((name) => [one, name, one[name]]),
  );
  let left = false;
  if (runner !== undefined) {
    process.exit = function (code) {
      left = true;
      return exit.call(process, code);
    };
  }
  process.on("exit", (code) => {
    const changed = parts.filter(([one, name, value]) => one[name] !== value).map(([, name]) => `assert.${name}`);
    if (changed.length) writeSync(2, `Error: the tests replaced ${changed.slice(0, 5).join(", ")} and did not put it back\n`);
    if (left && code === 0) writeSync(2, "Error: process.exit() ended the tests before they were done\n");
    if (changed.length || (left && code === 0)) reallyExit.call(process, ENDS);
  });
}
