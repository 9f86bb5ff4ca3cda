#pragma once
// The table of metrics that evaluations compute in addition to loss and top-1 accuracy. A metric
// adds to sums over the batches of a set, and then computes its value from the sums of the whole
// set. So it need not be a mean over samples: perplexity is exp of a mean loss, and BLEU is a
// function of counts over a corpus.

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/loader.hpp"

namespace at {
class Tensor;
}

namespace dbench::train {

class Model;
struct Weights;

/// A batch of a set with a model's output for it.
struct Scored {
    const Model& model;
    const Weights& weights;
    const data::Dataset& set;
    const data::Batch& batch;
    const at::Tensor& output;  ///< The model's output, not in training mode.
    double loss;               ///< Sum over the batch's terms.
    /// If not null, metrics that produce texts append them here, one line per sample.
    std::string* texts = nullptr;
};

/// An entry of the metric table. The result file's columns are local_NAME and mean_NAME.
struct Metric {
    std::string name, unit;
    std::string description;  ///< The result file appends " of ..." (whose value it is).
    std::string needs;        ///< The data that the metric requires, for error messages.
    bool (*suits)(const data::Dataset& test);
    bool texts;      ///< True if the metric produces texts.
    bool automatic;  ///< Part of "auto" for all data that it suits.
    int64_t sums;    ///< Number of sums that `add` adds to.
    void (*add)(const Scored& scored, double* sums);
    /// Computes the metric from the sums over a whole set with `terms` terms (samples, or tokens).
    double (*value)(const double* sums, double terms);
};
const std::vector<Metric>& metric_table();

/// Returns the names in the order of the table, as `a, b`.
std::string metric_names();

/// Returns the named metrics in the order of the table, or those of "auto" if `names` is nothing.
/// Throws UserError if a named metric does not suit the data.
std::vector<const Metric*> metrics_for(const std::optional<std::vector<std::string>>& names,
                                       const data::Dataset& test);

}  // namespace dbench::train
