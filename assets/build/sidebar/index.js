// What ui/components/conversations.js, the sidebar's component, is made from.
export { drag } from "./drag.js";
export { keys } from "./keys.js";
export { Layout } from "./layout.js";
export { SideMenu } from "./menu.js";
export { menus } from "./menus.js";
export { Pages } from "./pages.js";
export { renaming } from "./renaming.js";
export { SideSearch } from "./search.js";
export { selection } from "./selection.js";
