// How the sidebar's list lies, in rows and pixels: headings, folders, and stretches of chats of which only the number is
// known. Every row has a height that follows from its kind, so any stretch of ten thousand can be drawn by itself.

const HEADING_PX = 38;
const FIRST_HEADING_PX = 30;

const HEIGHTS = { chats: "row", folder: "row", archive: "row", none: "none" };

export class Layout {
  // `outline`: see ui/lists.py. `open`: ids of the folders that are unfolded. `view`: "list" or "archive". `tap`: px that a
  // finger needs, for headings with a button.
  constructor(outline, { open, view, row, tap = 0 }) {
    Object.assign(this, { row, tap });
    this.segments = [];
    this.num = 0;
    this.height = 0;
    if (view === "archive") this.chats("archive", 0, outline.archived, 0);
    else this.list(outline, open);
  }

  list(outline, open) {
    const { pinned, archived, folders, days } = outline;
    const isEmpty = !pinned && !archived && !folders.length && !days.length;
    if (isEmpty) return this.add({ type: "none", key: "none", num: 1 });
    if (pinned) this.add({ type: "heading", key: "h:pinned", kind: "pinned", num: 1 });
    this.chats("pinned", 0, pinned, 0);
    this.add({ type: "heading", key: "h:folders", kind: "folders", num: 1 });
    for (const folder of folders) {
      const depth = folder.parent ? 1 : 0;
      if (depth && !open.has(folder.parent)) continue;
      const inner = folders.filter((each) => each.parent === folder.id);
      this.add({
        type: "folder", key: `f:${folder.id}`, num: 1, folder, depth, isOpen: open.has(folder.id),
        count: folder.count + inner.reduce((sum, each) => sum + each.count, 0),
      });
      // What lies in a folder stands under the folders in it, which come next in the list.
      if (!inner.length || !open.has(folder.id)) this.inside(folder, depth, open);
      const next = folders[folders.indexOf(folder) + 1];
      const parent = depth && (!next || next.parent !== folder.parent) && folders.find((each) => each.id === folder.parent);
      if (parent) this.inside(parent, 0, open);
    }
    if (archived) this.add({ type: "archive", key: "archive", num: 1, count: archived });
    let start = 0;
    for (const { name, count } of days) {
      this.add({ type: "heading", key: `h:${name}`, kind: "days", name, num: 1 });
      this.chats("days", start, count, 0);
      start += count;
    }
  }

  inside(folder, depth, open) {
    if (open.has(folder.id)) this.chats(`folder:${folder.id}`, 0, folder.count, depth + 1);
  }

  chats(place, offset, num, depth) {
    if (num) this.add({ type: "chats", place, offset, num, depth });
  }

  add(segment) {
    const isFirst = !this.segments.length;
    const heading = Math.max(isFirst ? FIRST_HEADING_PX : HEADING_PX, segment.kind === "folders" ? this.tap : 0);
    const px = HEIGHTS[segment.type] === "row" ? this.row : heading;
    this.segments.push({ ...segment, px, position: this.num, top: this.height });
    this.num += segment.num;
    this.height += px * segment.num;
  }

  // The row at a position, from 0 to `num` - 1.
  at(position) {
    const segment = this.segments.findLast((each) => each.position <= position);
    if (!segment || position < 0 || position >= this.num) return null;
    const nth = position - segment.position;
    const place = segment.type === "chats" ? { index: segment.offset + nth } : {};
    return { ...segment, ...place, position, top: segment.top + nth * segment.px };
  }

  positionAtPx(px) {
    const segment = this.segments.findLast((each) => each.top <= px) ?? this.segments[0];
    if (!segment) return 0;
    return segment.position + Math.max(0, Math.min(segment.num - 1, Math.floor((px - segment.top) / segment.px)));
  }

  // Where a chat of a place stands; null: its folder is closed, or it is not in this view.
  positionOf(place, index) {
    const segment = this.segments.find(
      (each) => each.place === place && each.offset <= index && index < each.offset + each.num,
    );
    return segment ? segment.position + index - segment.offset : null;
  }

  positionOfKey(key) {
    return this.segments.find((each) => each.key === key)?.position ?? null;
  }
}
