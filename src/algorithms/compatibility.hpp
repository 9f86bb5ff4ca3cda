#pragma once
// Decides which algorithms, graphs, optimizers, codecs, models, data and devices can be combined.
// Each rule stands once, in folder rules. The modules `program`, `train` and `conform` collect
// the facts that they know (Facts) and refuse a combination with require_compatible, or use the
// problems that find_problems returns.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/json.hpp"
#include "graphs/schedule.hpp"

namespace dbench::algorithms {

/// The optimizer of the spec.
struct OptimizerFacts {
    std::string type = "sgd";
    bool momentum = false;
    bool clips = false;  ///< /optimizer/clip_norm is given.
};

/// The codec of the spec's key `message`.
struct MessageFacts {
    std::string codec = "float32";
    bool changes_rows = false;  ///< Received rows may differ from the sent ones.
    /// It loses more than rounding to 16 bits does: only some algorithms compensate for that.
    bool drops = false;
};

/// The mixing matrices of one graph, or of a whole schedule.
struct MatrixFacts {
    std::string name = "the graph";            ///< For messages.
    bool row_sums = true, column_sums = true;  ///< All rows (columns) of all W sum to 1.
    bool is_static = true;
    bool directed = false;  ///< Some link leads in one direction. Known only if sums do not suit.
    // The following are known only if the algorithm requires them.
    bool tree = true;
    bool symmetric = true;
    double lambda_min = 1;  ///< W's smallest eigenvalue, if W is symmetric.
};

/// An algorithm that is unstable on its graph.
struct Instability {
    std::string graph = {};
    int64_t replicas = 0;
    bool of_mean = false;  ///< The mean over replicas grows; otherwise their disagreement.
    double growth = 1;
    bool per_exchange = false;  ///< `growth` is per exchange; otherwise per iteration.
    std::string remedy = {};
};

/// The schedule of a run's exchanges.
struct ScheduleFacts {
    int64_t iterations = 1;
    bool staged = false;    ///< The graph changes at given iterations.
    bool repeats = false;   ///< A controller averages several times in an iteration.
    bool silent = false;    ///< Replicas never exchange anything, although there are several.
    bool barriers = false;  ///< Every iteration is profiled, so that all replicas wait before it.
};

/// The model.
struct ModelFacts {
    bool statistics = false;  ///< BatchNorm.
    bool carries = false;     ///< State continues from batch to batch.
    bool draws = false;       ///< Dropout.
    bool stacks = true;       ///< LibTorch's vmap can run it.
    /// The reason why LibTorch's vmap cannot run the model; empty if it can, or if the reason is
    /// unknown.
    std::string unstacked = {};
    /// The smallest number of values per channel that any BatchNorm layer averages for one sample;
    /// 0: unknown.
    int64_t normalised_values = 0;
    bool fixed_start = false;  ///< The initial parameters are given, not drawn.
    bool own_loss = false;     ///< It has a loss function of its own.
};

/// The training data and its minibatches.
struct DataFacts {
    int64_t classes = 0;  ///< 0 for real targets.
    bool tokens = false;  ///< Labels for each position of a text.
    bool ragged = false;  ///< Samples differ in size.
    int64_t batch_size = 1;
    bool full_batches = false;   ///< A batch is a replica's whole partition.
    bool token_batches = false;  ///< The batch size counts tokens.
};

/// Requests of the spec about the forward and backward passes.
struct PassFacts {
    bool smooths_labels = false;
    int64_t microbatches = 1;  ///< /data/accumulate
    /// Samples of a batch that re-estimates BatchNorm's statistics; 0: none does.
    int64_t recalibrated_samples = 0;
    bool streams = false;   ///< /stacking requests streams.
    bool batched = false;   ///< /stacking requests batched passes.
    bool captured = false;  ///< /capture is on.
    bool carried_evaluation = false;
    bool on_host = true;  ///< Replicas train on the CPU.
};

/// Requests of the spec about the arithmetic.
struct ArithmeticFacts {
    bool float32 = true;             ///< /precision
    bool bfloat16 = false;           ///< /compute is bfloat16.
    bool tf32 = false;               ///< /compute is tf32.
    bool library_reduction = false;  ///< /reduction
};

/// The ranks of the run.
struct RankFacts {
    int64_t replicas = 1, ranks = 1;
    std::optional<bool> on_gpus = {};
    bool reproducible = false;  ///< The caller requires numbers that follow from the spec.
};

/// The checkpoint from which a run resumes.
struct ResumeFacts {
    int64_t replicas = 1;            ///< The checkpoint's number.
    bool same_global_batch = false;  ///< Both specs give the same global batch size.
};

/// The facts about one combination. A rule applies only if all facts that it needs are given.
struct Facts {
    std::string algorithm = {};
    Traits traits = {};
    std::string momentum_key;  ///< Pointer to the momentum among the algorithm's keys, or empty.

