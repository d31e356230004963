"use strict";
// A reporter of Mocha, which runs the tests in its own process.
const { send, idOf, told, relative } = require("./channel.cjs");

function names(runnable) {
  const found = [];
  for (let one = runnable; one; one = one.parent) if (one.title) found.unshift(one.title);
  return found;
}

module.exports = class {
  constructor(runner) {
    const id = (one) => idOf(one.file || one.parent?.file || "", names(one));
    runner.on("test", (test) => send({ kind: "begin", file: relative(test.file || ""), name: test.title }));
    runner.on("pass", (test) => send({ kind: "test", id: id(test), outcome: "passed" }));
    runner.on("pending", (test) => send({ kind: "test", id: id(test), outcome: "skipped", reason: "" }));
    runner.on("fail", (test, error) => {
      const outcome = test.type === "hook" ? "error" : "failed";
      const about = told(error);
      send({ kind: "test", id: id(test), outcome, ...about });
      console.log(`✖ ${names(test).join(" > ")}\n${about.stack}`);
    });
    runner.on("end", () => {
      const { passes, failures, pending } = runner.stats ?? {};
      console.log(`${passes ?? 0} passing, ${failures ?? 0} failing, ${pending ?? 0} pending`);
      send({ kind: "done" });
    });
  }
};
