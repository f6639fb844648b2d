// What every page can do: switch between light and dark, print in light, copy commands, mark tables wider than the page.
(function () {
  "use strict";

  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);

  // What is drawn in the colours of the theme listens to this.
  const tell = () => document.dispatchEvent(new Event("themed"));

  function themed() {
    button.textContent = isDark() ? "Light" : "Dark";
    tell();
  }

  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    themed();
  });
  systemDark.addEventListener("change", themed);

  // Paper is white: a dark page is printed light, and put back afterwards.
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    tell();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    themed();
  });

  function select(code) {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }

  function copied(copy, words) {
    copy.textContent = words;
    setTimeout(() => (copy.textContent = "Copy"), 2000);
  }

  document.querySelectorAll("pre > code, .command > code").forEach((code) => {
    const copy = document.createElement("button");
    copy.type = "button";
    copy.className = "copy";
    copy.textContent = "Copy";
    copy.setAttribute("aria-live", "polite");
    copy.addEventListener("click", () => {
      // Where a page may not write to the clipboard, what is selected can be copied by a key.
      const done = navigator.clipboard ? navigator.clipboard.writeText(code.textContent) : Promise.reject();
      done.then(() => copied(copy, "Copied")).catch(() => {
        select(code);
        copied(copy, "Selected");
      });
    });
    const box = code.closest("pre") || code;
    const around = document.createElement("div");
    around.className = "copied";
    box.before(around);
    around.append(box, copy);
  });

  // Tables that are wider than the page say so; one inside closed details learns its width when it is opened.
  const widths = new ResizeObserver((entries) =>
    entries.forEach(({ target }) => target.classList.toggle("sideways", target.scrollWidth > target.clientWidth + 1))
  );
  document.querySelectorAll(".table").forEach((table) => widths.observe(table));

  button.hidden = false;
  themed();
})();
