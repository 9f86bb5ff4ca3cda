#pragma once
// The communication graph over time, as the exchange sees it: a round for every iteration t, and
// the links of any replica for every round. Convention: W_ij is the weight with which i uses x_j.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/factory_entry.hpp"
#include "base/input_digest.hpp"
#include "base/run_length.hpp"

namespace dbench::graphs {

struct Link {
    int peer;
    double weight;
};

/// Names one mixing matrix of a schedule. Equal `matrix` means equal W; exchange plans and the
/// result file's /graphs rows are keyed by it. `repeats` is true if the schedule uses this matrix
/// again.
struct Round {
    uint64_t matrix;
    bool repeats;
};

class Matrix;
class StagedSchedule;

/// A sequence W_0, W_1, ... of n x n mixing matrices. Every rank holds its own copy and builds only
/// the rows it requests. All functions are pure and deterministic: equal arguments give equal
/// results on every rank.
class Schedule {
public:
    virtual ~Schedule() = default;

    virtual int size() const = 0;  ///< n
    virtual Round at(int64_t t) const = 0;
    /// The round whose matrix a certificate describes: the first round of the graph.
    virtual Round certified() const { return at(0); }
    /// Row i of W: the replicas whose parameters i uses, sorted by peer, including i itself.
    /// Weights are > 0; only the weight of i itself may have any value.
    virtual std::vector<Link> in(Round round, int i) const = 0;
    /// Column i of W: the replicas that use i's parameters, sorted by peer, including i itself.
    virtual std::vector<Link> out(Round round, int i) const = 0;
    /// The sets of two or more replicas on which W is exactly J/m and which exchange with no other
    /// replica (members sorted). The exchange carries them out as all-reduces. The complete graph
    /// is one such set.
    virtual std::vector<std::vector<int>> groups(Round round) const = 0;
    /// Number of rounds after which the sequence repeats; 1 if static, 0 if it never repeats
    /// (random).
    virtual int64_t period() const = 0;

    /// A lower bound, as far as a closed form gives one, on the first iteration that exchanges
    /// anything.
    virtual int64_t first_exchange() const { return 0; }

    /// The round's matrix with its properties known in closed form. Null if the schedule has no
    /// such object; certificates then use only the rows.
    virtual std::shared_ptr<const Matrix> matrix(Round) const { return nullptr; }
    /// All rounds that the sequence can use, if they are few; otherwise empty.
    virtual std::vector<Round> rounds() const { return {}; }
    /// This schedule as a StagedSchedule if it changes between graphs, by a plan or by decisions;
    /// otherwise null.
    virtual StagedSchedule* staged() { return nullptr; }
    const StagedSchedule* staged() const { return const_cast<Schedule*>(this)->staged(); }
    /// The graph of whose links every round uses a random part, if there is one; otherwise null.
    virtual const Schedule* drawn_from() const { return nullptr; }
    /// sqrt(||E[W'W] - J/n||_2) of a random sequence, if known; otherwise a negative number.
    virtual double rho_expected() const { return -1; }
};

/// Facts about the run for schedules that plan over its length.
struct RunFacts : base::RunLength {
    double row_bytes = 4;  ///< Bytes of one replica's parameters.
};

/// Inputs for building a graph, in addition to its resolved spec object.
struct GraphContext {
    int n;
    uint64_t seed;  ///< The spec's graph seed.
    RunFacts run = {};
    /// Receives the digest of each file that the graph is read from. May be null.
    std::shared_ptr<std::vector<base::InputDigest>> inputs = nullptr;
};

/// A row of the graph table. `make(spec, context, pointer)` builds the schedule. It throws
/// UserError if the graph is not defined for n; the error names the nearest n that works and the
/// JSON pointer `pointer`.
struct GraphEntry : base::FactoryEntry<std::unique_ptr<Schedule>(const GraphContext& context,
                                                                 const std::string& pointer)> {
    using FactoryEntry::FactoryEntry;
    bool depends_on_run = false;  ///< True if `make` reads GraphContext::run.
};

/// All graphs, in the order of the documentation.
const std::vector<GraphEntry>& graph_table();

/// Checks the spec's `graph` and fills in defaults. It may be a type's name, an object, or a list
/// of objects with `until`. Throws UserError.
base::Json resolve_graph(const base::Json& spec, const std::string& pointer = "/graph");

/// True if a resolved graph depends on facts about the run; false for null (no graph).
bool depends_on_run(const base::Json& resolved);

/// Resolves `spec` and builds its schedule. Throws UserError.
std::unique_ptr<Schedule> make_graph(const base::Json& spec, const GraphContext& context,
                                     const std::string& pointer = "/graph");

}  // namespace dbench::graphs
