#pragma once
// Interface of the training algorithms. An algorithm decides what is computed and exchanged around
// the gradient of one iteration. Each algorithm is one file in types/ that reads like its paper.
//
// Stepper (step/stepper.hpp) makes these calls in iteration t, all on the main thread:
//
//   1. Algorithm::before_forward(step)   before the gradient is computed at step.x
//   2. Algorithm::ready(step, columns)   once per tile of a bucket, still inside the backward pass,
//                                        when the bucket's gradients are complete on all local
//                                        replicas
//   3. Algorithm::after_backward(step)   after the last bucket
//
// The route of a bucket of gradients in the common order adapt_then_combine
// (mixing_algorithms.hpp): `ready` applies the local update to the tile's columns (Step::update)
// and starts their exchange (Step::start_mix), which moves while backward computes the other
// buckets. `after_backward` finishes the exchanges (Step::finish_mix): the averaged columns are
// then in step.x. If other ranks may read the sent rows in place, the algorithm calls Step::reclaim
// in a later iteration before it writes these columns again.

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/linearisation.hpp"
#include "algorithms/optimizers/optimizer.hpp"
#include "algorithms/step/control.hpp"
#include "algorithms/step/probe.hpp"
#include "algorithms/step/timers.hpp"
#include "algorithms/traits.hpp"
#include "arena/state.hpp"
#include "base/factory_entry.hpp"
#include "comm/exchange/exchange.hpp"

namespace dbench::algorithms {

/// One term of a linear combination of rows.
struct Scaled {
    double factor;
    arena::Rows rows;
};

/// Computes the gradients of a second loss (distillation). Writes into g, for each local replica,
/// the gradient at `student` of the distance between its outputs and the outputs at `teacher`, on
/// the replica's own minibatch of iteration `of`. For classes the distance is T^2 KL(softmax
/// teacher / T || softmax student / T) with the temperature T (Hinton et al. 2015, arXiv
/// 1503.02531); for real outputs it is half the squared difference. Both are means over the
/// minibatch. The computation is ordered after the launches on the step's queue.
using Distillation =
    std::function<void(arena::Rows student, arena::Rows teacher, int64_t of, double temperature)>;

/// One iteration as an algorithm sees it: the data, and the operations that an algorithm may use.
/// Every operation works on the rows of this rank's replicas and adds its time to the right phase
/// of `timers`. Stepper creates one Step per iteration; only the main thread uses it.
struct Step {
    int64_t t;            ///< Iteration, counted from 0.
    StepNumbers numbers;  ///< Learning rate and number of the update.
    graphs::Round round;  ///< The schedule's round of this iteration: selects W.
    arena::Rows x, g;     ///< Parameters and gradients of the local replicas.
    const arena::Layout& layout;
    comm::Exchange& exchange;
    Optimizer& optimizer;
    Timers& timers;
    Probe& probe;
    Control& control;
    arena::StateTable& state;
    const Distillation& distillation;
    const Linearisation& linearisation;
    /// Weight decay 0 for every tensor [T], for `apply_direction`, which must not decay again.
    const arena::ReadOnlyArray<double>& no_decay;
    arena::Queue& queue;  ///< The queue that computes x and g. See `wait`.
    /// Round of the following iteration. Has a value only if the rows of that iteration may be sent
    /// as soon as they are complete: its round is already known, and nothing is measured before its
    /// exchange.
    std::optional<graphs::Round> next_round = {};
    int extra_averagings = 0;  ///< Averagings in addition to the first one, see mix_again.

    /// Computes out = base - lr d(g, at) in `columns`, with the optimizer's direction d.
    void update(arena::Rows out, arena::Rows base, arena::Rows at, arena::Columns columns);

