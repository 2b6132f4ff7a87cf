// Of all that a bundle is made from: a test compares it, so that no change stays out of what is committed.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";

export async function digest(script, folder) {
  const hash = createHash("sha256");
  const sources = (await readdir(folder)).sort().map((name) => `${folder}/${name}`);
  for (const name of [script, "package-lock.json", ...sources]) hash.update(await readFile(name));
  return hash.digest("hex");
}
