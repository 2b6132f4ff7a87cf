// Bundles markdown/ with its libraries into ../vendor/markdown: index.js, and what is fetched with the first formula, KaTeX
// with its style sheet and fonts. Their licences are collected beside them.
//   npm ci && npm run build
import { build } from "esbuild";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { digest } from "./digest.mjs";

const OUT = new URL("../vendor/markdown/", import.meta.url);
const KATEX = "node_modules/katex/dist";
const FONTS = "fonts/";

await rm(OUT, { recursive: true, force: true });
await mkdir(new URL(FONTS, OUT), { recursive: true });
const { metafile } = await build({
  entryPoints: ["markdown/index.js", "markdown/katex.js"],
  outdir: OUT.pathname,
  external: ["./katex.js"],
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  metafile: true,
});
await writeStyles();
await writeLicences();
await writeFile(new URL("SOURCES.txt", OUT), `${await digest("build.mjs", "markdown")}\n`);

/** In the layer of our own style sheets, and with the one kind of fonts that all browsers of today read. */
async function writeStyles() {
  const css = (await readFile(`${KATEX}/katex.min.css`, "utf8")).replace(/,url\([^)]+\) format\("(?:woff|truetype)"\)/g, "");
  const names = [...css.matchAll(/url\(fonts\/([^)]+)\)/g)].map(([, name]) => name);
  if (!names.length || names.some((name) => !name.endsWith(".woff2"))) throw new Error(`fonts of KaTeX: ${names}`);
  for (const name of names) await copyFile(`${KATEX}/fonts/${name}`, new URL(FONTS + name, OUT));
  await writeFile(new URL("katex.css", OUT), `@layer components{${css}}\n`);
}

async function writeLicences() {
  const inputs = Object.keys(metafile.inputs);
  const packages = new Set(inputs.map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean));
  const texts = [];
  for (const name of [...packages].sort()) {
    const { version, license } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
    texts.push(`${name} ${version} (${license})\n\n${await licence(name)}`);
  }
  await writeFile(new URL("LICENCES.txt", OUT), texts.join(`\n${"-".repeat(80)}\n\n`));
  console.log(`${packages.size} packages: ${[...packages].sort().join(", ")}`);
}

async function licence(name) {
  for (const file of ["LICENSE", "LICENSE.md", "LICENSE.txt", "LICENSE-MIT.txt", "license"]) {
    try {
      return await readFile(`node_modules/${name}/${file}`, "utf8");
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
  throw new Error(`${name} carries no licence text`);
}
