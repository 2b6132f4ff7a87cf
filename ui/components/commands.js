// The list of commands, the sheet of shortcuts, and the keys of both: ui/shortcuts.py is the table, ui/components/commands.py answers.
import { FIELD, fits, isMeantHere, marked, matching, pressed, signs, wordsOf } from "inglenook-commands";

const WAIT_MS = 70; // after a key, before the server is asked
const OVER_PAGE = "dialog[open], .q-dialog, .q-menu:not([class*='leave']), .nk-side.open, .nk-drawer.open";
const SEARCH = ".nk-side [data-nk-search], .nk-side input[type=search]";

const t = (id, variables) => window.nkWords.t(id, variables);

export default {
  template: `
    <div>
      <dialog ref="list" class="nk-palette" :aria-label="t('commands-title')" @close="isOpen = false" @click="leave" @keydown="walk">
        <template v-if="isOpen">
          <label class="nk-q">
            <svg class="nk-i nk-i-20" aria-hidden="true"><use href="#nk-search"/></svg>
            <input ref="box" v-model="text" role="combobox" aria-autocomplete="list" aria-expanded="true" aria-controls="nk-hits"
                   :aria-activedescendant="flat.length ? 'nk-hit-' + at : null" :aria-label="t('commands-search')" :placeholder="t('commands-search')"
                   autocomplete="off" spellcheck="false" enterkeyhint="go" maxlength="400">
            <button type="button" class="nk-key" :aria-label="t('close')" @click="close">
              <span class="nk-not-sm" aria-hidden="true">Esc</span><svg class="nk-i nk-i-14 nk-only-sm" aria-hidden="true"><use href="#nk-x"/></svg></button>
          </label>
          <div id="nk-hits" class="nk-body" role="listbox" :aria-label="t('commands-title')">
            <div v-for="group in groups" :key="group.name" role="group" :aria-labelledby="'nk-group-' + group.name">
              <div class="nk-group" :id="'nk-group-' + group.name">{{ t('commands-' + group.name) }}</div>
              <div v-for="item in group.items" :key="item.key" :id="'nk-hit-' + item.index" class="nk-nav" :class="{ on: item.index === at }"
                   role="option" :aria-selected="String(item.index === at)" @click="run(item)" @pointermove="at = item.index">
                <svg class="nk-i" aria-hidden="true"><use :href="'#nk-' + item.icon"/></svg>
                <span class="nk-grow">
                  <span class="nk-ell" dir="auto"><template v-for="part in item.label"><mark v-if="part.hit">{{ part.text }}</mark><template v-else>{{ part.text }}</template></template></span>
                  <span v-if="item.said" class="nk-excerpt" dir="auto"><template v-for="part in item.said"><mark v-if="part.hit">{{ part.text }}</mark><template v-else>{{ part.text }}</template></template></span>
                </span>
                <small v-if="item.note">{{ item.note }}</small>
                <span v-if="item.keys" class="nk-keys"><span v-for="key in item.keys" class="nk-key">{{ key }}</span></span>
                <span v-else class="nk-key nk-enter" aria-hidden="true">↵</span>
              </div>
            </div>
          </div>
          <p v-if="!flat.length && !isWaiting" class="nk-none" role="status">{{ t('commands-none') }}</p>
          <div class="nk-foot" aria-hidden="true">
            <span><span class="nk-key">↑</span><span class="nk-key">↓</span> {{ t('commands-move') }}</span>
            <span><span class="nk-key">↵</span> {{ t('commands-open') }}</span>
            <span>{{ t('commands-scope') }}</span>
          </div>
          <div class="nk-sr" role="status">{{ text ? t('commands-found', { count: flat.length }) : "" }}</div>
        </template>
      </dialog>
      <dialog ref="sheet" class="nk-sheet" aria-labelledby="nk-sheet-title" @click="leave">
        <header>
          <h2 id="nk-sheet-title">{{ t('command-shortcuts') }}</h2>
          <button type="button" class="nk-ib" autofocus :aria-label="t('close')" @click="$refs.sheet.close()">
            <svg class="nk-i" aria-hidden="true"><use href="#nk-x"/></svg></button>
        </header>
        <dl><div v-for="row in rows"><dt>{{ row.label }}</dt><dd><span v-for="key in row.keys" class="nk-key">{{ key }}</span></dd></div></dl>
      </dialog>
    </div>`,

  props: { commands: Array, marks: Array /* around what matches: beginning and end */ },
  emits: ["opened", "search", "chat", "begin", "model", "theme"],

  data() {
    return { isOpen: false, isWaiting: false, text: "", at: 0, recent: [], hits: [], models: [], possible: [], rows: [] };
  },

  computed: {
    groups() {
      const groups = [
        { name: "chats", items: (this.text.trim() ? this.hits : this.recent).map((chat) => this.chatItem(chat)) },
        { name: "actions", items: this.possible.map((command) => this.commandItem(command)).filter(Boolean) },
        { name: "models", items: this.models.map((model) => this.modelItem(model)).filter(Boolean) },
      ].filter((group) => group.items.length);
      groups.flatMap((group) => group.items).forEach((item, index) => (item.index = index));
      return groups;
    },
    flat() {
      return this.groups.flatMap((group) => group.items);
    },
    words() {
      return wordsOf(this.text);
    },
  },

  watch: {
    text() {
      this.at = 0;
      this.ask();
    },
    at() {
      this.$nextTick(() => document.getElementById(`nk-hit-${this.at}`)?.scrollIntoView({ block: "nearest" }));
    },
    flat() {
      if (this.at >= this.flat.length) this.at = 0;
    },
  },

  created() {
    this.turn = 0; // of the search that was asked for last
    this.isToOpen = false; // Enter was pressed before its answer came
  },
  mounted() {
    document.addEventListener("keydown", this.press);
    document.addEventListener("click", this.clicked);
  },
  unmounted() {
    clearTimeout(this.asking);
    document.removeEventListener("keydown", this.press);
    document.removeEventListener("click", this.clicked);
  },

  methods: {
    t,

    // --- the keys of the page ---
    press(event) {
      const keys = pressed(event);
      if (!keys || event.defaultPrevented) return;
      const command = this.commands.find((each) => each.keys.includes(keys) && (keys.startsWith("mod+") || isMeantHere(each.where)));
      if (!command || (command.needs && !document.querySelector(command.needs))) return;
      if (this.isOpen && command.name === "commands") this.close();
      else if (document.querySelector(OVER_PAGE)) return; // what lies over the page comes first
      else this.act(command);
      event.preventDefault();
    },
    clicked(event) {
      if (event.target.closest("[data-nk-commands]")) this.open();
      else if (event.target.closest("[data-nk-shortcuts]")) setTimeout(this.openSheet); // the menu that it stands in closes first
    },
    act(command) {
      switch (command.name) {
        case "commands": return this.open();
        case "shortcuts": return this.openSheet();
        case "new-chat": return this.newChat("");
        case "search": return this.search();
        case "sidebar": return window.nkFrame.toggleSide();
        case "theme": return this.$emit("theme", !document.body.classList.contains("body--dark"));
        case "previous": return this.step(-1, command.needs);
        case "next": return this.step(1, command.needs);
      }
      if (command.href) return location.assign(command.href);
      const target = [...document.querySelectorAll(command.needs)].at(-1);
      if (target.matches(FIELD)) target.focus();
      else target.click();
    },
    newChat(text) {
      const link = document.querySelector("[data-nk-new-chat]");
      if (link && !text) link.click();
      else this.$emit("begin", text);
    },
    search() {
      const field = document.querySelector(SEARCH);
      if (field?.matches(FIELD)) field.focus();
      else if (field) field.click();
      else this.open();
    },
    step(by, listed) {
      const chats = [...document.querySelectorAll(listed)];
      const here = chats.findIndex((chat) => chat.getAttribute("aria-current") === "page");
      const to = here < 0 ? (by > 0 ? 0 : chats.length - 1) : here + by;
      chats[to]?.click();
    },

    // --- the sheet ---
    openSheet() {
      const ownLine = document.body.dataset.nkEnter === "newline";
      const enter = { name: "send", keys: [ownLine ? "mod+enter" : "enter"] };
      const line = { name: "new-line", keys: [ownLine ? "enter" : "shift+enter"] };
      const known = this.commands.filter((each) => each.keys.length);
      this.rows = [...known, enter, line].map((each) => ({ label: t(`command-${each.name}`), keys: signs(each.keys[0]) }));
      this.$nextTick(() => this.$refs.sheet.showModal());
    },

    // --- the list ---
    open() {
      if (document.querySelector("dialog[open]")) return;
      Object.assign(this, { isOpen: true, isWaiting: true, text: "", at: 0, hits: [], isToOpen: false });
      this.possible = this.commands.filter(
        (each) => each.icon && (each.name !== "search" || document.querySelector(SEARCH)) && (!each.needs || document.querySelector(each.needs)) && each.href !== location.pathname,
      );
      this.$refs.list.showModal(); // the browser keeps the focus inside, and gives it back
      this.$nextTick(() => this.$refs.box.focus());
      this.$emit("opened");
    },
    close() {
      this.$refs.list.close();
    },
    leave(event) {
      if (event.target === event.currentTarget) event.target.close(); // beside it: its own area is all covered
    },
    begin({ chats, models }) {
      Object.assign(this, { recent: chats, models });
      if (!this.text.trim()) this.come();
    },
    ask() {
      clearTimeout(this.asking);
      this.turn += 1;
      this.isToOpen = false;
      this.isWaiting = !!this.text.trim();
      if (this.isWaiting) this.asking = setTimeout(() => this.$emit("search", { text: this.text, turn: this.turn }), WAIT_MS);
      else this.hits = [];
    },
    found(turn, hits) {
      if (turn !== this.turn || !this.isOpen) return;
      this.hits = hits;
      this.come();
    },
    come() {
      this.isWaiting = false;
      if (this.isToOpen && this.flat.length) this.run(this.flat[this.at]);
    },
    walk(event) {
      if (event.isComposing || event.keyCode === 229) return;
      const last = this.flat.length - 1;
      const to = { ArrowDown: this.at === last ? 0 : this.at + 1, ArrowUp: this.at === 0 ? last : this.at - 1, PageDown: last, PageUp: 0 }[event.key];
      if (to !== undefined) this.at = Math.max(to, 0);
      else if (event.key === "Enter" && event.target === this.$refs.box) this.enter();
      else return;
      event.preventDefault();
    },
    enter() {
      if (this.isWaiting && this.at === 0) this.isToOpen = true; // the first hit is still on its way
      else if (this.flat.length) this.run(this.flat[this.at]);
    },
    run(item) {
      this.close();
      this.$nextTick(item.run); // the focus is back where it was, for what moves it on
    },

    // --- what stands in it ---
    chatItem(chat) {
      return {
        key: chat.id, icon: "history", label: marked(chat.title, this.marks), said: chat.said && marked(chat.said, this.marks), note: chat.when,
        run: () => this.$emit("chat", chat.id),
      };
    },
    commandItem(command) {
      const text = this.text.trim();
      const isNew = command.name === "new-chat";
      const isDark = document.body.classList.contains("body--dark");
      const label = isNew && text ? t("command-new-chat-about", { text }) : command.name === "theme" ? t(isDark ? "command-light" : "command-dark") : t(`command-${command.name}`);
      if (!isNew && !fits(label, this.words)) return null;
      return {
        key: command.name, icon: command.icon, label: isNew ? [{ text: label }] : matching(label, this.words),
        keys: command.keys.length ? signs(command.keys[0]) : null,
        run: () => (isNew ? this.newChat(text) : this.act(command)),
      };
    },
    modelItem(model) {
      const label = t("command-use-model", { model: model.name });
      if (!fits(label, this.words)) return null;
      return { key: `model ${model.id}`, icon: "box", label: matching(label, this.words), run: () => this.$emit("model", model.id) };
    },
  },
};
