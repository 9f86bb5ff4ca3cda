#pragma once
// Algorithms with one thing wrong: made from the sources themselves by mutants.py.

#include <optional>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/optimizers/optimizer.hpp"

namespace mutants {

struct Mutant {
    std::string name;  ///< what is wrong
    dbench::algorithms::AlgorithmEntry row;
    std::optional<dbench::algorithms::OptimizerEntry> optimizer;  ///< of the mutant, if that is it
};

const std::vector<Mutant>& all();

}  // namespace mutants
