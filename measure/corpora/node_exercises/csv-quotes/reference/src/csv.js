/** The fields of one line. */
export function parseLine(line) {
  const fields = [""];
  let quoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const sign = line[at];
    if (sign === '"' && quoted && line[at + 1] === '"') {
      fields[fields.length - 1] += '"';
      at += 1;
    } else if (sign === '"') {
      quoted = !quoted;
    } else if (sign === "," && !quoted) {
      fields.push("");
    } else {
      fields[fields.length - 1] += sign;
    }
  }
  return fields;
}

/** Rows as objects, named by the first line. */
export function parse(text) {
  const [head, ...rows] = text.split(/\r?\n/).filter(Boolean).map(parseLine);
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])));
}

export function quote(field) {
  return /[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
