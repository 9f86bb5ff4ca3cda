"""Titles and units of the measures by which replicas differ, as figures and tables print them."""

TITLES = {
    "gini": "Gini coefficient",
    "index_of_dispersion": "index of dispersion",
    "coefficient_of_variation": "coefficient of variation",
    "quartile_coefficient": "quartile coefficient",
    "variance": "variance over replicas",
    "consensus": "consensus distance",
}
UNITS = {
    "gini": "Gini coefficient (no unit)",
    "index_of_dispersion": "variance / mean (unit of a norm)",
    "coefficient_of_variation": "deviation / mean (no unit)",
    "quartile_coefficient": "(Q3 - Q1) / (Q3 + Q1) (no unit)",
    "variance": "variance (squared parameter)",
    "consensus": "distance (unit of a parameter)",
}
