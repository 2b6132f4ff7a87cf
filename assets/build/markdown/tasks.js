// Task lists: "- [x] done" becomes a checkbox that shows and cannot be changed, with its text as its label.
const BOX = /^\[([ xX])\]\s+/;

export function tasks(markdown) {
  markdown.core.ruler.push("tasks", ({ tokens, Token }) => {
    for (let index = 2; index < tokens.length; index++) {
      const [item, paragraph, inline] = tokens.slice(index - 2, index + 1);
      if (inline.type !== "inline" || paragraph.type !== "paragraph_open" || item.type !== "list_item_open") continue;
      const [first] = inline.children;
      const box = first?.type === "text" ? BOX.exec(first.content) : null;
      if (!box) continue;
      item.attrJoin("class", "nk-task");
      first.content = first.content.slice(box[0].length);
      const open = new Token("task_open", "label", 1);
      open.meta = { isDone: box[1] !== " " };
      inline.children.unshift(open);
      inline.children.push(new Token("task_close", "label", -1));
    }
  });
  markdown.renderer.rules.task_open = (tokens, index) =>
    `<label><input type="checkbox" disabled${tokens[index].meta.isDone ? " checked" : ""}>`;
}
