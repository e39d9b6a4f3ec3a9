// What the page of a study is drawn with: elements, colours, and values as text.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

function make(name, set = {}, ...parts) {
  const one = Object.assign(document.createElement(name), set);
  one.append(...parts);
  return one;
}

function draw(name, set = {}, ...parts) {
  const one = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(set)) one.setAttribute(key, value);
  one.append(...parts);
  return one;
}

const shown = (value) => (value === null ? "none" : Number(value.toPrecision(3)).toString());
const unit = (of) => (of.unit ? ` ${of.unit}` : "");
const named = (of) => (of.unit ? `${of.title} (${of.unit})` : of.title);
const bare = (label) => label.replace(/ packets$/, "");

function colour(of, value) {
  const scale = of.log ? Math.log : (one) => one;
  const [least, most] = [scale(of.least), scale(of.most)];
  const at = value <= 0 && of.log ? 0 : (scale(value) - least) / (most - least || 1);
  return of.colours[Math.round(Math.min(Math.max(at, 0), 1) * (of.colours.length - 1))];
}
