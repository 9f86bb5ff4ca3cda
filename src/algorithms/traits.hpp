#pragma once
// The traits of an algorithm: its properties that do not change during a run. compatibility.hpp
// decides from them what the algorithm can be combined with; `dbench conform` checks the guaranteed
// ones; estimates of memory use the others. A trait that depends on the algorithm's keys is set by
// AlgorithmRules::refine.

#include <cstdint>

namespace dbench::algorithms {

/// The property of W on which an algorithm's guarantees depend.
enum class GraphNeed : uint8_t { none, column_stochastic, doubly_stochastic, symmetric, tree };

/// The optimizers with which an algorithm can be combined: any, or SGD without momentum if the
/// algorithm has its own momentum or correction.
enum class OptimizerNeed : uint8_t { any, plain_sgd };

/// The messages that an algorithm sends.
enum class Messages : uint8_t {
    rows,        ///< Rows, also in 16 bits.
    exact_rows,  ///< Rows that must not be rounded.
    coded,       ///< Compressed by the codec of /message; also rows in 16 bits.
    own          ///< Encoded by the algorithm itself; no codec applies.
};

/// The numbers of replicas with which a run can resume.
enum class ReplicaChange : uint8_t {
    any,
    /// Multiples and divisors, so that every replica is copied or merged equally often: an
    /// invariant mean(state) = ... over replicas must hold.
    multiples,
    never  ///< State belongs to links between neighbours, or is a sum over them with the run's W.
};

/// How the mean over replicas moves in one iteration with plain SGD, for every doubly stochastic W.
/// g is the mean gradient; beta, mu and nesterov are keys of the algorithm.
enum class MeanRule : uint8_t {
    none,             ///< No rule is guaranteed.
    gradient,         ///< x - lr g
    momentum,         ///< m <- beta m + g;  x - lr m
    momentum_before,  ///< Like momentum, with the m before this iteration.
    quasi_global      ///< m = beta m^ + g;  x - lr m;  m^ <- mu m^ + (1 - mu) m
};

/// Distance from the common minimiser under heterogeneous data at a constant learning rate. `none`:
/// no guarantee. `halves`: O(lr), so it halves with lr. `vanishes`: zero.
enum class Bias : uint8_t { none, halves, vanishes };

/// The properties of an algorithm. The defaults are those of dsgd.
struct Traits {
    // The graph.
    GraphNeed graph = GraphNeed::doubly_stochastic;
    bool sequences = true;   ///< Graphs may change from round to round.
    bool staged = true;      ///< Graphs may change at given iterations of the run.
    double lambda_min = -1;  ///< A symmetric W's smallest eigenvalue must be greater.

    // The optimizer, the start and the messages.
    OptimizerNeed optimizer = OptimizerNeed::any;
    bool divides_by_lr = false;  ///< The learning rate must never be 0.
    bool one_start = false;      ///< All replicas must start with equal parameters.
    Messages messages = Messages::rows;

    // The iteration.
    /// Replicas do not wait for each other; reproducible only on a single rank. The algorithm
    /// derives from Asynchronous.
    bool asynchronous = false;
    bool linearises = false;  ///< It requires linearised models instead of gradients.
    bool distils = false;     ///< It requires gradients of distillation.
    /// Divides the outputs that it compares (Distillation); must be 1 for real targets.
    double temperature = 1;
    /// It calls Step::mix_again. All averagings of an iteration then cost the same.
    bool repeats_averaging = false;

    // State and memory.
    /// Whole received rows stay in memory while gradients are computed (combine_while_adapt,
    /// averaging that is hidden behind local steps).
    bool keeps_received_rows = false;
    ReplicaChange replica_change = ReplicaChange::any;

    // Guarantees that `dbench conform` checks, with the algorithm's default keys. If the algorithm
    // distils, models that start at their local minimisers must learn the common one with W = J/n.
    MeanRule mean = MeanRule::gradient;
    Bias bias = Bias::halves;
    bool plain_alone = true;  ///< With one replica it equals the plain optimizer.
    bool any_rate = true;     ///< The guarantees also hold for learning rates that change.
    /// State whose mean over replicas is the mean of the gradients, or of the state `tracked`.
    const char* tracker = nullptr;
    const char* tracked = nullptr;  ///< Null: `tracker` tracks the gradients.
    /// State that holds one number per replica: the replica's weight in the mean.
    const char* weight = nullptr;
};

}  // namespace dbench::algorithms
