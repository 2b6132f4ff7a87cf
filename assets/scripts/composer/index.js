// What ui/components/composer.js, where people write, is made from.
export { prompts } from "./prompts.js";
