#include "algorithms/compatibility.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "graphs/proof/certificate.hpp"

namespace dbench::algorithms {
namespace {

using base::Json;
using Result = std::optional<Problem>;

std::string text_of(int64_t value) { return std::to_string(value); }

// The spec.

Result check_graph_presence(const Facts& f) {
    if (!f.graph_given) return {};
    const bool uses = f.traits.graph != GraphNeed::none;
    if (uses == *f.graph_given) return {};
    if (uses) {
        return Problem{"/graph",
                       "is missing (" + f.algorithm + " averages with neighbours in a graph)", ""};
    }
    return Problem{"/graph", f.algorithm + " uses no graph (it averages over all replicas)",
                   "remove it, or choose another algorithm such as dsgd"};
}

Result check_clipping(const Facts& f) {
    if (!f.optimizer || !f.optimizer->clips || !f.traits.linearises) return {};
    return Problem{"/optimizer/clip_norm",
                   "limits the gradient of the minibatch, which " + f.algorithm + " does not use",
                   "remove it"};
}

Result check_optimizer_type(const Facts& f) {
    if (!f.optimizer || f.traits.optimizer == OptimizerNeed::any) return {};
    const std::string& type = f.optimizer->type;
    if (type == "sgd") return {};
    return Problem{
        "/optimizer/type",
        f.algorithm + " computes its own direction from gradients and cannot use " + type,
        "choose sgd, or the algorithm dsgd, which can use " + type};
}

Result check_momentum(const Facts& f) {
    if (!f.optimizer || f.traits.optimizer == OptimizerNeed::any) return {};
    if (!f.optimizer->momentum) return {};
    return Problem{
        "/optimizer/momentum",
        "must be 0 with " + f.algorithm + " (" +
            (f.own_momentum ? "it has its own momentum"
                            : "it computes its direction from gradients, not from momenta") +
            ")",
        std::string(f.own_momentum ? "set /algorithm/beta instead" : "remove it") +
            ", or choose dsgd, which accepts it" +
            (f.algorithm == "qg_dsgdm" ? "" : ", or qg_dsgdm, which has /algorithm/beta instead")};
}

Result check_start(const Facts& f) {
    if (!f.independent_start.value_or(false) || !f.traits.one_start) return {};
    return Problem{"/init",
                   "must not be independent with " + f.algorithm +
                       " (it needs a start that all replicas share)",
                   "choose same, or the algorithm local_sgd"};
}

Result check_fixed_start(const Facts& f) {
    if (!f.independent_start.value_or(false) || !f.model || !f.model->fixed_start) return {};
    return Problem{"/init",
                   "must not be independent with this model (its file holds the initial values of "
                   "one replica)",
                   "choose same or zeros"};
}

Result check_own_messages(const Facts& f) {
    if (!f.message || !f.message->changes_rows || f.traits.messages != Messages::own) return {};
    return Problem{"/message", f.algorithm + " encodes its messages itself, by its own keys",
                   "remove /message, or choose an algorithm that accepts a codec, such as choco"};
}

Result check_exact_rows(const Facts& f) {
    if (!f.message || !f.message->changes_rows) return {};
    if (f.traits.messages != Messages::exact_rows) return {};
    if (f.traits.tracker) {
        return Problem{"/message",
                       f.algorithm +
                           " cannot start with a rounded mean (its trackers would differ "
                           "from the mean by this rounding in all iterations)",
                       "choose \"float32\", or \"start\": \"local\""};
    }
    return Problem{"/message",
                   f.algorithm +
                       " cannot send rounded rows (differences of rounded rows need a W whose "
                       "rows sum to 1)",
                   "choose \"float32\", or the algorithm quantized_push_sum"};
}

Result check_codec(const Facts& f) {
    if (!f.message || !f.message->drops || f.traits.messages == Messages::coded) return {};
    std::string takers;
    for (const AlgorithmEntry& row : algorithm_table()) {
        if (row.traits.messages != Messages::coded) continue;
        takers += (takers.empty() ? "" : ", ") + row.name;
    }
    return Problem{"/message",
                   f.message->codec +
                       " needs an algorithm that compensates for what it drops, and " +
                       f.algorithm + " does not",
                   "choose one (" + takers + "), or \"float32\", \"bfloat16\" or \"float16\""};
}

Result check_reduction(const Facts& f) {
    if (!f.message || !f.arithmetic || !f.arithmetic->library_reduction) return {};
    if (!f.message->changes_rows || f.message->drops) return {};
    return Problem{"/message",
                   "16-bit rows are added along the program's own tree, not by MPI's library",
                   "leave /reduction out, or choose \"reproducible\""};
}

Result check_compute(const Facts& f) {
    if (!f.arithmetic || f.arithmetic->float32) return {};
    if (!f.arithmetic->bfloat16 && !f.arithmetic->tf32) return {};
    return Problem{"/compute",
                   std::string(f.arithmetic->bfloat16 ? "bfloat16" : "tf32") +
                       " requires parameters and gradients in float32 (/precision is float64)",
                   "leave one of the two out"};
}

Result check_tensor_cores(const Facts& f) {
    if (!f.arithmetic || !f.arithmetic->tf32 || !f.passes || !f.passes->on_host) return {};
    return Problem{"/compute", "tf32 is arithmetic of a GPU, and replicas train on the CPU",
                   "choose \"precision\" or \"bfloat16\", or \"device\": \"cuda\""};
}

// The graph. A matrix whose sums do not suit is reported only once.

Problem biased(const Facts& f, const std::string& what, const std::string& remedy) {
    Problem problem{"/graph", f.matrix->name + what + ", which " + f.algorithm + " does not allow",
                    remedy + ", or accept it with \"allow_biased\": true"};
    if (f.allow_biased) problem = {problem.pointer, problem.reason, "", true};
    return problem;
}

bool sums_suit(const Traits& traits, const MatrixFacts& matrix) {
    if (traits.graph == GraphNeed::column_stochastic) return matrix.column_sums;
    return traits.graph == GraphNeed::none || (matrix.row_sums && matrix.column_sums);
}

Result check_sums(const Facts& f) {
    if (!f.matrix || sums_suit(f.traits, *f.matrix)) return {};
    if (f.traits.graph == GraphNeed::column_stochastic) {
        return biased(f,
                      " is not column stochastic (the weights with which a replica sends do not "
                      "sum to 1)",
                      "choose \"weights\": \"column\" or another graph");
    }
    const bool rows = f.matrix->row_sums;
    return biased(f,
                  " is not doubly stochastic (" + std::string(rows ? "columns" : "rows") +
                      " of W do not sum to 1, so averaging " + (rows ? "biases" : "does not keep") +
                      " the mean)",
                  std::string(f.matrix->directed ? "choose an undirected graph"
                                                 : "choose \"weights\": \"metropolis\", another "
                                                   "graph") +
                      ", or the algorithm sgp" +
                      (f.matrix->column_sums ? "" : " with \"weights\": \"column\""));
}

Result check_tree(const Facts& f) {
    if (!f.matrix || f.traits.graph != GraphNeed::tree) return {};
    if (f.matrix->tree || !sums_suit(f.traits, *f.matrix)) return {};
    return Problem{"/graph",
                   f.matrix->name + " is not a tree, but " + f.algorithm + " relays along one",
                   "choose tree, path or star"};
}

Result check_static(const Facts& f) {
    if (!f.matrix || f.traits.sequences || f.traits.graph == GraphNeed::none) return {};
    if (f.matrix->is_static || !sums_suit(f.traits, *f.matrix)) return {};
    return Problem{"/graph",
                   f.matrix->name + " changes from round to round, but " + f.algorithm +
                       " needs a static graph",
                   "choose one such as ring or torus, or the algorithm dsgd"};
}

Result check_symmetry(const Facts& f) {
    if (!f.matrix || f.traits.graph != GraphNeed::symmetric) return {};
    if (f.matrix->symmetric || !sums_suit(f.traits, *f.matrix)) return {};
    return biased(f, " is directed (W is not symmetric)",
                  "choose an undirected graph such as ring or torus, or the algorithm "
                  "gradient_tracking, which takes directed ones");
}

Result check_eigenvalue(const Facts& f) {
    if (!f.matrix || f.traits.graph != GraphNeed::symmetric || !f.matrix->symmetric) return {};
    if (f.matrix->lambda_min > f.traits.lambda_min || !sums_suit(f.traits, *f.matrix)) return {};
    return biased(f,
                  " has the eigenvalue " + base::short_text(Json(f.matrix->lambda_min)) +
                      " (it must be above " + base::short_text(Json(f.traits.lambda_min)) + ")",
                  "set \"lazy\": 0.5 in the graph, or choose the algorithm exact_diffusion, "
                  "which averages with (I + W) / 2");
}

Result check_instability(const Facts& f) {
    if (!f.instability) return {};
    const Instability& found = *f.instability;
    char growth[32];
    std::snprintf(growth, sizeof growth, "%.4g", found.growth);
    Problem problem{"/algorithm",
                    f.algorithm + " is unstable on " + found.graph + " with " +
                        text_of(found.replicas) + " replicas at any learning rate (their " +
                        (found.of_mean ? "mean" : "disagreement") + " grows by " + growth +
                        (found.per_exchange ? " per exchange" : " per iteration") + ")",
                    found.remedy + ", or accept it with \"allow_unstable\": true"};
    if (f.allow_unstable) problem = {problem.pointer, problem.reason, "", true};
    return problem;
}

// Model, data and passes.

Result check_smoothing_classes(const Facts& f) {
    if (!f.passes || !f.data || !f.passes->smooths_labels || f.data->classes > 0) return {};
    return Problem{"/label_smoothing",
                   "spreads a share over all classes (the data have real targets)",
                   "leave it out, or use data with classes, such as shapes"};
}

Result check_smoothing_gradient(const Facts& f) {
    if (!f.passes || !f.passes->smooths_labels || !f.traits.linearises) return {};
    return Problem{"/label_smoothing",
                   "changes the gradient of the loss (" + f.algorithm + " uses none)",
                   "leave it out, or choose the algorithm dsgd"};
}

Result check_smoothing_loss(const Facts& f) {
    if (!f.passes || !f.model || !f.passes->smooths_labels || !f.model->own_loss) return {};
    return Problem{"/label_smoothing",
                   "changes the cross-entropy (the model has a loss function of its own)",
                   "leave it out, and smooth the labels in that function"};
}

Result check_own_loss(const Facts& f) {
    if (!f.model || !f.model->own_loss || !f.traits.linearises) return {};
    return Problem{"/model",
                   "has a loss function of its own (" + f.algorithm + " uses squared errors)",
                   "export it without a loss function, or choose the algorithm dsgd"};
}

Result check_number_of_parts(const Facts& f) {
    if (!f.passes || !f.data || f.passes->parts == 1 || f.data->ragged) return {};
    const std::string size = text_of(f.data->batch_size);
    if (f.passes->parts <= f.data->batch_size) return {};
    return Problem{"/data/accumulate",
                   "a batch of " + size + " samples cannot be divided into " +
                       text_of(f.passes->parts) + " parts",
                   "use at most " + size};
}

Result check_parts_gradient(const Facts& f) {
    if (!f.passes || f.passes->parts == 1) return {};
    if (!f.traits.linearises && !f.traits.distils) return {};
    return Problem{"/data/accumulate",
                   "computes gradients by parts of a batch (" + f.algorithm +
                       " uses the batch for more than its gradient)",
                   "leave it out, or choose the algorithm dsgd"};
}

Result check_parts_carried(const Facts& f) {
    if (!f.passes || !f.model || f.passes->parts == 1 || !f.model->carries) return {};
    return Problem{"/data/accumulate",
                   "divides a batch (the text and the model's state continue from one whole batch "
                   "to the next)",
                   "leave it out, or choose another partition than stream"};
}

bool know_passes(const Facts& f) { return f.passes && f.model && f.data; }

Result check_streams(const Facts& f) {
    if (!know_passes(f) || !f.passes->streams) return {};
    const std::string obstacle = streams_obstacle(f);
    if (obstacle.empty()) return {};
    return Problem{"/stacking",
                   "replicas cannot run through the model concurrently (" + obstacle + ")",
                   "leave it out"};
}

Result check_batched(const Facts& f) {
    if (!know_passes(f) || !f.passes->batched) return {};
    const std::string obstacle = batched_obstacle(f);
    if (obstacle.empty()) return {};
    return Problem{"/stacking", "replicas cannot run through the model together (" + obstacle + ")",
                   "leave it out"};
}

Result check_capture(const Facts& f) {
    if (!know_passes(f) || !f.passes->captured) return {};
    const std::string obstacle = capture_obstacle(f);
    if (obstacle.empty()) return {};
    return Problem{"/capture", "passes cannot be captured (" + obstacle + ")", "leave it out"};
}

Result check_carried_evaluation(const Facts& f) {
    if (!f.passes || !f.model || !f.passes->carried_evaluation || f.model->carries) return {};
    return Problem{"/evaluate/state", "the model carries no state from batch to batch",
                   "leave it out, or choose the model lstm with the partition stream and a number "
                   "as batch_size"};
}

Result check_rates(const Facts& f) {
    if (!f.zero_rate || !f.traits.divides_by_lr) return {};
    return Problem{
        "/optimizer/lr",
        "is 0 in iteration " + text_of(*f.zero_rate) + ", but " + f.algorithm + " divides by it",
        "set a positive rate (a positive /schedule/lr_min or /schedule/gamma), or "
        "choose dsgd"};
}

Result check_statistics(const Facts& f) {
    if (!f.model || !f.model->statistics || !f.traits.linearises) return {};
    return Problem{"/model",
                   "has BatchNorm, whose statistics depend on the whole minibatch (" + f.algorithm +
                       " needs the Jacobian of each sample)",
                   "choose a model without it, such as mlp"};
}

Result check_normalised_values(const Facts& f) {
    if (!f.model || !f.data || !f.passes || f.model->normalised_values != 1) return {};
    const std::string reason =
        "makes BatchNorm normalise single values (a channel of its last layers has one value for "
        "each sample, and ";
    if (f.data->batch_size / f.passes->parts < 2) {
        return Problem{"/data/batch_size",
                       reason + "a pass has one sample; the variance of one value is undefined)",
                       "use batches, and parts of batches, of at least 2 samples"};
    }
    if (f.passes->recalibrated_samples == 1) {
        return Problem{"/evaluate/batch_size",
                       reason + "/evaluate/batchnorm measures batches of one sample)",
                       "use batches of at least 2 samples, or \"pooled\" statistics"};
    }
    return {};
}

Result check_scaled_rate(const Facts& f) {
    if (!f.data || !f.data->token_batches || !f.scaled_rate) return {};
    return Problem{"/schedule/scale",
                   "scales the rate by the number of samples in a global batch (/data/batch_size "
                   "counts tokens)",
                   "set the rule \"none\" and choose /optimizer/lr for this batch"};
}

Result check_tokens(const Facts& f) {
    if (!f.data || !f.data->tokens || !f.traits.linearises) return {};
    return Problem{"/data",
                   "has a label for each position of a text (" + f.algorithm +
                       " needs Jacobians of one output per sample)",
                   "choose a data set such as fashion_mnist"};
}

Result check_full_batches(const Facts& f) {
    if (!f.data || !f.data->full_batches || !f.traits.linearises) return {};
    return Problem{"/data/batch_size",
                   "\"full\" batches may differ in size (the Jacobians that " + f.algorithm +
                       " sends have one size)",
                   "give a number of samples, such as 50"};
}

Result check_temperature(const Facts& f) {
    if (!f.data || f.data->classes > 0 || f.traits.temperature == 1) return {};
    return Problem{"/algorithm/temperature",
                   "divides the logits of classes (the data have real targets, whose outputs " +
                       f.algorithm + " compares unscaled)",
                   "leave it out"};
}

// The schedule of the run.

Result check_repeats(const Facts& f) {
    if (!f.schedule || !f.schedule->repeats || f.traits.repeats_averaging) return {};
    return Problem{"/graph", "averages several times in an iteration (" + f.algorithm + " cannot)",
                   "choose \"by\": \"degree\", or the algorithm dsgd"};
}

Result check_staged(const Facts& f) {
    if (!f.schedule || !f.schedule->staged || f.traits.staged) return {};
    return Problem{
        "/graph",
        "changes with the run's iterations (with " + f.algorithm + " each replica counts its own)",
        "choose a single graph, or the algorithm dsgd"};
}

Result check_silence(const Facts& f) {
    if (!f.schedule || !f.schedule->silent) return {};
    return Problem{
        "/algorithm/period",
        "nothing is exchanged in the run's " + text_of(f.schedule->iterations) + " iterations",
        "a shorter period, or a longer /length, would change that", true};
}

Result check_barriers(const Facts& f) {
    if (!f.schedule || !f.schedule->barriers || !f.traits.asynchronous) return {};
    return Problem{"/profile/every",
                   "replicas wait for one another before every iteration that is profiled, and "
                   "here every iteration is",
                   "longer /profile/every and /profile/variance/every would let them run "
                   "independently",
                   true};
}

// Ranks and devices.

Result check_number_of_ranks(const Facts& f) {
    if (!f.ranks || f.ranks->ranks <= f.ranks->replicas) return {};
    const std::string n = text_of(f.ranks->replicas);
    return Problem{
        "/replicas",
        text_of(f.ranks->ranks) + " ranks for " + n + " replicas (every rank needs at least one)",
        "start at most " + n + " ranks, or raise /replicas"};
}

Result check_asynchronous_ranks(const Facts& f) {
    if (!f.ranks || !f.traits.asynchronous) return {};
    const std::string r = text_of(f.ranks->ranks), n = text_of(f.ranks->replicas);
    if (f.ranks->ranks == 1 || f.ranks->ranks == f.ranks->replicas) return {};
    return Problem{"/algorithm",
                   f.algorithm +
                       " requires all replicas in one process, or one rank for each replica "
                       "(there are " +
                       r + " ranks for " + n + " replicas)",
                   "start 1 or " + n + ", or choose the algorithm dsgd"};
}

Result check_asynchronous_device(const Facts& f) {
    if (!f.ranks || !f.traits.asynchronous || f.ranks->ranks == 1) return {};
    if (!f.ranks->on_gpus.value_or(false)) return {};
    return Problem{"/device",
                   f.algorithm +
                       " with one rank for each replica averages in the host's memory, not on a "
                       "GPU",
                   "set \"cpu\", or start one rank"};
}

Result check_reproducibility(const Facts& f) {
    if (!f.ranks || !f.ranks->reproducible || f.ranks->ranks == 1) return {};
    if (!f.traits.asynchronous) return {};
    return Problem{"/algorithm", "on several ranks its numbers depend on timing", "start one rank"};
}

Result check_measured_after(const Facts& f) {
    if (!f.profiles_after.value_or(false) || !f.traits.asynchronous) return {};
    return Problem{
        "/profile/after",
        "with " + f.algorithm + " there is no moment when all replicas have just averaged",
        "leave it out, or choose the algorithm dsgd"};
}

// Resuming with another number of replicas.

std::optional<std::string> change_of_replicas(const Facts& f) {
    if (!f.resume || !f.ranks || f.resume->replicas == f.ranks->replicas) return {};
    return text_of(f.resume->replicas) + " replicas cannot become " + text_of(f.ranks->replicas);
}

Result check_resumed_links(const Facts& f) {
    const auto change = change_of_replicas(f);
    if (!change || f.traits.replica_change != ReplicaChange::never) return {};
    return Problem{"/replicas",
                   *change + " with " + f.algorithm + ", which stores messages of its neighbours",
                   "set /replicas back"};
}

Result check_resumed_means(const Facts& f) {
    const auto change = change_of_replicas(f);
    if (!change || f.traits.replica_change != ReplicaChange::multiples) return {};
    const auto [fewer, more] = std::minmax({f.resume->replicas, f.ranks->replicas});
    if (more % fewer == 0) return {};
    return Problem{"/replicas",
                   *change + " with " + f.algorithm +
                       ", whose correction relies on means over replicas, which uneven copies "
                       "change permanently",
                   "choose a multiple or a divisor of " + text_of(f.resume->replicas) +
                       ", such as " + text_of(2 * f.resume->replicas)};
}

Result check_resumed_texts(const Facts& f) {
    const auto change = change_of_replicas(f);
    if (!change || !f.model || !f.model->carries) return {};
    return Problem{"/replicas",
                   *change +
                       " with a text that continues from batch to batch, at a position of its own "
                       "for each replica",
                   "set /replicas back"};
}

Result check_resumed_batches(const Facts& f) {
    const auto change = change_of_replicas(f);
    if (!change || f.resume->same_global_batch) return {};
    return Problem{"/data/batch_size",
                   *change +
                       " if the batch size is given per replica (an iteration would have another "
                       "number of samples)",
                   "give it as {\"global\": samples} in runs whose replicas may change"};
}

bool one_after_another(const Traits& traits) { return traits.asynchronous || traits.linearises; }

std::string in_turn(const Facts& f) {
    return f.algorithm + " computes the gradients of its replicas one after another";
}

}  // namespace

const std::vector<Rule>& compatibility_rules() {
    static const std::vector<Rule> all = {
        {"ranks", "every rank holds at least one replica", check_number_of_ranks},
        {"reproducibility", "asynchronous algorithms are reproducible on one rank only",
         check_reproducibility},
        {"asynchronous ranks",
         "an asynchronous algorithm runs on one rank, or on one rank for each replica",
         check_asynchronous_ranks},
        {"graph", "a spec names a graph if and only if the algorithm averages over one",
         check_graph_presence},
        {"clipping", "an algorithm that linearises the model accepts no clip_norm", check_clipping},
        {"optimizer", "an algorithm with its own direction requires sgd", check_optimizer_type},
        {"momentum", "an algorithm with its own direction requires momentum 0", check_momentum},
        {"start", "some algorithms require replicas that start with equal parameters", check_start},
        {"fixed start", "a model with given initial values starts with them on every replica",
         check_fixed_start},
        {"own messages", "an algorithm that encodes its messages itself accepts no codec",
         check_own_messages},
        {"exact rows", "push-sum and asynchronous algorithms send rows unchanged",
         check_exact_rows},
        {"codec", "only algorithms that compensate for dropped parts accept a lossy codec",
         check_codec},
        {"reduction", "MPI's library cannot add 16-bit rows", check_reduction},
        {"compute", "bfloat16 and tf32 computation require float32 parameters", check_compute},
        {"tensor cores", "tf32 computation requires a GPU", check_tensor_cores},
        {"sums",
         "W is doubly stochastic; for push-sum, the columns of W sum to 1 (or allow_biased)",
         check_sums},
        {"tree", "relaysgd requires a tree", check_tree},
        {"static", "some algorithms require a static graph", check_static},
        {"symmetry", "some algorithms require a symmetric W (or allow_biased)", check_symmetry},
        {"eigenvalue", "d2 requires a smallest eigenvalue of W above -1/3 (or allow_biased)",
         check_eigenvalue},
        {"stability", "the algorithm's linear recursion does not grow (or allow_unstable)",
         check_instability},
        {"smoothed classes", "label smoothing requires data with classes", check_smoothing_classes},
        {"smoothed gradient", "label smoothing requires an algorithm that uses gradients",
         check_smoothing_gradient},
        {"smoothed loss", "label smoothing requires the cross-entropy of DBench",
         check_smoothing_loss},
        {"own loss", "an algorithm that linearises the model requires one without a loss function",
         check_own_loss},
        {"parts", "a batch has at least as many samples as parts", check_number_of_parts},
        {"gradient of parts",
         "accumulation requires an algorithm that uses a batch for its gradient only",
         check_parts_gradient},
        {"carried state of parts", "accumulation requires a model that carries no state",
         check_parts_carried},
        {"streams", "replicas run on streams only if nothing orders their passes", check_streams},
        {"batched", "replicas run batched only if model and batches can be stacked", check_batched},
        {"capture", "passes are captured only if they are the same in every iteration",
         check_capture},
        {"carried evaluation", "evaluation carries state only for a model that carries it",
         check_carried_evaluation},
        {"rates", "an algorithm that divides by the learning rate requires rates above 0",
         check_rates},
        {"statistics", "an algorithm that linearises the model requires one without BatchNorm",
         check_statistics},
        {"normalised values", "BatchNorm normalises at least two values per channel",
         check_normalised_values},
        {"scaled rate", "the learning rate scales only with batches that are counted in samples",
         check_scaled_rate},
        {"tokens", "an algorithm that linearises the model requires one output per sample",
         check_tokens},
        {"full batches", "an algorithm that linearises the model requires equal batches",
         check_full_batches},
        {"temperature", "real targets require temperature 1", check_temperature},
        {"repeated averaging",
         "a controller that repeats averagings requires an algorithm that can", check_repeats},
        {"asynchronous device",
         "an asynchronous algorithm with one rank for each replica runs on the CPU",
         check_asynchronous_device},
        {"staged", "an asynchronous algorithm requires a single graph", check_staged},
        {"measured after", "an asynchronous algorithm cannot be measured after averaging",
         check_measured_after},
        {"resumed links",
         "a run whose state belongs to links resumes with the same number of replicas",
         check_resumed_links},
        {"resumed means",
         "a run that relies on means resumes with a multiple or divisor of its replicas",
         check_resumed_means},
        {"resumed texts",
         "a run whose text continues from batch to batch resumes with as many replicas",
         check_resumed_texts},
        {"resumed batches",
         "a run resumes with another number of replicas only with a global batch size",
         check_resumed_batches},
        {"silence", "warning: a run exchanges something", check_silence},
        {"barriers", "warning: asynchronous replicas do not wait in every iteration",
         check_barriers},
    };
    return all;
}

std::string Problem::text() const {
    const std::string what = pointer + ": " + reason;
    if (remedy.empty()) return what;
    return warning ? what + " (" + remedy + ")" : what + ": " + remedy;
}

std::vector<Problem> find_problems(const Facts& facts) {
    std::vector<Problem> found;
    for (const Rule& rule : compatibility_rules()) {
        if (auto problem = rule.check(facts)) found.push_back(std::move(*problem));
    }
    return found;
}

void require_compatible(const Facts& facts) {
    for (const Problem& problem : find_problems(facts)) {
        if (!problem.warning) throw base::UserError(problem.text());
        base::warn(problem.text());
    }
}

std::string streams_obstacle(const Facts& f) {
    if (one_after_another(f.traits)) return in_turn(f);
    if (!f.passes->on_host) return "";
    return "the CPU has no streams: replicas would still run one after another";
}

std::string batched_obstacle(const Facts& f) {
    if (one_after_another(f.traits)) return in_turn(f);
    if (f.data->ragged || f.data->full_batches) return "minibatches may differ in size";
    if (f.passes->parts > 1) return "/data/accumulate splits minibatches into parts";
    return batched_obstacle(*f.model);
}

std::string batched_obstacle(const ModelFacts& model) {
    if (model.draws)
        return "the model uses dropout, with random numbers of its own for each replica";
    if (model.carries) return "the model carries state from batch to batch";
    if (!model.unstacked.empty()) return model.unstacked;
    return model.stacks ? "" : "the model accepts the tensors of one replica only";
}

std::string capture_obstacle(const Facts& f) {
    if (f.passes->on_host) return "replicas train on the CPU, which has no launches to capture";
    if (one_after_another(f.traits)) return in_turn(f);
    if (f.data->ragged || f.data->full_batches) return "minibatches may differ in size";
    if (f.passes->parts > 1 && (f.model->draws || f.model->carries)) {
        return "with /data/accumulate each part of a minibatch starts with random numbers or a "
               "carried state of its own";
    }
    return f.passes->streams ? concurrent_capture_obstacle(*f.model) : "";
}

// CUDA graphs all draw from one random number generator, which has one seed at a time.
std::string concurrent_capture_obstacle(const ModelFacts& model) {
    if (!model.draws) return "";
    return "the model uses dropout, and concurrent replicas would share a seed";
}

Facts facts_of(const AlgorithmEntry& entry, const Json& algorithm) {
    Facts facts;
    facts.algorithm = entry.name;
    facts.traits = traits_of(entry, algorithm);
    facts.own_momentum = algorithm.contains("beta");
    return facts;
}

Facts facts_of(const Json& algorithm) { return facts_of(entry_of(algorithm), algorithm); }

OptimizerFacts optimizer_facts(const Json& optimizer) {
    return {optimizer.at("type"), optimizer.value("momentum", 0.0) != 0,
            !optimizer.at("clip_norm").is_null()};
}

MessageFacts message_facts(const Json& message) {
    if (message.is_string()) return {message, message != "float32", false};
    return {message.at("type"), true, true};
}

MatrixFacts matrix_facts(const graphs::Schedule& graph, std::string name, const Traits& traits) {
    MatrixFacts facts;
    facts.name = std::move(name);
    const graphs::Sums sums = graphs::sums(graph);
    facts.row_sums = sums.rows;
    facts.column_sums = sums.columns;
    facts.is_static = graph.period() == 1;
    if (!sums_suit(traits, facts)) {
        facts.directed = !graphs::is_undirected(graph);
        return facts;
    }
    if (traits.graph == GraphNeed::tree) facts.tree = graphs::is_tree(graph);
    if (traits.graph == GraphNeed::symmetric && (facts.is_static || traits.sequences)) {
        const graphs::Symmetry symmetry = graphs::symmetry(graph);
        facts.symmetric = symmetry.symmetric;
        facts.lambda_min = symmetry.lambda_min;
    }
    return facts;
}

}  // namespace dbench::algorithms
