// Sign-in and setup: the theme and the size of text of this browser, from before anything is painted, and the eye that shows a password.
// The forms work without it.
const theme = localStorage.getItem("inglenook.theme") ?? "system";
const system = matchMedia("(prefers-color-scheme: dark)");

function dress() {
  const dark = theme === "dark" || (theme === "system" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

document.documentElement.style.fontSize = `${Number(localStorage.getItem("inglenook.text")) || 100}%`;
dress();
system.addEventListener("change", dress);

document.addEventListener("DOMContentLoaded", () => {
  for (const eye of document.querySelectorAll("[data-eye]")) {
    const show = eye.getAttribute("aria-label");
    eye.hidden = false;
    eye.addEventListener("click", () => {
      const field = eye.parentElement.querySelector("input");
      const shown = field.type === "text";
      field.type = shown ? "password" : "text";
      eye.setAttribute("aria-label", shown ? show : eye.dataset.hide);
      eye.querySelector("use").setAttribute("href", shown ? "#nk-eye" : "#nk-eye-off");
    });
  }
  for (const form of document.querySelectorAll("form")) {
    form.addEventListener("submit", (event) => {
      const field = form.querySelector("[data-least]");
      if (field !== null && [...field.value].length < Number(field.dataset.least)) {
        event.preventDefault();     // a page that is sent comes back without the password: what was typed is kept here
        showTooShort(field);
      } else form.querySelector("[type=submit]").classList.add("is-busy");
    });
  }
});

function showTooShort(field) {
  const place = field.closest("label");
  place.querySelector(".nk-input").classList.add("is-bad");
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", "password-problem");
  const words = place.querySelector("template");
  words?.replaceWith(words.content);
  field.focus();
}
