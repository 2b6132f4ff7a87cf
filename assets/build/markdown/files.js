// What a block of code is called when it becomes a file.
const ENDINGS = {
  bash: "sh", c: "c", console: "txt", cpp: "cpp", "c++": "cpp", cs: "cs", csharp: "cs", css: "css", csv: "csv", diff: "diff",
  go: "go", golang: "go", html: "html", ini: "ini", java: "java", javascript: "js", js: "js", json: "json", jsonc: "json",
  jsx: "jsx", kotlin: "kt", latex: "tex", lua: "lua", markdown: "md", md: "md", mermaid: "mmd", patch: "diff", php: "php",
  plaintext: "txt", powershell: "ps1", ps1: "ps1", py: "py", python: "py", python3: "py", r: "r", rb: "rb", rs: "rs",
  ruby: "rb", rust: "rs", sh: "sh", shell: "sh", sql: "sql", svg: "svg", swift: "swift", tex: "tex", text: "txt", toml: "toml",
  ts: "ts", tsx: "tsx", txt: "txt", typescript: "ts", xml: "xml", yaml: "yaml", yml: "yml", zsh: "sh",
};
const WHOLE_NAMES = { docker: "Dockerfile", dockerfile: "Dockerfile", makefile: "Makefile", make: "Makefile" };
const NAME_IN_INFO = /(?:^|[\s:{="'])([\w-][\w.-]*\.\w{1,8})(?=$|[\s}"'])/;
const NAME_IN_FIRST_LINE =
  /^\s*(?:#|\/\/|--|;|<!--|\/\*)\s*(?:file(?:name)?:\s*)?(?:[\w.-]+\/)*([\w-][\w.-]*\.\w{1,8})\s*(?:-->|\*\/)?\s*$/i;

/** `info` is what stands behind the opening marks: "python", or "python title=app.py". */
export function fileName(info, code) {
  const named = NAME_IN_INFO.exec(info) ?? NAME_IN_FIRST_LINE.exec(code.split("\n", 1)[0]);
  if (named) return named[1];
  const language = languageOf(info).toLowerCase();
  return WHOLE_NAMES[language] ?? `snippet.${ENDINGS[language] ?? "txt"}`;
}

/** "python" of "python title=app.py", of "python:app.py", of "{.python}". */
export function languageOf(info) {
  return info.trim().replace(/^\{?\.?/, "").split(/[\s:,{}]/)[0];
}
