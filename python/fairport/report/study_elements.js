// Helpers for the page of a study: elements, colours, and values as text.
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

const swatch = (fill, text) => make("span", {}, draw("svg", { class: "swatch", viewBox: "0 0 10 10" }, draw("rect", { width: 10, height: 10, fill })), text);

// Where the parts of a number at a point are in the page's data.
const [MEDIAN, LOW, HIGH, LOWER, UPPER] = [0, 1, 2, 3, 4];

// The numbers by which a point is ranked: its median and interval. If its seeds have two states, only the worse one.
function counted(of, at) {
  const cost = (value) => {
    if (of.goal === "even") return value > 0 ? Math.abs(Math.log(value)) : Infinity;
    return of.goal === "less" ? value : -value;
  };
  if (at[LOWER] === null) return { cost: cost(at[MEDIAN]), low: at[LOW], high: at[HIGH] };
  const worse = cost(at[LOWER]) > cost(at[UPPER]) ? at[LOWER] : at[UPPER];
  return { cost: cost(worse), low: worse, high: worse };
}

function colour(of, value) {
  const scale = of.log ? Math.log : (one) => one;
  const [least, most] = [scale(of.least), scale(of.most)];
  const at = value <= 0 && of.log ? 0 : (scale(value) - least) / (most - least || 1);
  return of.colours[Math.round(Math.min(Math.max(at, 0), 1) * (of.colours.length - 1))];
}