    // The next two are for algorithms that compute the direction themselves; they require the
    // optimizer to be plain SGD.
    /// Adds weight decay times x to g.
    void decay(arena::Columns columns);
    /// Computes out = base - lr direction. This is the iteration's local update: its norm is
    /// recorded.
    void apply_direction(arena::Rows out, arena::Rows base, arena::Rows direction,
                         arena::Columns columns);
    /// Computes out = sum of the terms, in one pass. `out` may be one of the terms' rows.
    void combine(arena::Rows out, std::initializer_list<Scaled> terms, arena::Columns columns);
    /// Does this with separate terms for each row of `out`.
    void combine(arena::Rows out, const std::vector<std::vector<arena::Term>>& terms,
                 arena::Columns columns);
    /// Copies `columns` of `from` to `to`.
    void copy(arena::Rows from, arena::Rows to, arena::Columns columns);
    /// Waits until all launches on the queue have finished. Needed by algorithms that read or write
    /// elements on the host. `why` says what they access, for messages.
    void wait(const char* why) { arena::finish(queue, why); }

    /// Starts out = W rows for `columns` with the W of `round`, and returns at once. The rows must
    /// not be written in `columns` before finish_mix. With RowLifetime::until_reclaimed other ranks
    /// of this host may read the rows in place: they must then not be written before `reclaim`, and
    /// finish_mix must write to other rows. All ranks start the same exchanges in the same order.
    comm::Token start_mix(arena::Rows rows, arena::Columns columns,
                          comm::RowLifetime lifetime = comm::RowLifetime::until_finish);
    /// Does the same with the W of `next_round`, which must have a value.
    comm::Token start_next_mix(arena::Rows rows, arena::Columns columns,
                               comm::RowLifetime lifetime);
    /// Waits until no other rank reads the rows of `token` in place. The caller may write them
    /// afterwards. Call it after finish_mix. Returns at once if the rows were not read in place.
    void reclaim(const comm::Token& token);
    /// True if finishing `token` would not wait for messages. Never blocks.
    bool can_finish(const comm::Token& token);
    /// Waits for the exchange of `token` and writes W times the sent rows to `out`, in the token's
    /// columns.
    void finish_mix(const comm::Token& token, arena::Rows out);
    /// Does the same piece by piece; calls `then` with the columns of each piece while they are in
    /// cache.
    void finish_mix(const comm::Token& token, arena::Rows out,
                    const std::function<void(arena::Columns)>& then);
    /// Finishes with out = (W - I) times the sent rows, see Exchange.
    void finish_change(const comm::Token& token, arena::Rows out);
    /// Computes x <- W (x - lr d(g, x)) in one pass (arena/updates/update_and_mix.hpp). Returns
    /// false and does nothing if there is no such pass: on the host, if the round uses rows of
    /// other ranks, or if x must be measured between update and averaging.
    bool update_and_mix(arena::Columns columns);
    /// Finishes a start_mix of x with out = W x - lr d(g, x), in one pass if possible.
    void finish_mix_and_update(const comm::Token& token, arena::Rows out, arena::Columns columns);
    /// Computes out = W rows in all columns; blocks until it is done.
    void mix(arena::Rows rows, arena::Rows out);
    /// Call it after the iteration's averaging into `rows`. Averages `rows` again, in place, as
    /// often as the schedule's controller requests.
    void mix_again(arena::Rows rows);
    bool may_mix_again() const { return control.may_repeat(t); }

    /// Writes to g the gradient at x of the distance to the teacher's outputs, see Distillation.
    void distil(arena::Rows teacher, int64_t of, double temperature);
    /// Linearises the model at any replica's row of parameters (`weights`), on the minibatch of
    /// local replica i in this iteration, see Linearisation.
    void linearise(const char* weights, int64_t i, const Linearised& out);
    /// Returns the mean loss at `weights` on the minibatch of local replica i in this iteration.
    double loss(const char* weights, int64_t i);

