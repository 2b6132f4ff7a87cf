// A form of parameters, each explained in a line, and what was changed with a way back. The server keeps and checks them.
const { t, language } = window.nkWords;

const shown = (value) => (value === null || value === undefined ? "" : String(value));
const toLines = (text) => text.split("\n").filter(Boolean).map((line) => line.replace(/\\n/g, "\n").replace(/\\t/g, "\t"));
const fromLines = (lines) => lines.map((line) => line.replace(/\n/g, "\\n").replace(/\t/g, "\\t")).join("\n");

export default {
  template: `
    <div class="nk-params">
      <div v-for="field in fields" :key="field.name" class="nk-param" :class="{ changed: isChanged(field) }" :data-param="field.name">
        <div class="nk-param-top">
          <label class="nk-param-name" :id="id(field) + '-l'" :for="id(field)">{{ field.label }}</label>
          <button v-if="isChanged(field)" type="button" class="nk-param-back" :aria-label="field.label + ': ' + back(field)" @click="change(field, null)">
            <svg class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-undo-2"/></svg>{{ back(field) }}</button>
          <span class="nk-grow"></span>
          <input v-if="isNumber(field)" type="number" inputmode="decimal" class="nk-line nk-num" :id="id(field)" v-model="drafts[field.name]" :placeholder="shownDefault(field)"
                 :min="field.low" :max="field.high" step="any" :aria-describedby="id(field) + '-a'" :aria-invalid="problems[field.name] ? 'true' : null"
                 @change="enter(field)" @keydown.enter.prevent="enter(field)">
          <div v-else-if="field.options" class="nk-seg" role="radiogroup" :aria-labelledby="id(field) + '-l'" :aria-describedby="id(field) + '-a'">
            <button v-for="option in field.options" :key="String(option.value)" type="button" role="radio" :class="{ on: chosen(field, option) }"
                    :aria-checked="String(chosen(field, option))" :tabindex="chosen(field, option) ? 0 : -1" @click="change(field, option.value)">{{ option.label }}</button></div>
        </div>
        <input v-if="field.slid" type="range" class="nk-range" :min="field.low" :max="field.high" :step="field.step" :value="now(field)"
               :style="{ '--at': at(field) }" :aria-label="t('param-slider', { name: field.label })" :aria-describedby="id(field) + '-a'" @input="slide(field, $event)" @change="change(field, Number($event.target.value))" @blur="delete sliding[field.name]">
        <textarea v-if="isText(field)" class="nk-area" :id="id(field)" v-model="drafts[field.name]" dir="auto" :rows="field.kind === 'text' ? 4 : 2" :placeholder="field.placeholder"
                  :aria-describedby="id(field) + '-a'" :aria-invalid="problems[field.name] ? 'true' : null" @change="enter(field)"></textarea>
        <p class="nk-hint" :id="id(field) + '-a'">{{ field.about }}</p>
        <p v-if="problems[field.name]" class="nk-hint bad" role="alert">
          <svg class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-circle-alert"/></svg>{{ problems[field.name] }}</p>
      </div>
    </div>`,
  props: { fields: Array, values: Object, refused: Object /* by the server: words by name */ },
  emits: ["change"],
  data() {
    return { drafts: {}, problems: {}, sliding: {} };
  },
  created() {
    this.take();
  },
  watch: {
    values: "take",
    fields: "take",
    refused: {
      handler(refused) {
        this.problems = { ...this.problems, ...refused };
      },
      immediate: true,
    },
  },
  methods: {
    t,
    // What counts now; a field that is being edited is left alone, unless its value was changed elsewhere.
    take() {
      for (const field of this.fields) {
        const value = this.values[field.name];
        const text = field.kind === "lines" ? fromLines(value ?? []) : shown(value);
        if (this.last?.[field.name] === text && this.problems[field.name]) continue;
        if (this.last?.[field.name] !== text) this.drafts[field.name] = text;
        this.last = { ...this.last, [field.name]: text };
        if (this.sliding[field.name] === value) delete this.sliding[field.name];
      }
    },
    id(field) {
      return `param-${this.$.uid}-${field.name}`;
    },
    isNumber: ({ kind }) => kind === "number" || kind === "whole",
    isText: ({ kind }) => kind === "text" || kind === "lines",
    isChanged({ name }) {
      const value = this.values[name];
      return value !== undefined && value !== null && value !== "" && value.length !== 0;
    },
    shownDefault(field) {
      return field.default === null || field.default === undefined ? field.none : field.default.toLocaleString(language, { useGrouping: false });
    },
    back(field) {
      const value = this.isText(field) ? "" : field.options ? field.options.find((option) => option.value === null)?.label : this.shownDefault(field);
      return value ? t("param-back", { value }) : t("param-clear");
    },
    chosen(field, { value }) {
      return (this.values[field.name] ?? null) === value;
    },
    // Where the slider stands. While it is moved its reader is ahead of the server: what was moved before may come back late.
    now(field) {
      return this.sliding[field.name] ?? this.values[field.name] ?? field.default;
    },
    at({ low, high, ...field }) {
      return `${(100 * (Math.min(Math.max(this.now(field), low), high) - low)) / (high - low)}%`;
    },
    slide({ name }, event) {
      this.sliding[name] = Number(event.target.value);
      this.drafts[name] = event.target.value;
    },
    enter(field) {
      const text = String(this.drafts[field.name] ?? "");
      if (field.kind === "text") return this.change(field, text);
      if (field.kind === "lines") return this.change(field, toLines(text));
      if (text === (this.last?.[field.name] ?? "")) return this.say(field, "");
      const number = text === "" ? null : Number(text);
      const isBad = number !== null && !(number >= field.low && number <= field.high && (field.kind === "number" || Number.isInteger(number)));
      const format = (value) => value.toLocaleString(language);
      if (isBad) return this.say(field, t(field.kind === "whole" ? "param-not-whole" : "param-not-number", { low: format(field.low), high: format(field.high) }));
      return this.change(field, number);
    },
    change(field, value) {
      this.say(field, "");
      if (value === null) {
        this.drafts[field.name] = "";
        delete this.sliding[field.name];
      }
      this.$emit("change", { name: field.name, value });
    },
    say({ name }, problem) {
      this.problems = { ...this.problems, [name]: problem };
    },
  },
};
