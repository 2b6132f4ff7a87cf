// Asks for the variables of a prompt, and gives its words to the composer. Where there is nothing to ask, it is not seen.
// What is filled in here goes into the composer, and to nobody before it is sent.
const { t, language } = window.nkWords;

// Names are chosen by people, and {{constructor}} is one too: what is looked up by a name stands in no plain object.
const BUILT_IN = {
  __proto__: null,
  date: () => new Date().toLocaleDateString(language, { dateStyle: "long" }),
  time: () => new Date().toLocaleTimeString(language, { timeStyle: "short" }),
};
const MANY = /\b(text|clipboard|selection|code|document|notes?|letter|e-?mail)\b/i; // asks for more than a line

const place = ({ name }) => `=${name}`; // of its value

export default {
  template: `
    <dialog ref="dialog" class="nk-dialog nk-prompt-form" :aria-label="name" @close="close">
      <form method="dialog" @submit.prevent="insert" @keydown.enter="enter">
        <h2>{{ name }}</h2>
        <div class="nk-prompt-fields">
          <div v-for="(variable, index) in asked" :key="variable.name" class="nk-field">
            <label class="nk-lab" :for="id(index)">{{ label(variable) }}
              <button v-if="variable.name === 'clipboard' && canPaste" type="button" class="nk-btn nk-btn-ghost nk-btn-sm" @click="paste(variable)">
                <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-clipboard-paste"/></svg>{{ t("prompt-paste") }}</button></label>
            <select v-if="variable.choices.length" :id="id(index)" v-model="values[place(variable)]" class="nk-select">
              <option v-for="choice in variable.choices" :key="choice">{{ choice }}</option></select>
            <textarea v-else-if="isMany(variable)" :id="id(index)" v-model="values[place(variable)]" class="nk-area" rows="5"></textarea>
            <input v-else :id="id(index)" v-model="values[place(variable)]" class="nk-line" autocomplete="off">
          </div>
        </div>
        <p v-if="problem" class="nk-hint bad" role="alert">{{ problem }}</p>
        <div class="nk-acts">
          <button type="button" class="nk-btn nk-btn-ghost" @click="$refs.dialog.close()">{{ t("composer-cancel") }}</button>
          <button type="submit" class="nk-btn nk-btn-primary">{{ t("prompt-insert") }}</button>
        </div>
      </form>
    </dialog>`,
  props: { name: String, parts: Array, selected: String },
  emits: ["closed"],
  data() {
    return { values: {}, problem: "" };
  },
  computed: {
    variables() {
      const all = this.parts.filter((part) => typeof part !== "string");
      return [...new Map(all.map((variable) => [variable.name, variable])).values()];
    },
    asked() {
      return this.variables.filter((variable) => !(variable.name.toLowerCase() in BUILT_IN));
    },
  },
  created() {
    this.t = t;
    this.canPaste = Boolean(navigator.clipboard?.readText);
    this.words = null;
    for (const { name, choices, ...variable } of this.variables) {
      const given = { __proto__: null, ...BUILT_IN, selection: () => this.selected }[name.toLowerCase()]?.();
      this.values[place({ name })] = given || variable.default || choices[0] || "";
    }
  },
  mounted() {
    if (!this.asked.length) this.insert();
    else this.$refs.dialog.showModal();
    this.$refs.dialog.querySelector("input, textarea, select")?.focus();
  },
  methods: {
    place,
    id: (index) => `variable-${index}`,
    isMany: ({ name, default: given }) => MANY.test(name) || given.includes("\n") || given.length > 80,
    label({ name }) {
      const known = ["clipboard", "selection"].includes(name.toLowerCase());
      return known ? t(`prompt-${name.toLowerCase()}`) : name.replace(/^./u, (first) => first.toUpperCase());
    },
    async paste(variable) {
      try {
        this.values[place(variable)] = window.nkFields.short(await navigator.clipboard.readText());
        this.problem = "";
      } catch (error) {
        if (error.name !== "NotAllowedError") throw error;
        this.problem = t("prompt-paste-refused");
      }
    },
    enter(event) {
      const isLine = event.target.tagName === "INPUT" && !event.isComposing;
      if (!isLine && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      if (isLine || event.ctrlKey || event.metaKey) this.insert();
    },
    insert() {
      this.words = this.parts.map((part) => (typeof part === "string" ? part : this.values[place(part)])).join("");
      if (this.$refs.dialog.open) this.$refs.dialog.close();
      else this.close();
    },
    close() {
      window.dispatchEvent(new CustomEvent("nk-insert", { detail: this.words }));
      this.$emit("closed");
    },
  },
};
