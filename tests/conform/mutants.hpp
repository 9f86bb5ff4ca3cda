#pragma once
// Algorithms with one error each, generated from the production sources by mutants.py.

#include <optional>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/optimizers/optimizer.hpp"

namespace mutants {

struct Mutant {
    std::string name;  ///< Names the error.
    dbench::algorithms::AlgorithmEntry row;
    /// The mutated optimizer; empty if the error is elsewhere.
    std::optional<dbench::algorithms::OptimizerEntry> optimizer;
};

const std::vector<Mutant>& all();

}  // namespace mutants
