// What a message is that can be edited in its place: `refused` says why what was written could not be taken.
import { isHalfEdited } from "./editor.js";

export const editable = {
  data() {
    return { editing: isHalfEdited(this.messageId), refused: "" };
  },
  methods: {
    async stopEditing() {
      this.editing = false;
      this.refused = "";
      await this.$nextTick();
      this.$refs.edit?.focus({ preventScroll: true });
    },
    refuse(reason) {
      this.refused = reason;
    },
  },
};
