#include "train/evaluation/metrics.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "train/evaluation/bleu.hpp"
#include "train/models/model.hpp"

namespace dbench::train {
namespace {

constexpr int64_t kTop = 5;

Metric top5() {
    return {"top5",
            "fraction",
            "share of labels among the five largest logits",
            "more than five classes",
            [](const data::Dataset& test) { return test.classes() > kTop; },
            false,
            false,
            1,
            [](const Scored& scored, double* sums) {
                *sums += scored.model.correct(scored.output, scored.batch, kTop);
            },
            [](const double* sums, double terms) { return *sums / terms; }};
}

Metric perplexity() {
    return {"perplexity",
            "1",
            "exp(cross-entropy), a mean over tokens",
            "tokens",
            [](const data::Dataset& test) { return test.tokens(); },
            false,
            true,
            1,
            [](const Scored& scored, double* sums) {
                const Model& model = scored.model;
                *sums += model.declaration().own_loss
                             ? model.Model::term_losses(model.logits(scored.output), scored.batch)
                                   .sum()
                                   .item<double>()
                             : scored.loss;
            },
            [](const double* sums, double terms) { return std::exp(*sums / terms); }};
}

Metric bleu_score() {
    return {"bleu",
            "1",
            "BLEU from 0 to 100 of greedy translations, as sacreBLEU computes it",
            "pairs of sentences",
            [](const data::Dataset& test) { return test.ragged(); },
            true,
            false,
            std::tuple_size_v<BleuCounts>,
            [](const Scored& scored, double* sums) {
                const data::Batch& batch = scored.batch;
                const auto found = scored.model.translate(
                    scored.weights, input_tensor(batch, scored.output.device()));
                const int64_t* label = batch.labels;
                for (size_t k = 0; k < found.size(); ++k) {
                    const int64_t terms = batch.row_terms[k];
                    std::string text = scored.set.text(found[k]);
                    // A text decoded from bytes can contain any character.
                    std::ranges::replace(text, '\n', ' ');
                    if (scored.texts) *scored.texts += text + "\n";
                    const BleuCounts counts = bleu_counts(
                        // kEndToken is not part of the text.
                        text, scored.set.text({label, label + terms}));
                    for (size_t c = 0; c < counts.size(); ++c) sums[c] += counts[c];
                    label += terms;
                }
            },
            [](const double* sums, double) {
                BleuCounts counts;
                std::copy_n(sums, counts.size(), counts.begin());
                return bleu(counts);
            }};
}

}  // namespace

const std::vector<Metric>& metric_table() {
    static const std::vector<Metric> table = {top5(), perplexity(), bleu_score()};
    return table;
}

std::string metric_names() {
    std::string names;
    for (const Metric& metric : metric_table()) names += (names.empty() ? "" : ", ") + metric.name;
    return names;
}

std::vector<const Metric*> metrics_for(const std::optional<std::vector<std::string>>& names,
                                       const data::Dataset& test) {
    std::vector<const Metric*> chosen;
    for (const Metric& metric : metric_table()) {
        const bool suits = metric.suits(test);
        const bool wanted = names ? std::count(names->begin(), names->end(), metric.name) > 0
                                  : metric.automatic && suits;
        if (wanted && !suits) {
            throw base::UserError("/evaluate/metrics: " + metric.name +
                                  " does not suit the data (it needs " + metric.needs +
                                  "): leave it out");
        }
        if (wanted) chosen.push_back(&metric);
    }
    return chosen;
}

}  // namespace dbench::train
