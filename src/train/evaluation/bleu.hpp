#pragma once  // Private to train/evaluation.
// BLEU of a corpus (Papineni et al. 2002) with sacreBLEU's defaults (Post 2018, arXiv 1804.08771):
// mteval-v13a tokens, n-grams up to 4, one reference, exponential smoothing.

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dbench::train {

/// Splits a line into mteval-v13a tokens: punctuation is separated from words, but not inside
/// numbers.
std::vector<std::string> bleu_tokens(std::string_view line);

/// Counts that can be added element by element over sentences: n-grams of the hypothesis that occur
/// in the reference, n = 1..4; all n-grams of the hypothesis, n = 1..4; tokens of the hypothesis;
/// tokens of the reference.
using BleuCounts = std::array<double, 10>;

/// Counts one sentence.
BleuCounts bleu_counts(std::string_view hypothesis, std::string_view reference);

/// Returns BLEU, from 0 to 100, for the summed counts of a corpus.
double bleu(const BleuCounts& counts);

}  // namespace dbench::train
