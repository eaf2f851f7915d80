"""The style sheet of a page."""

STYLE = """
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: #222; background: #fff;
  max-width: 960px; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.5rem; margin: 0 0 0.6rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.6rem; border-bottom: 1px solid #ddd; padding-bottom: 0.2rem; }
.answer { font-size: 1.2rem; background: #eef4fb; border-left: 4px solid #1f5fa8; padding: 0.7rem 1rem; margin: 0; }
figure { margin: 0.8rem 0 1.6rem; }
img { max-width: 100%; height: auto; }
figcaption, .caption { color: #555; font-size: 0.9rem; max-width: 46rem; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 1rem 0.25rem 0; border-bottom: 1px solid #eee;
  overflow-wrap: anywhere; }
th { white-space: nowrap; }
table.wide td:nth-child(2) { white-space: nowrap; }
small { color: #777; }
@media (max-width: 640px) {
  table.wide tr:first-child { display: none; }
  table.wide td { display: block; border: 0; padding-bottom: 0; }
  table.wide td::before { content: attr(title) ": "; color: #777; }
  table.wide tr { display: block; border-bottom: 1px solid #eee; padding: 0.4rem 0; }
  th { white-space: normal; }
}
.bar { display: inline-block; height: 0.6em; background: #1f5fa8; }
"""
