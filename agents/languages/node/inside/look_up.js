// Runs inside a sandbox: says of names in Node's own modules and in installed packages whether they exist, and what is close.
//
// Reads JSON from stdin, {"mark": "…", "uses": [[module, imported, [attribute, …]], …]}, and prints one line: the mark and
// JSON with an answer for each use: null when all is well or nothing can be said for sure, else
// {"missing": name, "of": module or name above, "close": [name, …]}. With {"mark": "…", "modules": [name, …]} the answer for
// each module is rows of [name, parameters, ""], null when it is not there.
"use strict";
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { types } = require("node:util");
const { builtinModules, createRequire, isBuiltin } = require("node:module");
const { pathToFileURL } = require("node:url");

const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const questions = asked.uses ?? asked.modules;
const answers = questions.map(() => null);
let told = false;

function tell() {
  if (!told) {
    told = true;
    fs.writeSync(1, `\n${asked.mark}${JSON.stringify(answers)}\n`);
  }
}

// A package may end the process or leave a timer running: what is known by then is told.
process.on("exit", () => {
  tell();
  fs.rmSync(here, { recursive: true, force: true });
});
process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;
process.stderr.write = () => true;

// Packages are found from here as from a program of the workspace, whose own files are not looked at.
const here = fs.mkdtempSync(path.join(os.tmpdir(), "look-up-"));
if (process.env.NODE_PATH) fs.symlinkSync(process.env.NODE_PATH, path.join(here, "node_modules"));
const loader = path.join(here, "load.mjs");
fs.writeFileSync(loader, "export const load = (name) => import(name);\n");
const requires = createRequire(loader);

// Packages that others add to: what is not there may come with them.
const OPEN = ["use", "extend", "mixin", "plugin", "register", "addMethod", "augment", "install", "loadPlugin", "fn"];

// What these offer differs from process to process: a parent has other verbs than a child.
const DIFFER = ["process", "cluster"];

function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[other.length];
}

function close(name, names) {
  const low = name.toLowerCase();
  return [...new Set(names)]
    .filter((each) => /^[A-Za-z$][\w$]{0,60}$/.test(each))
    .map((each) => [each, distance(low, each.toLowerCase()), each.toLowerCase().startsWith(low) || low.startsWith(each.toLowerCase())])
    .filter(([each, far, begins]) => far <= Math.max(1, Math.floor(Math.max(name.length, each.length) * 0.35)) || (begins && each.length > 3))
    .sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, 3)
    .map(([each]) => each);
}

const isOwner = (value) => value !== null && (typeof value === "object" || typeof value === "function");

function namesOf(owner) {
  const names = [];
  for (let at = owner, depth = 0; at && at !== Object.prototype && at !== Function.prototype && depth < 5; depth += 1) {
    names.push(...Object.getOwnPropertyNames(at));
    at = Object.getPrototypeOf(at);
  }
  return names;
}

/** True when another package beside this one is named after it, as moment-timezone is, which gives moment new verbs. */
function hasCompanion(module) {
  const name = packageOf(module);
  const after = new RegExp(`(^|[-/@])${name.replace(/[^\w]/g, "\\$&")}[-/.]|[-/@]${name.replace(/[^\w]/g, "\\$&")}$`);
  return (requires.resolve.paths(name) || []).some((folder) => {
    const there = fs.existsSync(path.join(folder, name)) ? fs.readdirSync(folder) : [];
    const scoped = there.filter((each) => each.startsWith("@"));
    const inside = scoped.flatMap((scope) => fs.readdirSync(path.join(folder, scope)).map((each) => `${scope}/${each}`));
    return [...there, ...inside].some((each) => each !== name && after.test(each));
  });
}

/** True when a missing name may come into being: proxies, and packages that others add to. */
function isOpen(owner, builtin, module) {
  if (types.isProxy(owner)) return true;
  if (builtin || types.isModuleNamespaceObject(owner)) return false;
  if (hasCompanion(module)) return true;
  return OPEN.some((verb) => verb in owner && typeof owner[verb] === "function");
}

