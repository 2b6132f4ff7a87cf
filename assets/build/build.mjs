// Bundles markdown/ with its libraries into ../vendor/markdown: index.js, and what is fetched with the first formula, KaTeX
// with its style sheet and fonts; words/, a plain script, into ../vendor/words; sidebar/, all ours, into ../vendor/sidebar. Licences
// are collected beside them.
//   npm ci && npm run build
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { compiled } from "./compiled.mjs";

const OUT = new URL("../vendor/markdown/", import.meta.url);
const WORDS_OUT = new URL("../vendor/words/", import.meta.url);
const SIDEBAR_OUT = new URL("../vendor/sidebar/", import.meta.url);
const KATEX = "node_modules/katex/dist";
const FONTS = "fonts/";

// As COMPILED_WHOLE in ui/delivery/files.py.
const WHOLE = { banner: { js: "//# allFunctionsCalledOnLoad" } };
const STYLE = { bundle: true, target: "es2022", minify: true, charset: "utf8", legalComments: "none", metafile: true };

for (const folder of [OUT, WORDS_OUT, SIDEBAR_OUT]) await rm(folder, { recursive: true, force: true });
await mkdir(new URL(FONTS, OUT), { recursive: true });
const markdown = await build({
  ...STYLE,
  ...WHOLE,
  entryPoints: ["markdown/index.js", "markdown/katex.js"],
  outdir: OUT.pathname,
  external: ["./katex.js"],
  format: "esm",
});
await build({ ...STYLE, ...WHOLE, plugins: [compiled("sidebar")], entryPoints: ["sidebar/index.js"], outdir: SIDEBAR_OUT.pathname, format: "esm" }); // ours alone
const words = await build({ ...STYLE, entryPoints: ["words/index.js"], outdir: WORDS_OUT.pathname, format: "iife" });
await writeStyles();
await writeLicences(OUT, markdown.metafile);
await writeLicences(WORDS_OUT, words.metafile);
for (const folder of [OUT, WORDS_OUT, SIDEBAR_OUT]) await writeFile(new URL("SOURCES.txt", folder), `${await digest()}\n`);

/** In the layer of our own style sheets, and with the one kind of fonts that all browsers of today read. */
async function writeStyles() {
  const css = (await readFile(`${KATEX}/katex.min.css`, "utf8")).replace(/,url\([^)]+\) format\("(?:woff|truetype)"\)/g, "");
  const names = [...css.matchAll(/url\(fonts\/([^)]+)\)/g)].map(([, name]) => name);
  if (!names.length || names.some((name) => !name.endsWith(".woff2"))) throw new Error(`fonts of KaTeX: ${names}`);
  for (const name of names) await copyFile(`${KATEX}/fonts/${name}`, new URL(FONTS + name, OUT));
  await writeFile(new URL("katex.css", OUT), `@layer components{${css}}\n`);
}

async function writeLicences(folder, metafile) {
  const inputs = Object.keys(metafile.inputs);
  const packages = new Set(inputs.map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean));
  const texts = [];
  for (const name of [...packages].sort()) {
    const { version, license } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
    texts.push(`${name} ${version} (${license})\n\n${await licence(name, license)}`);
  }
  await writeFile(new URL("LICENCES.txt", folder), texts.join(`\n${"-".repeat(80)}\n\n`));
  console.log(`${packages.size} packages: ${[...packages].sort().join(", ")}`);
}

/** The text that the package brings; where it brings only the licence's name, that licence's text from licences/. */
async function licence(name, id) {
  for (const file of ["LICENSE", "LICENSE.md", "LICENSE.txt", "LICENSE-MIT.txt", "license"]) {
    try {
      return await readFile(`node_modules/${name}/${file}`, "utf8");
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
  return readFile(`licences/${id}.txt`, "utf8");
}

/** Of all that the bundles are made from: a test compares it, so that no change stays out of what is committed. */
async function digest() {
  const hash = createHash("sha256");
  const sources = [];
  for (const folder of ["markdown", "sidebar", "words"]) sources.push(...(await readdir(folder)).sort().map((name) => `${folder}/${name}`));
  for (const name of ["build.mjs", "compiled.mjs", "package-lock.json", ...sources]) hash.update(await readFile(name));
  return hash.digest("hex");
}
