// A reporter of Node's own test runner. Each test file is a process of its own; this is in the one that starts them.
import channel from "./channel.cjs";

const { send, relative, idOf, told } = channel;
const first = process.env.AISWE_FIRST === "1";

/** The line of a program's last words that names the error. */
function namedError(words) {
  const lines = words.split("\n").map((line) => line.trim()).filter(Boolean);
  return lines.find((line) => /^[\w.]*(?:Error|Exception)\b/.test(line)) ?? lines.at(-1) ?? words;
}

export default async function* (source) {
  const names = [];
  let file = "";
  let ended = 0;
  let said = "";
  for await (const { type, data } of source) {
    const own = data?.nesting === 0 && data.name === data.file;
    if (type === "test:dequeue" && own) {
      [file, ended, said] = [data.file, 0, ""];
      send({ kind: "file", file: relative(file) });
    } else if (type === "test:dequeue") {
      send({ kind: "begin", file: relative(file), name: data.name });
    } else if (type === "test:stderr") {
      said = (said + data.message).slice(-20000);
    } else if (type === "test:start") {
      names.length = data.nesting;
      names.push(data.name);
    } else if (type === "test:pass" || type === "test:fail") {
      const id = own ? relative(file) : idOf(file, [...names.slice(0, data.nesting), data.name]);
      const failed = type === "test:fail" && data.todo === undefined;
      const error = data.details?.error;
      const cause = error?.cause ?? error;
      if (own && !failed && ended === 0) {
        send({ kind: "empty", file: id });
      } else if (own && failed) {
        const timedOut = error?.failureType === "testTimeoutFailure";
        const words = timedOut ? `${error.message}: something that it started did not end` : said.trim() || error?.message;
        const message = timedOut ? words : namedError(words);
        const about = told({ name: "Error", message, stack: timedOut ? `Error: ${words}` : words });
        send({ kind: timedOut ? "hang" : "broken", file: id, tests: ended, ...about });
      } else if (!own && data.skip === undefined && data.details?.type === "suite") {
        if (failed && error?.failureType !== "subtestsFailed" && error?.failureType !== "cancelledByParent") {
          send({ kind: "test", id, outcome: "error", ...told(cause) });
        }
      } else if (!own && !(failed && error?.failureType === "subtestsFailed")) {
        ended += 1;
        const skipped = data.skip !== undefined || data.todo !== undefined;
        const outcome = failed ? "failed" : skipped ? "skipped" : "passed";
        const words = failed && error?.failureType !== "cancelledByParent" ? told(cause) : {};
        send({ kind: "test", id, outcome, reason: String(data.skip ?? data.todo ?? ""), ...words });
      }
      if (failed && first) {
        send({ kind: "done" });
        process.exit(1);
      }
    }
  }
  send({ kind: "done" });
  yield "";
}
