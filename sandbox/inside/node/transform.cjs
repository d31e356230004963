"use strict";
// What turns TypeScript and JSX into JavaScript for Jest where the project says nothing about it.
const { transformSync } = require(process.env.AISWE_ESBUILD);

exports.process = (source, file) => {
  const loader = /\.[cm]?ts$/.test(file) ? "ts" : /\.tsx$/.test(file) ? "tsx" : "jsx";
  const { code } = transformSync(source, {
    loader,
    format: "cjs",
    target: "node20",
    jsx: "automatic",
    sourcemap: "inline",
    sourcefile: file,
  });
  return { code };
};
