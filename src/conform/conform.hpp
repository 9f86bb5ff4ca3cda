#pragma once
// Conformance: every algorithm's production code against its dense reference, and against what it
// promises.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "algorithms/algorithm.hpp"
#include "base/json.hpp"
#include "comm/world/world.hpp"

namespace dbench::conform {

/// An algorithm with the optimizer that it is tried with; both as a spec has them.
struct Subject {
    base::Json algorithm, optimizer;
    const algorithms::AlgorithmEntry* row;  ///< whose code is tried
    bool promised = true;                   ///< its promises hold for this form
    bool same_start = false;                ///< its paper lets all replicas start at one point
    const algorithms::OptimizerEntry* optimizer_row = nullptr;  ///< null: that of the table
    base::Json message = "float32";                             ///< as a spec has it
};

/// The table's algorithms in all their forms and with the optimizers that suit; of one algorithm,
/// or (empty) of all. Throws UserError where there is none of that name.
std::vector<Subject> subjects(const std::string& algorithm);

struct Options {
    base::Json graph = {};  ///< null: one that suits, a ring or a path
    int64_t replicas = 8;
    /// Also what takes thousands of iterations: bias and noise.
    bool thorough = true;
};

struct Check {
    std::string name;
    double found;
    double least, most;  ///< passed where least <= found <= most
    std::string note;
    bool passed() const { return found >= least && found <= most; }
};

struct Report {
    std::string title;  ///< algorithm and optimizer in a few words
    std::string graph;
    std::vector<Check> checks;
    std::string note;     ///< what is worth knowing; mostly empty
    std::string skipped;  ///< why nothing was checked; else empty
    bool passed() const;
};

/// Tries one subject; `reference_of`, where given, is what the reference is made from instead
/// (mutation tests). Collective: all ranks get the same report.
Report conform(comm::World& world, const Subject& subject, const Options& options,
               const base::Json* reference_of = nullptr);

/// Two specs that must train alike on a graph.
struct Equality {
    std::string statement;
    base::Json left, right;  ///< algorithms
    base::Json left_optimizer, right_optimizer;
    std::string graph;        ///< where the statement holds for that one only; empty: for any
    bool same_start = false;  ///< and only where all replicas start at one point
};
const std::vector<Equality>& equalities();
Report conform(comm::World& world, const Equality& equality, const Options& options);

}  // namespace dbench::conform
