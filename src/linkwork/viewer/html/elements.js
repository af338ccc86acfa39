// Elements of the page. Text of the document enters as text only, never as markup.

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

const ICONS = {
  play: "M4 2.5v11l9-5.5z", pause: "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z", back: "M12 2.5v11L5.5 8zM3.5 2.5h2v11h-2z",
  step: "M4 2.5v11L10.5 8zM10.5 2.5h2v11h-2z", loop: "M8 2.5V.5L4.8 3.5 8 6.5v-2a3.6 3.6 0 1 1-3.6 3.6h-2A5.6 5.6 0 1 0 8 2.5z",
  home: "M8 1.5 1.5 7.5H3.500v6h3.500v-4h2v4h3.500v-6h2z", theme: "M8 1.500a6.500 6.500 0 1 0 0 13zM8 3v10a5 5 0 0 0 0-10z",
  panel: "M2 3.500h12v1.500H2zM2 7.250h12v1.500H2zM2 11h12v1.500H2z",
};

function iconButton(icon, name, action, attributes = {}) {
  const button = element("button", { class: "icon", type: "button", title: name, "aria-label": name, onclick: action, ...attributes });
  setIcon(button, icon);
  return button;
}

function setIcon(button, icon) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[icon]);
  svg.append(path);
  button.replaceChildren(svg);
}

function rgba(color, alpha = color[3]) {
  return `rgba(${color.slice(0, 3).map((c) => Math.round(255 * c)).join(",")},${alpha})`;
}

function variable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function section(title, open, ...children) {
  return element("details", { open }, element("summary", {}, title), ...children);
}

function check(label, checked, changed) {
  const box = element("input", { type: "checkbox", checked, onchange: () => changed(box.checked) });
  return element("label", { class: "check" }, box, label);
}
