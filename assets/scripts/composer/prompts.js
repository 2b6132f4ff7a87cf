// Of the composer: the prompts that a /command calls up, or the button for those who know of none.
const COMMAND = /(?:^|\s)\/([\p{L}\p{N}_-]{0,40})$/u; // what stands before the caret while a prompt is being chosen
const { short } = window.nkFields;

let selected = ""; // in the conversation, before the reader turned to the composer
document.addEventListener("selectionchange", () => {
  const selection = getSelection();
  if (selection.anchorNode?.parentElement?.closest("#chat")) selected = selection.toString();
});

// A mixin: the component has the field, as $refs.box, and what is in it, as `text`.
export const prompts = {
  emits: ["slash", "prompt"],
  data() {
    return { command: null, prompts: null, active: 0 };
  },
  computed: {
    found() {
      const wanted = this.command?.toLowerCase() ?? "";
      const starts = (prompt) => prompt.command.startsWith(wanted);
      const holds = (prompt) => starts(prompt) || prompt.name.toLowerCase().includes(wanted);
      return (this.prompts ?? []).filter(holds).sort((one, other) => starts(other) - starts(one));
    },
    isChoosing() {
      return this.command !== null && this.prompts !== null && (this.found.length > 0 || (!this.prompts.length && !this.command));
    },
    // Until it is something else that is written, or the list is closed.
    isOffering() {
      return this.isChoosing || this.command === "";
    },
    listId() {
      return `prompts-${this.$.uid}-`;
    },
    combobox() {
      if (!this.isChoosing || !this.found.length) return {};
      const on = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "true", "aria-haspopup": "listbox" };
      return { ...on, "aria-controls": this.listId, "aria-activedescendant": this.listId + this.active };
    },
  },
  watch: {
    command() {
      this.active = 0;
    },
  },
  mounted() {
    window.addEventListener("nk-insert", this.inserted);
  },
  unmounted() {
    window.removeEventListener("nk-insert", this.inserted);
  },
  methods: {
    look() {
      const box = this.$refs.box;
      const before = box.value.slice(Math.max(0, box.selectionStart - 42), box.selectionStart);
      const command = box.selectionStart === box.selectionEnd ? (COMMAND.exec(before)?.[1] ?? null) : null;
      if (command !== null && this.command === null) this.$emit("slash");
      if (command === null) this.closed = false;
      this.slash = command === null ? null : this.slash && { ...this.slash, end: box.selectionStart };
      this.command = this.closed ? null : command;
    },
    // Without a choice.
    leave() {
      if (this.isOffering) this.unslash();
      this.command = null;
    },
    offer(prompts) {
      this.prompts = prompts;
    },
    slashHere() {
      const box = this.$refs.box;
      box.focus();
      if (this.slash && this.isOffering) {
        this.leave(); // pressed again
        return;
      }
      const [start, end] = [box.selectionStart, box.selectionEnd];
      this.slash = { start, end, was: box.value.slice(start, end) };
      const needsSpace = /\S$/.test(box.value.slice(0, start));
      box.setRangeText(needsSpace ? " /" : "/", start, end, "end");
      this.text = box.value;
      this.closed = false;
      this.typed();
    },
    // Nobody wrote the button's slash, nor what only sought a prompt: what was written before is as it was.
    unslash() {
      if (!this.slash) return;
      const { start, end, was } = this.slash;
      const box = this.$refs.box;
      this.slash = null;
      box.setRangeText(was, start, end, "select");
      this.text = box.value;
      this.typed();
    },
    walk(event) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") {
        this.closed = true; // until another command is begun
        this.leave();
      } else if (!this.found.length) return false;
      else if (step) {
        this.active = (this.active + step + this.found.length) % this.found.length;
        this.$nextTick(() => this.$refs.list?.children[this.active]?.scrollIntoView({ block: "nearest" }));
      } else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey) this.choose(this.found[this.active]);
      else return false;
      return true;
    },
    choose(prompt) {
      const end = this.$refs.box.selectionStart;
      this.place = [end - this.command.length - 1, end];
      this.command = null;
      this.$emit("prompt", { id: prompt.id, selected });
    },
    // What the prompt says, its variables filled in; null: its reader thought better of it.
    inserted({ detail: words }) {
      const box = this.$refs.box;
      const [start, end] = this.place ?? [box.selectionStart, box.selectionEnd];
      box.focus();
      this.place = null;
      if (words === null) {
        this.unslash();
        return;
      }
      this.slash = null;
      box.setRangeText(short(words), start, end, "end");
      this.text = box.value;
      this.$nextTick(() => this.typed());
    },
  },
};
