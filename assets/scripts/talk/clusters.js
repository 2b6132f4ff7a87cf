// Marks without end on one letter, broken up in what is shown alone: the text itself is kept and copied as it is. See fields.js.
export const shortClusters = window.nkFields.short;
