// Bundles quasar/ into ../vendor/quasar: index.js, its licence, and the names of the components that are left out.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";

const OUT = new URL("../vendor/quasar/", import.meta.url);
const SOURCE = "node_modules/quasar";

const ofThePage = {
  name: "Vue as the page has it",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^vue$/ }, () => ({ path: "vue", namespace: "page" }));
    onLoad({ filter: /^vue$/, namespace: "page" }, () => ({ contents: "module.exports = window.Vue;" }));
  },
};

// QLayout has both watch the page, for headers and drawers that are left out. Each lays it out while it is put together.
const withoutObservers = {
  name: "no observers",
  setup({ onLoad }) {
    onLoad({ filter: /\/Q(?:Scroll|Resize)Observer\.js$/ }, () => ({ contents: "export default { render: () => null };" }));
  },
};

const { version } = JSON.parse(await readFile(`${SOURCE}/package.json`, "utf8"));
const entry = await readFile("quasar/index.js", "utf8");
const files = await readdir(`${SOURCE}/src/components`, { recursive: true });
const names = files.map((file) => file.match(/(?:^|\/)(Q[A-Z]\w+)\.js$/)?.[1]).filter(Boolean);
const others = names.filter((name) => !entry.includes(`/${name}.js"`)).sort();

await rm(OUT, { recursive: true, force: true });
await mkdir(OUT, { recursive: true });
await build({
  entryPoints: ["quasar/index.js"],
  outdir: OUT.pathname,
  plugins: [ofThePage, withoutObservers],
  bundle: true,
  format: "iife",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  define: {
    __QUASAR_VERSION__: JSON.stringify(version),
    __QUASAR_SSR__: "false",
    __QUASAR_SSR_SERVER__: "false",
    __QUASAR_SSR_CLIENT__: "false",
    __QUASAR_SSR_PWA__: "false",
    __OTHER_COMPONENTS__: JSON.stringify(others),
  },
});
await copyFile(`${SOURCE}/LICENSE`, new URL("LICENCE.txt", OUT));
await writeFile(new URL("left_out.json", OUT), `${JSON.stringify({ version, components: others })}\n`);
const hash = createHash("sha256"); // a test compares it, so that no change stays out of what is committed
for (const name of ["quasar.mjs", "package-lock.json", "quasar/index.js"]) hash.update(await readFile(name));
await writeFile(new URL("SOURCES.txt", OUT), `${hash.digest("hex")}\n`);
console.log(`Quasar ${version} without ${others.length} of its ${names.length} components`);
