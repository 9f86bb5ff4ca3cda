"""Tables of text as Markdown and LaTeX (booktabs)."""

LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
         "{": r"\{", "}": r"\}",
         "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "†": r"\dag{}",
         "–": "--"}


def latex_text(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def markdown(head: list[str], rows: list[list[str]], bold=frozenset()) -> str:
    """`bold`: (row, column) of the cells to set in bold."""
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
    """A tabular for \\usepackage{booktabs}; the first `words` columns are aligned left.

    `above`: (text, columns) of headings that span columns after the first `words`; notes are
    comments.
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
