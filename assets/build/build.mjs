// Bundles markdown.js with its libraries into ../vendor/markdown/index.js, and collects their licences beside it.
//   npm install && npm run build
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";

const OUT = new URL("../vendor/markdown/", import.meta.url);

await mkdir(OUT, { recursive: true });
const { metafile } = await build({
  entryPoints: ["markdown.js"],
  outfile: new URL("index.js", OUT).pathname,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  metafile: true,
});

const packages = new Set(
  Object.keys(metafile.inputs)
    .map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1])
    .filter(Boolean),
);
const texts = [];
for (const name of [...packages].sort()) {
  const { version, license } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
  texts.push(`${name} ${version} (${license})\n\n${await licence(name)}`);
}
await writeFile(new URL("LICENCES.txt", OUT), texts.join(`\n${"-".repeat(80)}\n\n`));
console.log(`${packages.size} packages: ${[...packages].sort().join(", ")}`);

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
