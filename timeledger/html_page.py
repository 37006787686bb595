"""The frame of every HTML report: one file, no script, nothing fetched; light, dark, on a phone and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from timeledger.svg import HATCHES

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1d2430;--soft:#5b6675;--line:#d9dce1;--ground:#fff;--accent:#4477aa}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a4afbd;--line:#39414c;--ground:#11151b;--accent:#6699cc}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,"Noto Sans","Noto Sans CJK SC",sans-serif;color:var(--ink);background:var(--ground);max-width:860px;margin:2rem auto;padding:0 1.2rem;overflow-wrap:anywhere}
h1{font-size:1.55rem;line-height:1.25;margin:0 .6rem 0 0;display:inline}h2{font-size:1.15rem;margin:2.2rem 0 .5rem}h3{font-size:1rem;margin:1.1rem 0 .2rem}p{margin:.35rem 0}
.soft,figcaption,caption{color:var(--soft);font-size:.92rem}.state{border:1px solid;border-radius:1rem;padding:.02rem .6rem;white-space:nowrap;margin-right:.6rem}
.bar{height:.5rem;border-radius:.25rem;background:var(--line);margin:.7rem 0}.bar i{display:block;height:100%;border-radius:.25rem;background:var(--accent)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(7rem,1fr));gap:.6rem;margin:.9rem 0}.card{border:1px solid var(--line);border-radius:.5rem;padding:.55rem .8rem}
.card:first-child{border-left:.25rem solid var(--accent);grid-column:span 2}.card b{display:block;font-size:1.3rem;line-height:1.3;font-variant-numeric:tabular-nums}.card:first-child b{font-size:1.7rem}.card span{color:var(--soft);font-size:.88rem;display:block}
.say{font-size:1.08rem;border-left:.25rem solid var(--accent);padding:.1rem 0 .1rem .8rem;margin:.9rem 0}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.95rem}caption{text-align:left}
td,th{padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}td.n,th.n{text-align:right;white-space:nowrap}td{overflow-wrap:normal}td:first-child{overflow-wrap:anywhere;min-width:7em}
figure{margin:.6rem 0}svg.wide{min-width:560px}svg{overflow:visible;width:100%;height:auto;display:block;font:13px system-ui,"Noto Sans",sans-serif}svg text{fill:var(--soft)}svg .grid{stroke:var(--line)}svg .ground{fill:var(--ground)}
svg.key{display:inline-block;width:auto;height:.8em;margin-right:.4em;vertical-align:-.05em}.keys{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;font-size:.9rem;margin:.2rem 0}.keys .band svg{opacity:.4}
details{margin:1rem 0}summary{cursor:pointer;font-weight:600}code{font-size:.92em}footer{margin-top:3rem;border-top:1px solid var(--line);padding-top:.6rem}
section+section{border-top:2px solid var(--line);margin-top:3rem;padding-top:2rem}
@media (max-width:560px){.card:first-child{grid-column:1/-1}.cards{grid-template-columns:1fr 1fr}td,th{padding-right:.45rem;font-size:.92em}figure svg:not(.key):not(.wide){font-size:19px}}
@media print{:root{--ink:#000;--soft:#444;--line:#ccc;--ground:#fff}body{margin:0;max-width:none;font-size:13px}figure,.card,tr,h3+p{break-inside:avoid}h2,h3{break-after:avoid}svg.wide{min-width:0}}
"""


def page(title: str, body: str) -> str:
    """A whole page around a body that is HTML already."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)} – timeledger</title><style>{_STYLE}</style></head><body>{HATCHES}{body}"
        f'<footer class="soft">Made by timeledger from a log alone; nothing was sent anywhere.</footer></body></html>\n'
    )


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True) -> str:
    """A table of texts; the first column stands left, the others right (as numbers do) unless they hold words."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if at and numbers else ''}>{escape(cell)}</{tag}>" for at, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{cells(head, "th")}</tr>{body}</table></div>'


def listed(title: str, items: Sequence[str]) -> str:
    """A list with its heading; nothing where it is empty."""
    return f"<h2>{escape(title)}</h2>{_items(items)}" if items else ""


def folded(title: str, body: str) -> str:
    """Something that is read on demand; nothing where it is empty."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>" if body else ""


def folded_list(title: str, items: Sequence[str]) -> str:
    """A list that is read on demand."""
    return folded(title, _items(items)) if items else ""


def _items(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"


def figure(picture: str, caption: str = "") -> str:
    """A chart that keeps its letters legible on a phone by scrolling sideways."""
    told = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure><div class="scroll" tabindex="0">{picture}</div>{told}</figure>' if picture else ""
