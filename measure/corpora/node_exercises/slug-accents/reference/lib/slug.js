const MARKS = /\p{M}+/gu;

const plain = (text) => text.normalize("NFD").replace(MARKS, "");

exports.slug = function slug(text, { separator = "-" } = {}) {
  return plain(text)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, separator)
    .replace(new RegExp(`^${separator}|${separator}$`, "g"), "");
};

exports.unique = function unique(name, taken) {
  let at = 1;
  let made = name;
  while (taken.includes(made)) {
    at += 1;
    made = `${name}-${at}`;
  }
  return made;
};

exports.plain = plain;
