// A stranger's page of text, shown once: by the same renderer as answers, so nothing in it runs and nothing is fetched.
import { MarkdownView } from "inglenook-markdown";

export default {
  template: `<div class="prose nk-card-text" ref="prose"></div>`,
  props: { text: String },
  mounted() {
    new MarkdownView(this.$refs.prose, "card").update(this.text, false);
  },
};
