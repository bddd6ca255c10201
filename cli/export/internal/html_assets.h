// Style and script of the HTML report. The page loads nothing; its content security policy enforces
// that.
#pragma once

namespace memprof::cli {

inline constexpr char kHtmlStyle[] = R"css(
:root { color-scheme: light dark; --ink: #1c2530; --faint: #667; --page: #fff; --card: #f6f7f9;
  --rule: #d9dde3; --bad: #b3261e; --warn: #9a6700; --driver: #7a8aa0; --pools: #b9a36b;
  --segments: #4f8fd0; --blocks: #2f6f4f; --tensors: #c2571a; --flame-l: 72%; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e7ec; --faint: #9aa3ae; --page: #14181d;
  --card: #1d232a; --rule: #36404b; --bad: #ff8a80; --warn: #f2c14e; --driver: #8ea0b8;
  --pools: #c9b680; --segments: #6aa9e8; --blocks: #5cb98a; --tensors: #f0884a; --flame-l: 38%; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 1240px; margin: 0 auto; padding: 24px; }
p.run { white-space: pre-line; }
h1 { font-size: 20px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 8px; padding-top: 12px; border-top: 1px solid var(--rule); }
h3 { font-size: 15px; margin: 20px 0 6px; }
p { margin: 6px 0; }
nav a { margin-right: 14px; }
a { color: inherit; }
.faint, figcaption { color: var(--faint); }
.verdict { background: var(--card); border-left: 4px solid var(--segments); padding: 10px 14px;
  margin: 14px 0; }
.verdict.bad { border-color: var(--bad); }
.verdict.warn { border-color: var(--warn); }
.leak { background: var(--card); padding: 10px 14px; margin: 12px 0; border-radius: 6px; }
.tier { font-weight: 600; }
.tier.definite, .tier.suspected { color: var(--bad); }
.tier.growing { color: var(--warn); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; margin: 6px 0; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 6px 0; font-size: 14px; }
th, td { text-align: left; padding: 3px 12px 3px 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; overflow-wrap: anywhere; }
th { cursor: pointer; white-space: nowrap; color: var(--faint); font-weight: 600; }
th[aria-sort=ascending]::after { content: " \25b2"; }
th[aria-sort=descending]::after { content: " \25bc"; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: var(--card); padding: 10px 14px; overflow-x: auto; font-size: 13px;
  line-height: 1.4; border-radius: 6px; }
svg { width: 100%; height: auto; display: block; font: 12px system-ui, sans-serif; }
svg text { fill: var(--faint); }
svg .middle { text-anchor: middle; }
svg .end { text-anchor: end; }
svg .grid { stroke: var(--rule); }
svg .step { stroke: var(--rule); stroke-dasharray: 2 3; }
svg .capacity { stroke: var(--bad); stroke-dasharray: 6 4; }
svg .pointer { stroke: var(--ink); visibility: hidden; }
.area { fill-opacity: .18; } .band { fill-opacity: .85; stroke-width: 1; }
.driver { fill: var(--driver); stroke: var(--driver); color: var(--driver); }
.pools { fill: var(--pools); stroke: var(--pools); color: var(--pools); }
.segments { fill: var(--segments); stroke: var(--segments); color: var(--segments); }
.blocks { fill: var(--blocks); stroke: var(--blocks); color: var(--blocks); }
.tensors { fill: var(--tensors); stroke: var(--tensors); color: var(--tensors); }
.area { stroke: none; }
.legend span { margin-right: 16px; font-weight: 600; font-size: 13px; }
.legend span::before { content: "\25a0  "; }
.readout { min-height: 1.5em; color: var(--faint); font-variant-numeric: tabular-nums; }
svg.bars { width: auto; max-width: 100%; } svg.bars path { fill: var(--bad); }
figure { margin: 8px 0; } figcaption { font-size: 13px; }
.flame { position: relative; overflow: hidden; font-size: 12px; line-height: 18px; }
.f { position: absolute; height: 18px; box-sizing: border-box; border: 1px solid var(--page);
  padding: 0 4px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; cursor: pointer;
  background: hsl(var(--h) 62% var(--flame-l)); }
)css";

// Sorts tables, shows values under the pointer, zooms the flame graph. Without the script the page
// is complete, except that the flame graph's boxes are not positioned.
inline constexpr char kHtmlScript[] = R"js(
"use strict";
const bytes = v => { const u = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]; let i = 0;
  while (v >= 1024 && i < 6) { v /= 1024; ++i; }
  return (i ? v.toPrecision(v >= 1000 ? 4 : 3) : v) + " " + u[i]; };
