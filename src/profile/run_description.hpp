#pragma once
// The facts about a run that its result file holds from the beginning.

#include <cstdint>
#include <string>
#include <vector>

#include "arena/layout.hpp"
#include "profile/schema.hpp"

namespace dbench::profile {

/// Equal on every rank; only rank 0 uses the texts.
struct RunDescription {
    std::string path;
    bool overwrite = false;  ///< Replaces an existing file, if that is a result file.
    std::string name;
    std::string spec;            ///< Resolved spec, JSON.
    std::string provenance;      ///< JSON.
    std::string prediction;      ///< JSON of a predicted step time; empty without a prediction.
    std::string certificate;     ///< Certificate of the first graph, JSON; empty without a graph.
    std::string certificate_of;  ///< The graph of the certificate, JSON.
    std::string stability;  ///< Growth of the algorithm on the graphs, JSON; empty without a graph.

    std::vector<arena::Tensor> tensors;  ///< In the order of named_parameters().
    arena::DType precision = arena::DType::float32;
    std::vector<int64_t> evaluated;  ///< Replicas whose local models are evaluated.
    Features features;
    int64_t iterations = 1;  ///< Iterations of the whole run.
    /// Mean number of iterations between rows; determines chunk sizes.
    int64_t every = 1, variance_every = 1;
    double seconds_per_iteration = 0;  ///< Estimate that determines chunk sizes; 0: not known.
};

}  // namespace dbench::profile