    /// Swaps the parameters with `next`: x are then the rows of `next`, which receives the old
    /// ones.
    void replace_parameters(arena::Buffer& next);

private:
    /// Runs the optimizer's pass that updates and mixes; returns false if there is none.
    bool try_one_pass(arena::MixOrder order, arena::Rows out, arena::Columns columns,
                      double* squares_before_averaging);
};

/// Counts what all replicas together sent in one iteration (docs/numerics.md, "what counts as
/// sent").
struct Sent {
    bool averaged = false;   ///< Parameters were averaged with the round's matrix.
    int64_t averagings = 0;  ///< Number for the parameters.
    double degree = 0;       ///< Mean out-degree without the replica itself.
    int64_t messages = 0;
    double rows = 0;      ///< Rows of parameters sent.
    double gathered = 0;  ///< The part of `rows` that holds a group's mean, see RoundCost.
    double bytes = 0;     ///< Bytes in addition to rows: compressed messages, push-sum weights.
};

/// Columns whose exchange is in flight: the tile that `ready` received, or a tile of a whole row. A
/// null token means that nothing is exchanged.
struct PendingTile {
    comm::Token token;
    arena::Columns columns;
};

class Asynchronous;

/// Base class of all algorithms. The object of a run belongs to its Stepper, which calls it from
/// the main thread. All functions that receive a Step are collective: every rank calls them alike.
class Algorithm {
public:
    virtual ~Algorithm() = default;
    /// Returns this object if its replicas do not wait for each other, else null. Such an algorithm
    /// does not use before_forward, ready and after_backward: replicas take their turns one by one
    /// (asynchronous/asynchronous.hpp).
    virtual Asynchronous* asynchronous() { return nullptr; }
    const Asynchronous* asynchronous() const {
        return const_cast<Algorithm*>(this)->asynchronous();
    }
    /// Declares the state that a checkpoint must save, and scratch rows. Called once, before the
    /// first step.
    virtual void declare(arena::StateTable&) {}
    /// Called before the gradient is computed at step.x. May start exchanges and move step.x.
    virtual void before_forward(Step&) {}
    /// Called inside the backward pass of the last local replica, once for each tile of a complete
    /// bucket (Layout::tiles; most buckets are one tile): the gradients in `columns` are complete
    /// on all local replicas, and backward does not read these columns of x again. With gradient
    /// clipping, called for all tiles after backward. May start exchanges.
    virtual void ready(Step&, arena::Columns) {}
    /// Called after the last bucket. Finishes the iteration's exchanges: step.x then holds the
    /// parameters of the next iteration.
    virtual void after_backward(Step&) {}
    /// Returns what iteration t, with this round, sends.
    virtual Sent sent(int64_t t, graphs::Round round) const = 0;
    /// Returns the bytes of the largest message to a single neighbour, for algorithms that keep all
    /// of an iteration's messages at once (sent ones, received ones, and one per own replica); 0
    /// for all others.
    virtual int64_t link_message_bytes() const { return 0; }
    /// Returns a remark for the end of the run: one sentence of at most 512 bytes, or "".
    /// Collective; equal on all ranks.
    virtual std::string remark(comm::World&) const { return ""; }
};

class Codec;

/// The codec of compressed messages, and the seed of its random numbers.
struct Compression {
    std::shared_ptr<const Codec> codec;
    uint64_t seed = 1;
};

/// The parameters of a run from which an algorithm is made.
struct AlgorithmContext {
    int64_t replicas;
    const graphs::Schedule* schedule;  ///< Null for algorithms that take no graph.
    graphs::RunFacts run = {};
    double lr_max = 0;                      ///< Largest learning rate of the run.
    const arena::Layout* layout = nullptr;  ///< Layout of a row.
    arena::DType type = arena::DType::float32;
    Compression compression = {};
    Minibatch minibatch = {};  ///< For algorithms that linearise.
    uint64_t seed = 1;         ///< Seed for neighbours that the algorithm draws itself.
};

/// The functions of an algorithm that depend on its keys, in addition to the factory. S holds the
/// values of the keys. Each function may be null.
template <class S>
struct AlgorithmRules {
    /// Derives the schedule of exchanges from the spec's graph, for algorithms with local steps or
    /// with several averagings. Null: the graph is used unchanged.
    std::function<std::unique_ptr<graphs::Schedule>(
        const S& spec, std::shared_ptr<const graphs::Schedule> graph, const graphs::RunFacts& run)>
        schedule{};
    /// Checks rules that concern more than one key. Throws UserError.
    std::function<void(const S& spec, const std::string& pointer)> check{};
    /// Sets the traits that depend on the keys. Null: no trait does.
    std::function<void(const S& spec, Traits& traits)> refine{};
    /// Checks `base`, the value of the key of this name, which holds another algorithm, and fills
    /// in its defaults. Null: the algorithm has no such key. Throws UserError.
    std::function<void(const S& spec, base::Json& base, const std::string& pointer)> resolve_base{};
};

/// Returns the function that reads an S from a resolved spec and calls `function` with it; null if
/// `function` is null.
template <class S, class Result, class... Args>
std::function<Result(const base::Json&, Args...)> reading(
    std::function<Result(const S&, Args...)> function) {
    if (!function) return nullptr;
    return [function = std::move(function)](const base::Json& resolved, Args... args) {
        return function(S::section().read(resolved), std::forward<Args>(args)...);
    };
}

/// One algorithm in the table: name, keys and factory (base::FactoryEntry), traits, and rules that
/// read the resolved spec.
struct AlgorithmEntry
    : base::FactoryEntry<std::unique_ptr<Algorithm>(const AlgorithmContext& context)> {
    /// The factory of an algorithm whose keys are those of `S::section()`.
    template <class S>
    using Factory = std::unique_ptr<Algorithm> (*)(const S& spec, const AlgorithmContext& context);

    Traits traits = {};
    AlgorithmRules<base::Json> rules = {};

    template <class S>
    AlgorithmEntry(std::string name, std::string help, Factory<S> factory, Traits traits = {})
        : FactoryEntry(std::move(name), std::move(help), factory), traits(traits) {}
    template <class S>
    AlgorithmEntry(std::string name, std::string help, Factory<S> factory, Traits traits,
                   AlgorithmRules<std::type_identity_t<S>> typed)
        : FactoryEntry(std::move(name), std::move(help), factory),
          traits(traits),
          rules{reading(std::move(typed.schedule)), reading(std::move(typed.check)),
                reading(std::move(typed.refine)), reading(std::move(typed.resolve_base))} {}
};

/// Returns the traits of an algorithm with these keys (resolved).
Traits traits_of(const AlgorithmEntry& entry, const base::Json& spec);

/// Returns all algorithms, in the order of the documentation.
const std::vector<AlgorithmEntry>& algorithm_table();

/// Returns the row of a resolved `algorithm` of the spec.
const AlgorithmEntry& entry_of(const base::Json& algorithm);

/// Checks the spec's `algorithm` and returns it with all defaults. Throws UserError.
base::Json resolve_algorithm(const base::Json& given, const std::string& pointer = "/algorithm");
/// Does the same if the only known algorithm is `row`.
base::Json resolve_algorithm(const base::Json& given, const std::string& pointer,
                             const AlgorithmEntry& row);

/// Computes the cost of the schedule's rounds (by default of mixing rows; comm::link_cost for
/// separate messages over the links) and caches the cost of rounds that repeat.
class MixingCost {
public:
    using Cost = comm::RoundCost (*)(const graphs::Schedule&, graphs::Round);
    explicit MixingCost(const graphs::Schedule* schedule, Cost cost = comm::round_cost)
        : schedule_(schedule), cost_(cost) {}
    const comm::RoundCost& at(graphs::Round round) const;

private:
    const graphs::Schedule* schedule_;
    Cost cost_;
    mutable std::vector<std::pair<uint64_t, comm::RoundCost>> cache_;
    mutable comm::RoundCost last_{};
};

}  // namespace dbench::algorithms
