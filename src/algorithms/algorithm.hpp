#pragma once
// Training algorithms: what happens around the gradient of one iteration. Each is one file that
// reads like its paper.

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/linearisation.hpp"
#include "algorithms/optimizers/optimizer.hpp"
#include "algorithms/step/control.hpp"
#include "algorithms/step/probe.hpp"
#include "algorithms/step/timers.hpp"
#include "arena/state.hpp"
#include "comm/exchange/exchange.hpp"

namespace dbench::algorithms {

/// A term of a linear combination of rows.
struct Scaled {
    double factor;
    arena::Rows rows;
};

/// The gradients of a second loss. Writes into g, for each local replica, the gradient at `student`
/// of how far its outputs are from those at `teacher`, on the replica's own minibatch of iteration
/// `of`: T^2 KL(softmax teacher / T || softmax student / T), T the temperature (Hinton et al. 2015,
/// arXiv 1503.02531); of real outputs half the squared difference. Means over the minibatch. Behind
/// what is on the step's queue.
using Distillation =
    std::function<void(arena::Rows student, arena::Rows teacher, int64_t of, double temperature)>;

/// One iteration as an algorithm sees it. x and g are the local replicas' parameters and gradients;
/// the round is the schedule's for this iteration.
struct Step {
    int64_t t;
    StepNumbers numbers;
    graphs::Round round;
    arena::Rows x, g;
    const arena::Layout& layout;
    comm::Exchange& exchange;
    Optimizer& optimizer;
    Timers& timers;
    Probe& probe;
    Control& control;
    arena::StateTable& state;
    const Distillation& distillation;
    const Linearisation& linearisation;
    const arena::Placed<double>& no_decay;  ///< per tensor [T], all 0
    arena::Queue* queue = nullptr;          ///< where x and g are computed; see wait
    /// That of the following iteration, if what it sends may leave as soon as it is there: its
    /// round is known now, and nothing is measured before its exchange.
    std::optional<graphs::Round> next_round = {};
    int more_rounds = 0;  ///< averagings beside the first, see mix_again

    /// out = base - lr d(g, at), in `columns`.
    void update(arena::Rows out, arena::Rows base, arena::Rows at, arena::Columns columns);

    // For algorithms that make the direction themselves, with plain SGD as the optimizer:
    /// g += weight decay times x.
    void decay(arena::Columns columns);
    /// out = base - lr direction, the iteration's local update (its norm is recorded).
    void descend(arena::Rows out, arena::Rows base, arena::Rows direction, arena::Columns columns);
    /// out = sum of the terms; out may be among them. One pass.
    void combine(arena::Rows out, std::initializer_list<Scaled> terms, arena::Columns columns);
    void combine(arena::Rows out, const std::vector<std::vector<arena::Term>>& terms,
                 arena::Columns columns);  ///< terms per row
    void copy(arena::Rows from, arena::Rows to, arena::Columns columns);
    /// For algorithms that touch elements themselves: returns once all that was asked for has been
    /// computed, at once without a queue. `why`: what they touch.
    void wait(const char* why) { arena::finish(queue, why); }

    /// Rows that stay until they are reclaimed may be read in place, see Exchange; W times them
    /// then goes elsewhere.
    comm::Token start_mix(arena::Rows rows, arena::Columns columns,
                          comm::Stay stay = comm::Stay::until_finish);
    /// The same in the next round, which there is.
    comm::Token start_next_mix(arena::Rows rows, arena::Columns columns, comm::Stay stay);
    void reclaim(const comm::Token& token);
    bool moved(const comm::Token& token);  ///< whether finishing it would not wait
    void finish_mix(const comm::Token& token, arena::Rows out);
    /// Piece by piece: `then` is called with the columns of each, while they are in cache.
    void finish_mix(const comm::Token& token, arena::Rows out,
                    const std::function<void(arena::Columns)>& then);
    void finish_change(const comm::Token& token, arena::Rows out);  ///< (W - I) m, see Exchange
    /// x <- W (x - lr d(g, x)) in one pass (arena/updates/update_and_mix.hpp); false, and nothing
    /// is done, where there is none: without a queue, with rows of other ranks, where x is measured
    /// between.
    bool update_and_mix(arena::Columns columns);
    /// After start_mix of x: out = W x - lr d(g, x), in one pass where there is one.
    void finish_mix_and_update(const comm::Token& token, arena::Rows out, arena::Columns columns);
    void mix(arena::Rows rows, arena::Rows out);  ///< blocking, all columns
    /// After the iteration's averaging into `rows`: averages again, in place, for as long as the
    /// schedule's controller asks for it.
    void mix_again(arena::Rows rows);
    bool may_mix_again() const { return control.may_repeat(t); }