    std::optional<bool> graph_given = {};  ///< The spec names a graph.
    std::optional<OptimizerFacts> optimizer = {};
    std::optional<int64_t> zero_rate = {};  ///< An iteration in which the learning rate is 0.
    bool scaled_rate = false;  ///< /schedule/scale: the rate grows with the global batch.
    std::optional<MessageFacts> message = {};
    std::optional<bool> independent_start = {};  ///< /init
    std::optional<MatrixFacts> matrix = {};
    std::optional<Instability> instability = {};
    std::optional<ScheduleFacts> schedule = {};
    std::optional<ModelFacts> model = {};
    std::optional<DataFacts> data = {};
    std::optional<PassFacts> passes = {};
    std::optional<ArithmeticFacts> arithmetic = {};
    std::optional<RankFacts> ranks = {};
    std::optional<bool> profiles_after = {};  ///< /profile/after
    std::optional<ResumeFacts> resume = {};
    // Problems that the user has accepted become warnings.
    bool allow_biased = false, allow_unstable = false;
};

/// Returns the facts about a resolved `algorithm` of the spec, without anything else; `entry`: its
/// row of the table.
Facts facts_of(const AlgorithmEntry& entry, const base::Json& algorithm);
Facts facts_of(const base::Json& algorithm);
/// Return the facts about parts of a resolved spec.
OptimizerFacts optimizer_facts(const base::Json& optimizer);
MessageFacts message_facts(const base::Json& message);
/// Computes the facts about a graph that an algorithm with these traits needs.
MatrixFacts matrix_facts(const graphs::Schedule& graph, std::string name, const Traits& traits);

/// A reason why a combination is refused, or a warning about it.
struct Problem {
    std::string pointer;  ///< JSON pointer of the key to change.
    std::string reason, remedy;
    bool warning = false;

    /// Returns "pointer: reason: remedy", or "pointer: reason (remedy)" for a warning.
    std::string text() const;
};

/// One rule.
struct Rule {
    const char* name;       ///< Unique.
    const char* statement;  ///< One line, for documents.
    std::optional<Problem> (*check)(const Facts& facts);
};

/// Returns all rules, in the order in which problems are reported.
const std::vector<Rule>& compatibility_rules();

/// Returns the problems of a combination, as far as the facts show them.
std::vector<Problem> find_problems(const Facts& facts);

/// Logs the warnings, and throws UserError with the first problem that is none.
void require_compatible(const Facts& facts);

/// Return the reason why the replicas of a rank cannot compute concurrently on streams, or together
/// in batched operations, or why their passes cannot be captured; "" if they can. Model, data and
/// passes must be given.
std::string streams_obstacle(const Facts& facts);
std::string batched_obstacle(const Facts& facts);
std::string capture_obstacle(const Facts& facts);
/// Return the same as far as it depends on the model alone; for capturing, of passes that run
/// concurrently on queues of their own.
std::string batched_obstacle(const ModelFacts& model);
std::string concurrent_capture_obstacle(const ModelFacts& model);

}  // namespace dbench::algorithms
