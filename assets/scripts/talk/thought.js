// What a model thought before it answered: folded, with how long it took; it grows while the model thinks.
import { shortClusters } from "./clusters.js";
import { thoughtFor } from "./numbers.js";

const { t } = window.nkWords;

export const Thought = {
  template: `
    <div>
      <button type="button" class="nk-think" :aria-expanded="String(unfolded)" :aria-controls="id" @click="unfolded = !unfolded">
        <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-brain"/></svg>{{ thinking ? t("chat-wait-thinking") : thoughtFor(figures) }}
        <span v-if="thinking" class="nk-embers" aria-hidden="true"><i></i><i></i><i></i></span>
        <svg v-else class="nk-i nk-i-14" aria-hidden="true"><use :href="unfolded ? '#nk-chevron-down' : '#nk-chevron-right'"/></svg>
      </button>
      <p v-if="unfolded" class="nk-thought" :id="id" ref="text" dir="auto">{{ shown }}</p>
    </div>`,
  props: { id: String, text: String, figures: Object, thinking: Boolean },
  data() {
    return { unfolded: false };
  },
  computed: {
    shown() {
      return shortClusters(this.text);
    },
  },
  methods: { t, thoughtFor },
};
