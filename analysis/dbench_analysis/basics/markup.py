"""Tables of text as Markdown and LaTeX (booktabs)."""

import re

LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
         "{": r"\{", "}": r"\}",
         "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "†": r"\dag{}",
         "–": "--"}


POWER = re.compile(r"\((-?[\d.]+) ± ([\d.]+)\)e([+-]\d+)|(?<![\w.])(-?\d[\d.]*)e([+-]\d+)")


def latex_text(text: str) -> str:
    """Return the text escaped for LaTeX. Numbers such as 9.4e-08 and (9.4 ± 1.6)e-08 become powers
    of ten."""
    found, end = "", 0
    for match in POWER.finditer(text):
        mean, deviation, power, alone, of_alone = match.groups()
        number = f"{mean}({deviation})" if mean else alone
        found += escaped(text[end : match.start()])
        found += rf"${number}\times10^{{{int(power or of_alone)}}}$"
        end = match.end()
    return found + escaped(text[end:])


def escaped(text: str) -> str:
    """Return the text with LaTeX's special characters escaped."""
    return "".join(LATEX.get(letter, letter) for letter in text)


def markdown(head: list[str], rows: list[list[str]], bold=frozenset()) -> str:
    """Return a Markdown table. `bold`: (row, column) of the cells to set in bold."""
    def line(cells):
        return "| " + " | ".join(cells) + " |"

    def cell(i, j, text):
        text = text.replace("|", "\\|")
        return f"**{text}**" if (i, j) in bold else text

    body = [line(cell(i, j, text) for j, text in enumerate(row)) for i, row in enumerate(rows)]
    return "\n".join([line(h.replace("|", "\\|") for h in head),
                      "|" + "|".join(" --- " for _ in head) + "|", *body])


def latex(head: list[str], rows: list[list[str]], bold=frozenset(), words: int = 1, above=(),
          notes=()) -> str:
    """Return a tabular for \\usepackage{booktabs}; the first `words` columns are aligned left.

    above   (text, columns) of headings that span columns after the first `words`
    notes   lines that become comments
    """
    def cell(i, j, text):
        text = latex_text(text)
        return rf"\textbf{{{text}}}" if (i, j) in bold else text

    lines = [f"% {note}" for note in notes]
    lines += [rf"\begin{{tabular}}{{{'l' * words}{'r' * (len(head) - words)}}}", r"\toprule"]
    if above:
        spans, rules, at = [], [], words + 1
        for text, width in above:
            spans.append(rf"\multicolumn{{{width}}}{{c}}{{{latex_text(text)}}}")
            rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
            at += width
        lines += [" & ".join([*[""] * words, *spans]) + r" \\", " ".join(rules)]
    lines += [" & ".join(latex_text(h) for h in head) + r" \\", r"\midrule"]
    lines += [" & ".join(cell(i, j, text) for j, text in enumerate(row)) + r" \\"
              for i, row in enumerate(rows)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
