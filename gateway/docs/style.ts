/** The style sheet of the documentation page. It loads no fonts or images. */
export const STYLE = `
:root { color-scheme: light dark;
  --paper: #fdfdfc; --card: #ffffff; --ink: #1d2430; --quiet: #5d6777; --line: #e1e4ea; --code: #f3f4f7;
  --accent: #1f5fbf; --get: #1a7f4b; --post: #1f5fbf; --patch: #9a5b00; --delete: #b3261e; --good: #1a7f4b; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #12161d; --card: #181d26; --ink: #e4e8ef; --quiet: #98a3b5; --line: #2a3240; --code: #202733;
  --accent: #7fb0ff; --get: #5fd39a; --post: #7fb0ff; --patch: #f0b35a; --delete: #ff8a80; --good: #5fd39a; --bad: #ff8a80; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
code, pre { font: 0.875em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
:not(pre) > code { background: var(--code); border-radius: 4px; padding: 0.1em 0.35em; overflow-wrap: anywhere; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px; padding: 0.8rem 1rem; margin: 0.6rem 0;
  overflow-x: auto; }
pre code { font-size: 0.8125rem; }
.call { border-left: 3px solid var(--accent); }
.layout { max-width: 78rem; margin: 0 auto; display: grid; grid-template-columns: 17rem minmax(0, 1fr); gap: 0 3rem; padding: 0 1.5rem; }
header, main { grid-column: 2; }
header { padding-top: 2.5rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0; letter-spacing: -0.02em; }
h1 small { font-size: 0.9rem; font-weight: 400; color: var(--quiet); letter-spacing: 0; }
h2 { font-size: 1.45rem; margin: 3rem 0 0.4rem; padding-bottom: 0.3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.6rem 0 0.3rem; }
h4 { font-size: 0.78rem; text-transform: uppercase; letter-spacing: 0.06em; color: var(--quiet); margin: 1.3rem 0 0.3rem; }
p { margin: 0.4rem 0; }
ul { margin: 0.4rem 0; padding-left: 1.2rem; }
li { margin: 0.2rem 0; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.4rem 1.2rem; margin: 1.2rem 0; }
article h3 { margin: 0; font-weight: 400; display: flex; flex-wrap: wrap; gap: 0.3rem 0.6rem; align-items: baseline; }
article:target { border-color: var(--accent); }
h3 > .path { background: none; padding: 0; font-size: 0.95rem; font-weight: 600; }
.summary { font-size: 1.05rem; margin: 0.35rem 0 0.5rem; }
.method { font: 700 0.72rem/1 ui-monospace, Menlo, Consolas, monospace; padding: 0.3em 0.5em; border-radius: 5px; border: 1px solid; }
.get { color: var(--get); } .post { color: var(--post); } .patch { color: var(--patch); } .delete { color: var(--delete); }
.quiet { color: var(--quiet); }
.required { font-weight: 600; }
.warning { color: var(--patch); }
.status { font: 700 0.8125rem ui-monospace, Menlo, Consolas, monospace; }
.good { color: var(--good); } .bad { color: var(--bad); }
.response { margin-top: 1rem; font-size: 0.9rem; color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.875rem; margin: 0.3rem 0; }
th { text-align: left; font-weight: 600; color: var(--quiet); border-bottom: 1px solid var(--line); }
th, td { padding: 0.35rem 1rem 0.35rem 0; vertical-align: top; }
td { border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
td:first-child { white-space: nowrap; }
td:nth-last-child(n + 2) { white-space: nowrap; }
.errors td:nth-child(2) { white-space: normal; width: 40%; }
details { margin-top: 0.7rem; }
summary { cursor: pointer; font-size: 0.9rem; }
nav { grid-column: 1; grid-row: 1 / span 2; position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto;
  padding: 2.5rem 0 2rem; font-size: 0.875rem; }
nav b { display: block; margin: 1.1rem 0 0.2rem; font-size: 0.75rem; text-transform: uppercase; letter-spacing: 0.06em; color: var(--quiet); }
nav ul { list-style: none; padding: 0; margin: 0; }
nav li { margin: 0; }
nav a { display: block; padding: 0.16rem 0; color: var(--ink); }
main { padding-bottom: 4rem; }
@media (max-width: 60rem) {
  .layout { display: block; padding: 0 1rem; }
  header { padding-top: 1.5rem; }
  nav { position: static; max-height: 50vh; padding: 0 1rem 0.8rem; margin-top: 1.5rem; border: 1px solid var(--line); border-radius: 10px; }
  article { padding: 0.9rem 1rem; border-radius: 10px; }
  td:nth-last-child(n + 2):not(:first-child) { white-space: normal; }
  .errors td:first-child { white-space: normal; }
}
`;
