"use strict";
// How a reporter inside a test runner tells what it sees: lines with a token, through a pipe that no test file inherits.
const fs = require("node:fs");
const path = require("node:path");
const { inspect } = require("node:util");

const { writeSync } = fs;
const { stringify } = JSON;
const token = fs.readFileSync(4, "utf8");
fs.closeSync(4);
const KEEP_FAILURES = 40;
const KEEP_MESSAGE = 600;
const KEEP_TRACE = 6000;
let failures = 0;

function clipped(text, size) {
  const third = Math.floor(size / 3);
  return text.length <= size ? text : `${text.slice(0, third)}\n…\n${text.slice(-2 * third)}`;
}

/** Send one row. */
exports.send = function send(row) {
  const line = Buffer.from(`${token} ${stringify(row)}\n`);
  for (let at = 0; at < line.length; ) at += writeSync(3, line, at);
};

/** The path of a file below the workspace, as the product names it. */
exports.relative = function relative(file) {
  return path.relative("/workspace", String(file).replace(/^file:\/\//, ""));
};

/** `path::suite > test`. */
exports.idOf = function idOf(file, names) {
  return `${exports.relative(file)}::${names.join(" > ")}`;
};

const FALSY = /The expression evaluated to a falsy value:\n\n[^]*?\n(?=\n|$)/;
const IN_WORKSPACE = /\(?(?:file:\/\/)?(\/workspace\/(?!node_modules\/)[^\n:]{1,1024}\.[cm]?[jt]sx?):(\d+):\d+\)?$/m;
const OF_NODE = /^ {4}at [^\n]*\bnode:[\w/.-]+:\d+:\d+\)?\n?/gm;

/** The lines of the statement that starts in a line of a file, at most six; "" if it cannot be read. */
function statement(file, line) {
  try {
    const rest = fs.readFileSync(file, "utf8").split("\n").slice(line - 1, line + 5);
    const open = (text) => text.split("(").length - text.split(")").length;
    const end = rest.findIndex((_, at) => open(rest.slice(0, at + 1).join("\n")) <= 0);
    return rest.slice(0, end + 1 || rest.length).join("\n").trim();
  } catch {
    return "";
  }
}

/** Node quotes the asserted expression by its place in the compiled code, which in TypeScript is another line. */
function quoted(text, stack) {
  const place = FALSY.test(text) && IN_WORKSPACE.exec(stack);
  const source = place && statement(place[1], Number(place[2]));
  return source ? text.replace(FALSY, () => `The expression evaluated to a falsy value:\n\n  ${source}\n`) : text;
}

/** Message and trace of whatever was thrown. */
exports.told = function told(thrown) {
  const { message, stack } = traced(thrown);
  return { message: quoted(message, stack), stack: quoted(stack, stack).replace(OF_NODE, "") };
};

function traced(error) {
  failures += 1;
  if (failures > KEEP_FAILURES) return { message: "", stack: "" };
  const isError = error !== null && typeof error === "object";
  const message = isError && "message" in error ? String(error.message) : String(inspect(error)).replace(/^'|'$/g, "");
  const name = (isError && error.name) || (isError ? "Error" : "Uncaught");
  let stack = isError && error.stack ? String(error.stack) : `${name}: ${message}`;
  if (message && !stack.includes(message.split("\n")[0])) stack = `${name}: ${message}\n${stack}`;
  if (isError && error.cause instanceof Error) stack += `\ncause: ${error.cause.stack}`;
  if (isError && typeof error.diff === "string") stack += `\n${error.diff}`;
  else if (isError && "expected" in error && "actual" in error) {
    stack += `\nexpected: ${clipped(inspect(error.expected), 400)}\nactual: ${clipped(inspect(error.actual), 400)}`;
  }
  return { message: clipped(message, KEEP_MESSAGE), stack: clipped(stack, KEEP_TRACE) };
}