    /// g = the gradient at x of the loss against the teacher, see Distillation.
    void distil(arena::Rows teacher, int64_t of, double temperature);
    /// The model around anyone's row of parameters, and its loss there, on the minibatch that the
    /// local replica i has in this iteration, see Linearisation.
    void linearise(const char* weights, int64_t i, const Linearised& out);
    double loss(const char* weights, int64_t i);

    /// What `next` holds are the parameters from now on, and it has those from before.
    void replace_parameters(arena::Buffer& next);

private:
    bool in_one_pass(arena::MixOrder order, arena::Rows out, arena::Columns columns,
                     double* squared_before);
};

/// What one iteration sent (docs/numerics.md, "what counts as sent"), over all replicas.
struct Sent {
    bool averaged = false;  ///< parameters were averaged with the round's matrix
    int64_t rounds = 0;     ///< averagings of parameters
    double degree = 0;
    int64_t messages = 0;
    double rows = 0;      ///< rows of parameters sent
    double gathered = 0;  ///< of these such as hold a group's mean, see RoundCost
    double bytes = 0;     ///< beside rows: compressed messages, push-sum's weights
};

/// What an algorithm needs of W for its promises to hold.
enum class GraphNeed { none, column_stochastic, doubly_stochastic, symmetric, tree };
/// The optimizers that it can be combined with: any; SGD without momentum, where its own momentum
/// or correction takes the momentum's place.
enum class OptimizerNeed { any, plain_sgd };
struct Accepts {
    GraphNeed graph = GraphNeed::doubly_stochastic;
    OptimizerNeed optimizer = OptimizerNeed::any;
    bool sequences = true;       ///< graphs that change from round to round
    bool asynchronous = false;   ///< only in one process its numbers follow from the spec
    bool staged = true;          ///< graphs that go from graph to graph by the run's iterations
    double lambda_min = -1;      ///< smallest eigenvalue of W must be above
    bool divides_by_lr = false;  ///< no learning rate of the run may be 0
    bool one_start = false;      ///< all replicas must start alike
    bool codes_rows = true;      ///< its rows may travel in 16 bits
    bool compresses = false;     ///< its messages are /message's, whatever codec that is
    bool own_messages = false;   ///< it makes its messages itself: no codec
    bool linearises = false;     ///< it asks for Linearised models instead of gradients
};

/// How the mean over replicas moves, whatever doubly stochastic W is, for plain SGD; g is the mean
/// gradient, beta, mu, nesterov are keys of the algorithm.
enum class MeanRule {
    none,             ///< nothing is promised
    gradient,         ///< x - lr g
    momentum,         ///< m <- beta m + g;  x - lr m
    momentum_before,  ///< the same with the m from before
    quasi_global      ///< m = beta m^ + g;  x - lr m;  m^ <- mu m^ + (1 - mu) m
};
/// The distance from the common minimiser under heterogeneous data at a constant learning rate.
enum class Bias { none, halves, vanishes };  ///< nothing promised; O(lr); exact
/// What conformance checks (`dbench conform`) hold an algorithm to, with its default keys.
struct Promises {
    MeanRule mean = MeanRule::gradient;
    Bias bias = Bias::halves;
    bool plain_alone = true;        ///< with one replica it is the plain optimizer
    bool any_rate = true;           ///< these hold for rates that change, too
    const char* tracker = nullptr;  ///< state whose mean over replicas is that of the gradients
    const char* tracked = nullptr;  ///< or of this state
    const char* weight = nullptr;   ///< a number by which a replica counts in the mean
    bool distils = false;           ///< local minimisers teach it the common one, where W = J/n
};

/// Columns whose exchange is on its way; without a token nothing is exchanged.
struct Bucket {
    comm::Token token;
    arena::Columns columns;
};

class Asynchronous;

class Algorithm {
public:
    virtual ~Algorithm() = default;
    /// This algorithm where its replicas do not wait for each other; null for others. It has
    /// turns of single replicas in place of what follows.
    virtual Asynchronous* asynchronous() { return nullptr; }
    const Asynchronous* asynchronous() const {
        return const_cast<Algorithm*>(this)->asynchronous();
    }
    /// Declares its state; called once, before the first step.
    virtual void declare(arena::StateTable&) {}
    /// Before the gradient is taken at x.
    virtual void before_forward(Step&) {}
    /// Inside the last local replica's backward: the gradients in `columns` are complete on all
    /// local replicas, and backward will not read these columns of x again.
    virtual void ready(Step&, arena::Columns) {}
    virtual void after_backward(Step&) {}
    virtual Sent sent(int64_t t, graphs::Round round) const = 0;
    /// Whether it calls Step::mix_again; its averagings of an iteration are then alike.
    virtual bool mixes_again() const { return false; }
    /// Whether its state belongs to a replica's neighbours one by one, so that it cannot become
    /// that of another number of replicas.
    virtual bool keeps_messages() const { return false; }
    /// Whether it rests for good on an equality of means over replicas of its state, which copies
    /// of replicas keep only where each is copied, or merged, as often as the others.
    virtual bool keeps_means() const { return false; }
    /// Whether whole received rows stay in memory while the gradient is taken (AWC).
    virtual bool keeps_received_rows() const { return false; }
    /// Bytes of the largest message that it makes for a single neighbour, where an iteration keeps
    /// all of them at once, made and received, and one of a replica's own; 0 where it keeps none.
    virtual int64_t link_message_bytes() const { return 0; }
    /// At which it compares outputs, see Distillation; real ones know 1 only.
    virtual double temperature() const { return 1; }
    /// What there is to say at the end of a run, in a sentence of at most 512 bytes; "" where there
    /// is nothing. Collective, the same on all ranks.
    virtual std::string remark(comm::World&) const { return ""; }
};

class Codec;

/// How messages are compressed, and the seed of its noise.
struct Compression {
    std::shared_ptr<const Codec> codec;
    uint64_t seed = 1;
};

struct AlgorithmContext {
    int64_t replicas;
    const graphs::Schedule* schedule;  ///< null for those that need none
    graphs::RunFacts run = {};
    double lr_max = 0;                      ///< largest learning rate of the run
    const arena::Layout* layout = nullptr;  ///< of a row
    arena::DType type = arena::DType::float32;
    Compression compression = {};
    Minibatch minibatch = {};  ///< where the algorithm linearises
    uint64_t seed = 1;         ///< of neighbours that it draws itself
};

/// What algorithms with local steps, or with several averagings, make of the spec's graph.
using MakeSchedule = std::unique_ptr<graphs::Schedule> (*)(
    const base::Json& spec, std::shared_ptr<const graphs::Schedule> graph,
    const graphs::RunFacts& run);

struct AlgorithmEntry : base::Entry {
    std::unique_ptr<Algorithm> (*make)(const base::Json& spec, const AlgorithmContext& context);
    Accepts accepts = {};
    Promises promises = {};
    MakeSchedule schedule = nullptr;  ///< null: the graph as it is
    /// Rules that concern more than one key; may complete nested objects. Throws UserError.
    void (*check)(base::Json& spec, const std::string& pointer) = nullptr;
};

/// All algorithms, in the order of documentation.
const std::vector<AlgorithmEntry>& algorithm_table();

/// The spec's `algorithm`, checked and completed. Throws UserError.
base::Json resolve_algorithm(const base::Json& given, const std::string& pointer = "/algorithm");

/// What mixing with the schedule's rounds sends, or what messages over its links are; remembers
/// rounds that repeat.
class MixingCost {
public:
    using Cost = comm::RoundCost (*)(const graphs::Schedule&, graphs::Round);
    explicit MixingCost(const graphs::Schedule* schedule, Cost cost = comm::round_cost)
        : schedule_(schedule), cost_(cost) {}
    const comm::RoundCost& of(graphs::Round round) const;

private:
    const graphs::Schedule* schedule_;
    Cost cost_;
    mutable std::vector<std::pair<uint64_t, comm::RoundCost>> known_;
    mutable comm::RoundCost last_{};
};

}  // namespace dbench::algorithms
