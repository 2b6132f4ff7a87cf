// Templates of Vue's components as render functions: a browser would compile them anew each time a page is loaded, a third
// of what its start takes.
import { compile } from "@vue/compiler-dom";
import { transform } from "esbuild";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

const TEMPLATE = /\btemplate: `([^`]*)`/g; // as ui/delivery/templates.py finds them

/** As they are written, between the backticks. */
export const templatesIn = (source) => [...source.matchAll(TEMPLATE)].map(([, written]) => written);

export const keyOf = (written) => createHash("sha256").update(written).digest("hex").slice(0, 16);

/** The code of an expression, the render function. Vue is the page's. */
export async function renderOf(written) {
  const template = new Function(`return \`${written}\``)();
  const { code } = compile(template, { mode: "function", prefixIdentifiers: true, hoistStatic: true, comments: false });
  const small = await transform(`(() => {\n${code}\n})()`, { minify: true, target: "es2022", charset: "utf8" });
  return small.code.trim().replace(/;$/, "");
}

/** esbuild's plugin: the same in what is bundled from `folder`. */
export const compiled = (folder) => ({
  name: "templates",
  setup({ onLoad }) {
    onLoad({ filter: new RegExp(`/${folder}/\\w+\\.js$`) }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const written of templatesIn(contents)) {
        const render = await renderOf(written);
        contents = contents.replace(`template: \`${written}\``, () => `render: ${render}`);
      }
      return { contents };
    });
  },
});
