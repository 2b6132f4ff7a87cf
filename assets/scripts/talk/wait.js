// What an answer waits for, and about how long. It counts, so that a wait never looks dead.
import { inWords } from "./numbers.js";

const { t } = window.nkWords;
const COUNTED_FROM_S = 3;

export const Waiting = {
  template: `
    <div class="nk-wait">
      <span v-if="wait?.title === 'loading'" class="nk-spin nk-spin-ember" aria-hidden="true"></span>
      <span v-else class="nk-embers" aria-hidden="true"><i></i><i></i><i></i></span>
      <span v-if="wait?.title"><b role="status">{{ t("chat-wait-" + wait.title, wait) }}</b> {{ line }}</span>
    </div>`,
  props: { wait: Object }, // {title, detail, about_s, model, position}, see ui/answer_events.py
  data() {
    return { since: 0, now: 0 }; // s
  },
  computed: {
    line() {
      const passed = this.now - this.since;
      const left = (this.wait.about_s ?? 0) - passed;
      const time =
        left >= 1 ? t("chat-wait-about", { time: inWords(left) })
        : this.wait.about_s ? t("chat-wait-soon")
        : passed >= COUNTED_FROM_S ? t("chat-wait-so-far", { time: inWords(passed) })
        : "";
      return [this.wait.detail && t("chat-wait-" + this.wait.detail), time].filter(Boolean).join(t("chat-wait-and"));
    },
  },
  watch: {
    wait() {
      this.since = this.now;
    },
  },
  methods: { t },
  mounted() {
    this.timer = setInterval(() => (this.now += 1), 1000);
  },
  unmounted() {
    clearInterval(this.timer);
  },
};
