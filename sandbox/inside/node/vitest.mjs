// A reporter of Vitest, from version 1 on.
import channel from "./channel.cjs";

const { send, idOf, told, relative } = channel;

function above(task) {
  const names = [];
  for (let one = task; one && one.type !== "module" && one.filepath === undefined; one = one.parent ?? one.suite) {
    names.unshift(one.name);
  }
  return names;
}

function outcomeOf(state) {
  return { passed: "passed", pass: "passed", failed: "failed", fail: "failed" }[state] ?? "skipped";
}

function sendTest(file, test, state, errors) {
  const outcome = outcomeOf(state);
  send({ kind: "test", id: idOf(file, above(test)), outcome, reason: "", ...(outcome === "failed" ? told(errors?.[0]) : {}) });
}

function sendErrors(id, errors) {
  for (const error of errors ?? []) send({ kind: "test", id, outcome: "error", ...told(error) });
}

function broken(file, errors) {
  for (const error of errors ?? []) send({ kind: "broken", file: relative(file), tests: 0, ...told(error) });
}

function unhandled(errors) {
  for (const error of errors ?? []) {
    const file = error.VITEST_TEST_PATH ?? "";
    const name = error.VITEST_TEST_NAME;
    sendErrors(file && name ? idOf(file, [name]) : file ? relative(file) : "unhandled error", [error]);
  }
}

export default class {
  #told = false;

  onTestModuleStart(module) {
    send({ kind: "file", file: relative(module.moduleId) });
  }

  onTestCaseReady(test) {
    send({ kind: "begin", file: relative(test.module.moduleId), name: test.name });
  }

  onTestRunEnd(modules, errors, reason) {
    this.#told = true;
    for (const module of modules) {
      broken(module.moduleId, module.errors());
      for (const suite of module.children.allSuites()) sendErrors(idOf(module.moduleId, above(suite)), suite.errors());
      for (const test of module.children.allTests()) {
        const result = test.result();
        sendTest(module.moduleId, test, result.state, result.errors);
      }
    }
    unhandled(errors);
    if (reason !== "interrupted" || modules.length) send({ kind: "done" });
  }

  onFinished(files = [], errors = []) {
    if (this.#told) return;
    const walk = (file, task) => {
      if (task.type === "suite") {
        if (task.filepath === undefined) sendErrors(idOf(file, above(task)), task.result?.errors);
        for (const one of task.tasks) walk(file, one);
      } else sendTest(file, task, task.result?.state ?? task.mode, task.result?.errors);
    };
    for (const file of files) {
      broken(file.filepath, file.result?.errors);
      for (const one of file.tasks) walk(file.filepath, one);
    }
    unhandled(errors);
    send({ kind: "done" });
  }
}
