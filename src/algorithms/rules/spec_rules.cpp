// Rules about the graph key, the optimizer, the start, messages and arithmetic.

#include <string>

#include "algorithms/rules/rules.hpp"

namespace dbench::algorithms {
namespace {

Finding check_graph_presence(const Facts& f) {
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

Finding check_clipping(const Facts& f) {
    if (!f.optimizer || !f.optimizer->clips || !f.traits.linearises) return {};
    return Problem{"/optimizer/clip_norm",
                   "limits the gradient of the minibatch, which " + f.algorithm + " does not use",
                   "remove it"};
}

Finding check_optimizer_type(const Facts& f) {
    if (!f.optimizer || f.traits.optimizer == OptimizerNeed::any) return {};
    const std::string& type = f.optimizer->type;
    if (type == "sgd") return {};
    return Problem{
        "/optimizer/type",
        f.algorithm + " computes its own direction from gradients and cannot use " + type,
        "choose sgd, or the algorithm dsgd, which can use " + type};
}

Finding check_momentum(const Facts& f) {
    if (!f.optimizer || f.traits.optimizer == OptimizerNeed::any) return {};
    if (!f.optimizer->momentum) return {};
    const bool own = !f.momentum_key.empty();
    return Problem{
        "/optimizer/momentum",
        "must be 0 with " + f.algorithm + " (" +
            (own ? "it has its own momentum"
                 : "it computes its direction from gradients, not from momenta") +
            ")",
        std::string(own ? "set " + f.momentum_key + " instead" : "remove it") +
            ", or choose dsgd, which accepts it" +
            (f.algorithm == "qg_dsgdm" ? "" : ", or qg_dsgdm, which has /algorithm/beta instead")};
}

Finding check_start(const Facts& f) {
    if (!f.independent_start.value_or(false) || !f.traits.one_start) return {};
    return Problem{"/init",
                   "must not be independent with " + f.algorithm +
                       " (it needs a start that all replicas share)",
                   "choose same, or the algorithm local_sgd"};
}

Finding check_fixed_start(const Facts& f) {
    if (!f.independent_start.value_or(false) || !f.model || !f.model->fixed_start) return {};
    return Problem{"/init",
                   "must not be independent with this model (its file holds the initial values of "
                   "one replica)",
                   "choose same or zeros"};
}

Finding check_own_messages(const Facts& f) {
    if (!f.message || !f.message->changes_rows || f.traits.messages != Messages::own) return {};
    return Problem{"/message", f.algorithm + " encodes its messages itself, by its own keys",
                   "remove /message, or choose an algorithm that accepts a codec, such as choco"};
}

Finding check_exact_rows(const Facts& f) {
    if (!f.message || !f.message->changes_rows) return {};
    if (f.traits.messages != Messages::exact_rows) return {};
    if (f.traits.tracker) {
        return Problem{"/message",
                       f.algorithm +
                           " cannot start with a rounded mean (its trackers would differ "
                           "from the mean by this rounding in all iterations)",
                       "choose \"float32\", or \"start\": \"local\""};
    }
    if (f.traits.asynchronous) {
        return Problem{"/message",
                       f.algorithm +
                           " cannot send rounded rows (the messages of asynchronous algorithms are "
                           "rows as they are)",
                       "choose \"float32\", or the algorithm dsgd"};
    }
    return Problem{"/message",
                   f.algorithm +
                       " cannot send rounded rows (differences of rounded rows need a W whose "
                       "rows sum to 1)",
                   "choose \"float32\", or the algorithm quantized_push_sum"};
}

Finding check_codec(const Facts& f) {
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

Finding check_reduction(const Facts& f) {
    if (!f.message || !f.arithmetic || !f.arithmetic->library_reduction) return {};
    if (!f.message->changes_rows || f.message->drops) return {};
    return Problem{"/message",
                   "16-bit rows are added along the program's own tree, not by MPI's library",
                   "leave /reduction out, or choose \"reproducible\""};
}

Finding check_compute(const Facts& f) {
    if (!f.arithmetic || f.arithmetic->float32) return {};
    if (!f.arithmetic->bfloat16 && !f.arithmetic->tf32) return {};
    return Problem{"/compute",
                   std::string(f.arithmetic->bfloat16 ? "bfloat16" : "tf32") +
                       " requires parameters and gradients in float32 (/precision is float64)",
                   "leave one of the two out"};
}

Finding check_tensor_cores(const Facts& f) {
    if (!f.arithmetic || !f.arithmetic->tf32 || !f.passes || !f.passes->on_host) return {};
    return Problem{"/compute", "tf32 is arithmetic of a GPU, and replicas train on the CPU",
                   "choose \"precision\" or \"bfloat16\", or \"device\": \"cuda\""};
}

}  // namespace

std::vector<Rule> spec_rules() {
    return {
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
    };
}

}  // namespace dbench::algorithms
