"""Published findings asked of given runs: what is claimed, by which rule it is judged, what the
runs say.

`NAMES` is the table of them: name -> (source, module with `judge(cases, terms)` and the sweep that
makes its runs).
"""

from . import ada, dbench, promise
from .finding import Report, Terms

NAMES = {
    "dbench": ("the DBench paper's three findings (arXiv 2509.12213)", dbench),
    "ada": ("Ada's two claims and the controls they need (arXiv 2509.12213)", ada),
    "promise": ("the tables of From Promise to Practice (ICLR 2025)", promise),
}

__all__ = ["NAMES", "Report", "Terms"]
