"""Page style: the CSS of the HTML pages, with all their colours, for light, dark and print."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --ground: #fdfdfc; --raised: #f4f3f0; --ink: #1d1c1a; --quiet: #63605a; --rule: #d9d6cf;
  --a: #1f6fc4; --b: #c2541b; --c: #2c7d54; --good: #1f7a4a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #171716; --raised: #222120; --ink: #eceae6; --quiet: #a5a199; --rule: #3b3936;
    --a: #6cb0f5; --b: #f0935a; --c: #6cc795; --good: #6cc795; --bad: #f28b82; } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 66rem; padding: 2rem 1.25rem 4rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem } h3 { font-size: 1rem }
p, dl, ul { max-width: 46rem } .quiet, figcaption { color: var(--quiet) } a { color: var(--a) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .75rem 0 }
dt { color: var(--quiet) } dd { margin: 0 }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem; margin: 1.25rem 0 }
.tile { background: var(--raised); border-radius: .5rem; padding: .8rem 1rem }
.tile b { display: block; font-size: 1.6rem; font-weight: 600; line-height: 1.2 }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0 }
th, td { text-align: right; padding: .22rem .7rem; border-bottom: 1px solid var(--rule); white-space: nowrap }
th { font-weight: 600; color: var(--quiet) } .text { text-align: left; white-space: normal } td small { color: var(--quiet) }
.good { color: var(--good) } .bad { color: var(--bad) }
figure { margin: 1rem 0 } svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif }
.many { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1rem } .many figure { margin: 0 }
.many figcaption { font-weight: 600; color: var(--ink) } .many small { font-weight: 400; color: var(--quiet) }
svg .grid { stroke: var(--rule); stroke-width: 1 } svg text { fill: var(--quiet) }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round }
svg .band { stroke: none; opacity: .16 } svg .dash { stroke-dasharray: 5 4 }
svg .a { stroke: var(--a); fill: var(--a) } svg .b { stroke: var(--b); fill: var(--b) }
svg .c { stroke: var(--c); fill: var(--c) }
svg .q { stroke: var(--quiet); fill: var(--quiet) } svg .line.a, svg .line.b, svg .line.c, svg .line.q { fill: none }
svg text.a, svg text.b, svg text.c, svg text.q { stroke: none; font-weight: 600 }
.bar { display: flex; height: 1.1rem; border-radius: .3rem; overflow: hidden; max-width: 46rem; background: var(--raised) }
.bar i { display: block } details { margin: 1rem 0 } summary { cursor: pointer }
article { margin: .75rem 0; overflow-wrap: anywhere } article h3 { margin: 0 } article p { margin: .3rem 0 }
article.tile b { display: inline; font-size: 1rem }
@media (max-width: 40rem) { body { padding: 1rem .75rem 3rem } h1 { font-size: 1.3rem; overflow-wrap: anywhere }
  dl { grid-template-columns: 1fr } dt { margin-top: .4rem } th, td { padding: .2rem .4rem }
  figure { overflow-x: auto } figure svg { min-width: 34rem } .many svg { min-width: 0 }
  .many { grid-template-columns: 1fr } .tiles { grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)) }
  .tile b { font-size: 1.3rem } ul { padding-left: 1.2rem } }
@media print { body { max-width: none } details { display: none } }
"""
"""The classes `a`, `b` and `c` are the series of a chart, `q` is the reference series."""
