#pragma once
// BLEU of a corpus (Papineni et al. 2002), as sacreBLEU has it by default (Post 2018, arXiv
// 1804.08771): tokens of mteval-v13a, n-grams up to 4, one reference, exponential smoothing.

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dbench::train {

/// The tokens of mteval-v13a: words apart from punctuation, except in numbers.
std::vector<std::string> bleu_tokens(std::string_view line);

/// Counts over sentences, added up element by element: n-grams that are in the reference, too, for
/// n = 1..4; all n-grams of the hypotheses, n = 1..4; tokens of hypotheses; tokens of references.
using BleuCounts = std::array<double, 10>;

/// Of one sentence.
BleuCounts bleu_counts(std::string_view hypothesis, std::string_view reference);

/// From 0 to 100, of the counts of a corpus.
double bleu(const BleuCounts& counts);

}  // namespace dbench::train
