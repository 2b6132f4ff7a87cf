// Compiles the templates of all components that the server joins (ui/delivery) into ../vendor/templates/index.json: by a
// hash of the template, the code of its render function. One that is missing there is compiled in the browser.
import vue from "@vue/compiler-dom/package.json" with { type: "json" };
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { keyOf, renderOf, templatesIn } from "./compiled.mjs";

const OUT = new URL("../vendor/templates/", import.meta.url);
const FOLDERS = ["../../ui/components", "../scripts/talk", "../scripts/commands", "../scripts/composer"];

const renders = {};
for (const folder of FOLDERS) {
  for (const name of (await readdir(folder)).filter((each) => each.endsWith(".js"))) {
    for (const written of templatesIn(await readFile(`${folder}/${name}`, "utf8"))) renders[keyOf(written)] = await renderOf(written);
  }
}
const sorted = Object.fromEntries(Object.entries(renders).sort());
await rm(OUT, { recursive: true, force: true });
await mkdir(OUT, { recursive: true });
await writeFile(new URL("index.json", OUT), `${JSON.stringify({ vue: vue.version, renders: sorted }, null, 1)}\n`);
console.log(`${Object.keys(renders).length} templates, for Vue ${vue.version}`);