const time = ns => ns < 1e3 ? ns + " ns" : ns < 1e6 ? (ns / 1e3).toFixed(2) + " us"
  : ns < 1e9 ? (ns / 1e6).toFixed(2) + " ms" : (ns / 1e9).toFixed(3) + " s";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.querySelectorAll("th")];
  heads.forEach((head, column) => { head.tabIndex = 0; const sort = () => {
    const number = head.classList.contains("n");
    const up = head.getAttribute("aria-sort") === (number ? "descending" : "none") ||
      (!number && !head.hasAttribute("aria-sort"));
    for (const h of heads) h.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => { const cell = row.cells[column];
      return number ? BigInt(cell.dataset.v || 0) : cell.textContent; };
    const body = table.tBodies[0];
    const rows = [...body.rows].map(row => [key(row), row]);
    rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (up ? 1 : -1));
    body.append(...rows.map(r => r[1])); };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", e => { if (e.key === "Enter") sort(); }); });
}
for (const chart of document.querySelectorAll(".chart")) {
  const data = JSON.parse(chart.querySelector("script").textContent);
  const svg = chart.querySelector("svg"), pointer = chart.querySelector(".pointer");
  const readout = chart.querySelector(".readout");
  svg.addEventListener("pointermove", e => {
    const box = svg.getBoundingClientRect();
    const x = (e.clientX - box.left) * 1200 / box.width;
    const column = Math.floor(x - data.left);
    if (column < 0 || column >= data.width) return;
    pointer.setAttribute("x1", x); pointer.setAttribute("x2", x);
    pointer.style.visibility = "visible";
    const at = data.span * column / data.width;
    let step = null;
    for (const [begin, number] of data.steps) if (begin <= at) step = number; else break;
    readout.textContent = time(at) + (step === null ? "" : ", step " + step) + ": " +
      data.lines.map(l => l.name + " " + bytes(l.max[column]) +
        (l.min[column] === l.max[column] ? "" : " (least " + bytes(l.min[column]) + ")")).join(", ");
  });
}
for (const flame of document.querySelectorAll(".flame")) {
  const boxes = [...flame.querySelectorAll(".f")].map(e => ({ e, x: +e.dataset.x, w: +e.dataset.w,
    d: +e.dataset.d }));
  const show = to => { let rows = 0;
    for (const b of boxes) {
      const inside = b.x < to.x + to.w - 1e-6 && b.x + b.w > to.x + 1e-6 &&
        (b.d >= to.d ? true : b.w >= to.w - 1e-6);
      b.e.style.display = inside ? "" : "none";
      if (!inside) continue;
      const left = Math.max(0, (b.x - to.x) / to.w), right = Math.min(1, (b.x + b.w - to.x) / to.w);
      b.e.style.left = left * 100 + "%"; b.e.style.width = (right - left) * 100 + "%";
      b.e.style.top = b.d * 18 + "px"; rows = Math.max(rows, b.d + 1);
    }
    flame.style.height = rows * 18 + "px"; };
  for (const b of boxes) b.e.addEventListener("click", () => show(b));
  if (boxes.length) show(boxes[0]);
}
)js";

}  // namespace memprof::cli
