// Search as one types: it takes the list's place. What is typed is all there is: chips only write words such as `tag:work`
// into it, and take them out again, so that a filter can be read, changed and learnt.
const t = (...said) => window.nkWords.t(...said);
const WAIT_MS = 70; // between the last key and the question
const MARKS = /[\ue000\ue001]/;
const DAY_MS = 24 * 3600 * 1000;

const day = (at) => new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 10);
const quoted = (name) => (/\s/.test(name) ? `"${name}"` : name);

export const SideSearch = {
  props: { folders: Array, tags: Array, models: Array, active: String },
  emits: ["close", "open"],
  template: `
    <div class="nk-search" role="search" @keydown="key">
      <div class="nk-side-act">
        <label class="nk-input nk-input-sm">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-search"/></svg>
          <input ref="field" v-model="text" type="text" data-nk-search autocomplete="off" spellcheck="false" enterkeyhint="search" maxlength="400" dir="auto"
            :aria-label="t('sidebar-search-label')" :placeholder="t('sidebar-search-label')" aria-describedby="nk-search-hint">
          <button type="button" class="nk-ib nk-ib-sm nk-search-x" :aria-label="t('sidebar-search-close')" :title="t('sidebar-search-close')" @click="$emit('close')">
            <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-x"/></svg></button>
        </label>
        <div class="nk-chips" role="group" :aria-label="t('sidebar-filters')">
          <template v-for="chip in chips" :key="chip.label">
            <button type="button" class="nk-chip nk-chip-sm" :class="{ on: chip.on }" :aria-pressed="chip.choices ? null : String(chip.on)"
              :aria-haspopup="chip.choices ? 'menu' : null" @click="chip.choices || flip(chip.word)">{{ chip.label }}
              <svg v-if="chip.choices" class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-chevron-down"/></svg>
              <q-menu v-if="chip.choices" auto-close no-refocus class="nk-menu" anchor="bottom left" self="top left" :offset="[0, 4]" @hide="goOn">
                <div role="menu" :aria-label="chip.label">
                  <button v-for="choice in chip.choices" :key="choice.word" type="button" class="nk-nav" role="menuitemcheckbox" :aria-checked="String(has(choice.word))" @click="flip(choice.word)">
                    <span class="nk-ell nk-grow" dir="auto">{{ choice.label }}</span>
                    <svg v-if="has(choice.word)" class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-check"/></svg>
                  </button>
                </div>
              </q-menu>
            </button>
          </template>
        </div>
      </div>
      <div class="nk-side-scroll" :class="{ 'nk-empty': isNothing }" ref="hits">
        <span v-if="isNothing" class="nk-glyph" aria-hidden="true"><svg class="nk-i nk-i-20"><use href="#nk-search"/></svg></span>
        <div class="nk-group nk-found" role="status">{{ heading }}</div>
        <a v-for="hit in hits" :key="hit.id" class="nk-hit" :class="{ on: hit.id === active }" :href="addressOf(hit)" data-nk-close-menu
          @click.exact.prevent="$emit('open', hit)">
          <b><span class="nk-ell" dir="auto"><template v-for="part in hit.title"><mark v-if="part.hit">{{ part.text }}</mark><template v-else>{{ part.text }}</template></template></span>
            <span><svg v-if="hit.archived" class="nk-i nk-i-14" role="img" :aria-label="t('sidebar-archived')"><use href="#nk-archive"/></svg>{{ hit.when }}</span></b>
          <p dir="auto"><template v-for="part in hit.snippet"><mark v-if="part.hit">{{ part.text }}</mark><template v-else>{{ part.text }}</template></template></p>
        </a>
        <p id="nk-search-hint" class="nk-hint nk-search-hint">{{ t('sidebar-search-hint', { tag: t('sidebar-word-tag'), before: t('sidebar-word-before') }) }}</p>
      </div>
    </div>`,
  data() {
    return { text: "", hits: [], heading: "" };
  },
  computed: {
    isNothing() {
      return this.heading !== "" && !this.hits.length;
    },
    chips() {
      const choice = (word, name, label = name) => ({ word: `${t(word)}:${quoted(name)}`, label });
      const after = (days) => `${t("sidebar-word-after")}:${day(new Date(Date.now() - days * DAY_MS))}`;
      const year = new Date().getFullYear();
      const chips = [
        { label: t("sidebar-filter-folder"), choices: this.folders.map(({ name }) => choice("sidebar-word-in", name)) },
        { label: t("sidebar-filter-tag"), choices: this.tags.map(({ name }) => choice("sidebar-word-tag", name)) },
        { label: t("sidebar-filter-date"), choices: [
          { word: after(0), label: t("sidebar-today") }, { word: after(7), label: t("sidebar-week") }, { word: after(30), label: t("sidebar-month") },
          { word: `${t("sidebar-word-after")}:${year}`, label: String(year) }, { word: `${t("sidebar-word-before")}:${year}`, label: t("sidebar-before-year", { year: String(year) }) },
        ] },
        { label: t("sidebar-filter-who"), choices: [choice("sidebar-word-from", t("sidebar-word-me"), t("sidebar-from-me")), choice("sidebar-word-from", t("sidebar-word-model-role"), t("sidebar-from-model"))] },
        { label: t("sidebar-filter-model"), choices: this.models.map((name) => choice("sidebar-word-model", name)) },
        { label: t("sidebar-pinned"), word: `${t("sidebar-word-is")}:${t("sidebar-word-pinned")}` },
        { label: t("sidebar-archive-name"), word: `${t("sidebar-word-is")}:${t("sidebar-word-archived")}` },
      ];
      return chips
        .filter(({ choices }) => !choices || choices.length)
        .map((chip) => ({ ...chip, on: chip.choices ? chip.choices.some(({ word }) => this.has(word)) : this.has(chip.word) }));
    },
  },
  watch: {
    text() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.find(), WAIT_MS);
    },
  },
  mounted() {
    this.$refs.field.focus();
  },
  unmounted() {
    clearTimeout(this.timer);
    this.asking?.abort();
  },
  methods: {
    t,
    has(word) {
      return ` ${this.text} `.toLowerCase().includes(` ${word} `.toLowerCase());
    },
    flip(word) {
      if (this.has(word)) this.text = ` ${this.text} `.replace(` ${word} `, " ").trim();
      else this.text = `${this.text.trim()} ${word} `.trimStart();
      this.$nextTick(() => this.$refs.field.focus());
    },
    // What was chosen stands in the field.
    goOn() {
      if (document.activeElement === document.body) this.$refs.field?.focus();
    },
    async find() {
      this.asking?.abort();
      if (!this.text.trim()) return Object.assign(this, { hits: [], heading: "" });
      this.asking = new AbortController();
      const query = new URLSearchParams({ q: this.text });
      const answer = await fetch(`${window.path_prefix || ""}/ui/chats/search?${query}`, { signal: this.asking.signal }).catch(() => null);
      if (!answer?.ok) return undefined; // a newer question is on its way, or the server is away
      const { hits, more, words } = await answer.json();
      this.hits = hits.map((hit) => ({ ...hit, title: this.parts(hit.title), snippet: this.parts(hit.snippet), when: this.when(hit.at) }));
      this.heading = t(words ? "sidebar-found" : "sidebar-found-all", { count: hits.length, words, more: more ? "yes" : "no" });
      return undefined;
    },
    // Marks come in turns: what stands between the first and the second is a hit, and so on.
    parts(text) {
      return text.split(MARKS).map((part, index) => ({ text: part, hit: index % 2 === 1 })).filter((part) => part.text);
    },
    when(at) {
      const date = new Date(at);
      const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / DAY_MS);
      if (days < 1) return t("sidebar-today");
      const form = days < 7 ? { weekday: "short" } : days < 300 ? { day: "numeric", month: "short" } : { month: "short", year: "numeric" };
      return new Intl.DateTimeFormat(window.nkWords.language, form).format(date);
    },
    addressOf(hit) {
      return `/c/${hit.id}${hit.message ? `?m=${hit.message}` : ""}`;
    },
    key(event) {
      if (event.target.closest(".q-menu")) return;
      const links = [...this.$refs.hits.querySelectorAll(".nk-hit")];
      const at = links.indexOf(document.activeElement);
      const isField = event.target === this.$refs.field;
      if (event.key === "Enter" && isField && !event.isComposing) links[0]?.click();
      else if (event.key === "ArrowDown" && (isField || at >= 0)) links[Math.min(at + 1, links.length - 1)]?.focus();
      else if (event.key === "ArrowUp" && at >= 0) (links[at - 1] ?? this.$refs.field).focus();
      else if (event.key === "Home" && at >= 0) links[0].focus();
      else if (event.key === "End" && at >= 0) links.at(-1).focus();
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  },
};
