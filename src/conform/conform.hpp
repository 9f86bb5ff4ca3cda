#pragma once
// Conformance checks (`dbench conform`): the production code of every algorithm is compared with
// its dense reference and checked against its promised properties.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "algorithms/algorithm.hpp"
#include "base/json.hpp"
#include "comm/world/world.hpp"

namespace dbench::conform {

/// A case to check: an algorithm with an optimizer, both as spec objects.
struct ConformanceCase {
    base::Json algorithm, optimizer;
    const algorithms::AlgorithmEntry* row;  ///< The table row whose production code runs.
    bool promised = true;                   ///< The row's promises hold for this form.
    bool same_start = false;  ///< The paper requires that all replicas start at one point.
    /// The optimizer to use; null: the row of the optimizer table.
    const algorithms::OptimizerEntry* optimizer_row = nullptr;
    base::Json message = "float32";  ///< The spec's key `message`.
};

/// Returns the cases to check: the forms of `algorithm`, or of all algorithms if it is empty, each
/// with the optimizers that it accepts. Throws UserError if no algorithm has that name.
std::vector<ConformanceCase> conformance_cases(const std::string& algorithm);

/// Options of a conformance check.
struct Options {
    base::Json graph = {};  ///< Null: a ring or a path, depending on what the algorithm accepts.
    int64_t replicas = 8;
    /// Run additionally the checks that need thousands of iterations: bias and noise.
    bool thorough = true;
};

/// The result of one check.
struct Check {
    std::string name;
    double found;
    double least, most;  ///< The check passes if least <= found <= most.
    std::string note;
    bool passed() const { return found >= least && found <= most; }
};

/// The checks of one case or equality.
struct Report {
    std::string title;  ///< A short name: algorithm and optimizer.
    std::string graph;
    std::vector<Check> checks;
    std::string note;     ///< A remark for people; usually empty.
    std::string skipped;  ///< The reason why nothing was checked; otherwise empty.
    bool passed() const;
};

/// Checks one case. If `reference_of` is given, the reference is built from it instead of from the
/// case's algorithm (for mutation tests). Collective: all ranks get the same report.
Report conform(comm::World& world, const ConformanceCase& tested, const Options& options,
               const base::Json* reference_of = nullptr);

/// A statement that two specs train identically on a graph.
struct Equality {
    std::string statement;
    base::Json left, right;  ///< Algorithms.
    base::Json left_optimizer, right_optimizer;
    std::string graph;        ///< The only graph for which the statement holds; empty: all graphs.
    bool same_start = false;  ///< The statement holds only if all replicas start at one point.
};
/// All statements that are checked.
const std::vector<Equality>& equalities();
/// Checks one statement. Collective.
Report conform(comm::World& world, const Equality& equality, const Options& options);

}  // namespace dbench::conform
