// The languages whose code is coloured: those that people paste most. Code in any other is shown as plain text.
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import php from "highlight.js/lib/languages/php";
import powershell from "highlight.js/lib/languages/powershell";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const languages = {
  bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, lua, makefile, php, powershell,
  python, r, ruby, rust, sql, swift, typescript, xml, yaml,
};

/** Whether code in it can be coloured; a language is learnt when its first code comes, for all of them take 12 ms. */
export function knows(name) {
  learn(name.toLowerCase());
  if (!hljs.getLanguage(name)) for (const each of Object.keys(languages)) learn(each); // it may be another name of one
  return Boolean(hljs.getLanguage(name));
}

/** With those whose code stands within its own, as styles do in HTML. */
function learn(name) {
  if (!Object.hasOwn(languages, name) || hljs.getLanguage(name)) return;
  hljs.registerLanguage(name, languages[name]);
  for (const other of within(hljs.getLanguage(name))) learn(other);
}

function within(mode, seen = new Set()) {
  if (typeof mode !== "object" || mode === null || seen.has(mode)) return [];
  seen.add(mode);
  const parts = [mode.contains, mode.variants, mode.starts].flat();
  return [...[mode.subLanguage ?? []].flat(), ...parts.flatMap((part) => within(part, seen))];
}

export { hljs };