function packageOf(module) {
  const parts = module.split("/");
  return module.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0];
}

function installed(module) {
  const name = packageOf(module);
  return (requires.resolve.paths(name) || []).some((folder) => fs.existsSync(path.join(folder, name, "package.json")));
}

async function loaded(module, imported) {
  if (isBuiltin(module)) return requires(module);
  return imported ? (await import(pathToFileURL(loader))).load(module) : requires(module);
}

async function lookedUp(module, imported, attributes) {
  if (module.startsWith("node:") && !isBuiltin(module)) {
    const known = builtinModules.filter((name) => !name.startsWith("_")).map((name) => name.replace(/^node:/, ""));
    return { missing: module, of: "", close: close(module.slice(5), known).map((name) => `node:${name}`) };
  }
  const builtin = isBuiltin(module);
  if (!builtin && !installed(module)) return null; // whether it may be is not decided here
  if (!attributes.length || DIFFER.includes(module.replace(/^node:/, ""))) return null;
  let owner = await loaded(module, imported);
  let above = module;
  let rest = attributes;
  if (imported && builtin && rest[0] === "default") rest = rest.slice(1);
  for (const name of rest) {
    if (!isOwner(owner)) return null;
    const other = !builtin && isOwner(owner.default) ? owner.default : null;
    // Bundlers let code take from a default export what Node itself would not.
    if (!(name in owner) && other && name in other) owner = other;
    if (!(name in owner)) {
      if (isOpen(owner, builtin, module) || (other && isOpen(other, false, module))) return null;
      return { missing: name, of: above, close: close(name, [...namesOf(owner), ...(other ? namesOf(other) : [])]) };
    }
    above = `${above}.${name}`;
    owner = owner[name];
  }
  return null;
}

const MOST_NAMES = 300;

/** What stands in the parentheses of a function or of a class's constructor; "" for other values and native functions. */
function parameters(value) {
  if (typeof value !== "function") return "";
  const text = Function.prototype.toString.call(value);
  if (text.includes("[native code]")) return `(${Array.from({ length: value.length }, (_, at) => `arg${at + 1}`).join(", ")})`;
  const from = text.startsWith("class") ? text.search(/\bconstructor\s*\(/) : 0;
  if (from < 0) return "()";
  const single = /^(?:async\s+)?([\w$]+)\s*=>/.exec(text);
  if (single) return `(${single[1]})`;
  const start = text.indexOf("(", from);
  for (let at = start, depth = 0; start >= 0 && at < Math.min(text.length, start + 2000); at += 1) {
    depth += "([{".includes(text[at]) ? 1 : ")]}".includes(text[at]) ? -1 : 0;
    if (depth === 0) return text.slice(start, at + 1).replace(/\s+/g, " ");
  }
  return "(…)";
}

async function offered(module) {
  if (!isBuiltin(module) && !installed(module)) return null;
  const found = await loaded(module, true);
  const inner = isOwner(found.default) && !types.isProxy(found.default) ? found.default : null;
  const built = inner?.__esModule && isOwner(inner.default) ? inner.default : null; // an ECMAScript module, compiled
  const rows = new Map();
  for (const owner of [found, inner, built]) {
    for (const name of owner ? Object.getOwnPropertyNames(owner) : []) {
      if (["default", "module.exports", "length", "name", "prototype", "__esModule"].includes(name)) continue;
      const given = Object.getOwnPropertyDescriptor(owner, name);
      if (!rows.has(name) && rows.size < MOST_NAMES) rows.set(name, [name, given && "value" in given ? parameters(given.value) : "", ""]);
    }
  }
  return [...rows.values()];
}

async function main() {
  for (const [at, asking] of questions.entries()) {
    try {
      answers[at] = asked.modules ? await offered(asking) : await lookedUp(...asking);
    } catch {
      answers[at] = null; // a package may do anything when it is looked at
    }
  }
  process.exit(0);
}

main();
