"use strict";
// What every part of the script uses: the words, and elements made without any markup of strings.
const words = data.labels;
const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// The page writes decimals as its language does; files and addresses have points.
const decimal = (text) => (data.language === "ru" ? text.replace(".", ",") : text);

function figure(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value === "Infinity" ? "∞" : "−∞";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return value.toLocaleString(data.language);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return decimal(value.toPrecision(4));
  return decimal(value.toFixed(size < 100 ? 4 : 1));
}

const count = (value) => value.toLocaleString(data.language);
const signed = (value) => (value > 0 ? "+" : "") + figure(value);
// A text with its places filled, which stand in it as {name}.
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
