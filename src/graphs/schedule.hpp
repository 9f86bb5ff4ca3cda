#pragma once
// A communication graph over time, as the exchange sees it: for iteration t a round, and for a
// round the links of any replica. W_ij is the weight with which i uses x_j.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/family.hpp"
#include "base/run_length.hpp"

namespace dbench::graphs {

struct Link {
    int peer;
    double weight;
};

/// Names one mixing matrix of a schedule. Equal `matrix`, equal W: exchange plans and the result
/// file's /graphs rows are keyed by it. `repeats`: the schedule will come back to this matrix.
struct Round {
    uint64_t matrix;
    bool repeats;
};

class Matrix;
class Staged;

/// A sequence W_0, W_1, ... of n x n mixing matrices. Every rank holds its own copy and builds only
/// the rows it asks for. Pure and deterministic: same arguments, same answer, on every rank.
class Schedule {
public:
    virtual ~Schedule() = default;

    virtual int size() const = 0;  ///< n
    virtual Round at(int64_t t) const = 0;
    /// The round whose matrix a certificate describes: the first one of the graph.
    virtual Round certified() const { return at(0); }
    /// Row i of W: whose parameters i uses; sorted by peer, i itself included, weights > 0 or, for
    /// self, any.
    virtual std::vector<Link> in(Round round, int i) const = 0;
    /// Column i of W: who uses i's parameters; sorted by peer, i itself included.
    virtual std::vector<Link> out(Round round, int i) const = 0;
    /// The sets of two or more replicas on which W is exactly J/m and which exchange with nobody
    /// else (members sorted): carried out as all-reduces. The complete graph is one such set.
    virtual std::vector<std::vector<int>> groups(Round round) const = 0;
    /// Rounds after which the sequence repeats; 1: static; 0: never (random sequences).
    virtual int64_t period() const = 0;

    /// No iteration before this one exchanges anything, as far as that is known in closed form.
    virtual int64_t first_exchange() const { return 0; }

    /// The round's matrix with what is known of it in closed form; null where a schedule has none
    /// (certificates then look at the rows alone).
    virtual std::shared_ptr<const Matrix> matrix(Round) const { return nullptr; }
    /// Every round that the sequence can come to, where those are few; else empty.
    virtual std::vector<Round> rounds() const { return {}; }
    /// This schedule where it goes from graph to graph, by a plan or by decisions; null for others.
    virtual Staged* staged() { return nullptr; }
    const Staged* staged() const { return const_cast<Schedule*>(this)->staged(); }
    /// sqrt(||E[W'W] - J/n||_2) of a random sequence, where it is known; a negative number else.
    virtual double rho_expected() const { return -1; }
};

/// What schedules that plan over a run know of it.
struct RunFacts : base::RunLength {
    double row_bytes = 4;  ///< one replica's parameters
};

/// What a graph is made of, beside its resolved spec object.
struct GraphContext {
    int n;
    uint64_t seed;  ///< the spec's graph seed
    RunFacts run = {};
};

/// A row of the graph table. `make` gets the resolved spec object; throws UserError where the
/// definition does not admit n, naming the nearest n that works (JSON pointer `pointer`).
struct GraphEntry : base::Entry {
    bool depends_on_run = false;  ///< uses GraphContext::run
    std::unique_ptr<Schedule> (*make)(const base::Json& spec, const GraphContext& context,
                                      const std::string& pointer);
};

/// All graphs, in the order of documentation.
const std::vector<GraphEntry>& graph_table();

/// The spec's `graph`: a type's name, an object, or a list of objects with `until`; checked and
/// completed. Throws UserError.
base::Json resolve_graph(const base::Json& spec, const std::string& pointer = "/graph");

/// Whether a resolved graph (null: none) needs to know the run.
bool depends_on_run(const base::Json& resolved);

/// Resolves and builds in one go. Throws UserError.
std::unique_ptr<Schedule> make_graph(const base::Json& spec, const GraphContext& context,
                                     const std::string& pointer = "/graph");

}  // namespace dbench::graphs
