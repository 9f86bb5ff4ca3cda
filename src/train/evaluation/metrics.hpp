#pragma once
// What evaluations tell beside loss and accuracy (top-1), a row each: sums over the batches of a
// set, and the figure that they give for the whole set. Perplexity is exp of a mean loss; a figure
// that no mean over samples gives, such as one of counts over a corpus, keeps all of its counts.

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

/// A batch of a set, and what a model made of it.
struct Scored {
    const Model& model;
    const Weights& weights;
    const data::Dataset& set;
    const data::Batch& batch;
    const at::Tensor& output;      ///< of the model's forward, outside training
    double loss;                   ///< summed over the batch's terms
    std::string* texts = nullptr;  ///< takes the texts of metrics that make them, a line a sample
};

/// A row of the metric table. The result file's columns are local_NAME and mean_NAME.
struct Metric {
    std::string name, unit;
    std::string description;  ///< "... of", to be followed by whose it is
    std::string needs;        ///< the data that it suits, for error messages
    bool (*suits)(const data::Dataset& test);
    bool texts;      ///< whether it makes texts
    bool automatic;  ///< part of "auto" wherever it suits
    int64_t sums;    ///< how many numbers `add` adds to
    void (*add)(const Scored& scored, double* sums);
    /// Of the sums over a whole set with so many terms (samples, or tokens).
    double (*value)(const double* sums, double terms);
};
const std::vector<Metric>& metric_table();

/// The names in the order of the table, as `a, b`.
std::string metric_names();

/// The rows named, in the table's order; those of "auto" where `names` is nothing. Throws UserError
/// where one does not suit the data.
std::vector<const Metric*> metrics_for(const std::optional<std::vector<std::string>>& names,
                                       const data::Dataset& test);

}  // namespace dbench::train
