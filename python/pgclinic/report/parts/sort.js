// Tables that can be sorted by each of their columns: figures begin with the largest, texts with the first.
(function () {
  "use strict";

  const NEXT = { none: null, ascending: "descending", descending: "ascending" };

  document.querySelectorAll("table.sortable").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    // The order in which the rows came decides where two are equal.
    const places = new Map([...body.rows].map((row, place) => [row, place]));

    function figure(row, column) {
      const value = row.cells[column].dataset.value;
      return value === undefined ? null : Number(value);
    }

    function text(row, column) {
      return row.cells[column].textContent.trim();
    }

    function compare(one, other, column, ascending) {
      const figures = [figure(one, column), figure(other, column)];
      if (figures.every((value) => value === null)) {
        return text(one, column).localeCompare(text(other, column)) * (ascending ? 1 : -1);
      }
      // What is not known stands last in both directions.
      if (figures.includes(null)) return figures[0] === null ? 1 : -1;
      return (figures[0] - figures[1]) * (ascending ? 1 : -1);
    }

    heads.forEach((head, column) => {
      const isFigure = [...body.rows].some((row) => figure(row, column) !== null);
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const order = NEXT[head.getAttribute("aria-sort") || "none"] || (isFigure ? "descending" : "ascending");
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const ascending = order === "ascending";
        const rows = [...body.rows].sort(
          (one, other) => compare(one, other, column, ascending) || places.get(one) - places.get(other)
        );
        body.append(...rows);
      });
    });
  });
})();
