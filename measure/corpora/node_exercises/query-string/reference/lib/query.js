"use strict";

/** "a=1&b=2" as an object; a name that occurs twice gets a list. */
function parse(text) {
  const found = {};
  for (const [name, value] of new URLSearchParams(text)) {
    found[name] = name in found ? [].concat(found[name], value) : value;
  }
  return found;
}

/** The object as text, sorted by name. */
function stringify(values) {
  return Object.keys(values)
    .sort()
    .flatMap((name) => [].concat(values[name]).map((value) => [name, value]))
    .map((pair) => pair.map(encodeURIComponent).join("="))
    .join("&");
}

module.exports = {
  parse,
  stringify,
};
