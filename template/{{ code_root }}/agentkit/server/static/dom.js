// Elements are made here and nowhere else. What a model, a tool or a user wrote becomes a text
// node or an attribute, never markup.

/** Return the element of index.html with this id. */
export const byId = (id) => document.getElementById(id);

/** Return a new element; names that begin with "on" are listeners, children may be texts. */
export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== ""));
  return made;
}

/** Tell screen readers what happened; what streams in is not read out piece by piece. */
export function announce(text) {
  byId("announcer").textContent = text;
}

/** Show one line about what went wrong in place of a view, or take it away. */
export function showProblem(text = "") {
  byId("problem").textContent = text;
  byId("problem").hidden = !text;
}
