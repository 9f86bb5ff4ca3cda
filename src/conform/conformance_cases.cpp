// The cases of `dbench conform`: each algorithm in its forms, with the optimizers that it accepts;
// and the equalities between algorithms.

#include <map>
#include <nlohmann/json.hpp>

#include "algorithms/compatibility.hpp"
#include "base/error.hpp"
#include "conform/check_setup.hpp"
#include "conform/conform.hpp"

namespace dbench::conform {
namespace {

using base::Json;

struct Form {
    const char* algorithm;  ///< Spec keys in addition to the type.
    const char* optimizer = "\"sgd\"";
    bool promised = true;  ///< the row's promises hold for this form
    const char* message = "\"float32\"";
};

// Each algorithm's first form is checked once more with this optimizer.
constexpr const char* kDecayOfWeights =
    R"({"type": "sgd", "weight_decay": 0.05, "decay": "weights"})";

constexpr const char* kMomentum = R"({"type": "sgd", "momentum": 0.9})";
constexpr const char* kNesterov =
    R"({"type": "sgd", "momentum": 0.9, "nesterov": true, "weight_decay": 0.01})";
constexpr const char* kDecay = R"({"type": "sgd", "weight_decay": 0.01})";
constexpr const char* kClipped = R"({"type": "sgd", "clip_norm": 0.5})";

constexpr const char* kTopK = R"({"type": "top_k", "ratio": 0.25})";
constexpr const char* kRandomK = R"({"type": "random_k", "ratio": 0.4})";
constexpr const char* kQsgd = R"({"type": "qsgd", "bits": 3})";
constexpr const char* kSign = R"("sign")";
constexpr const char* kLevels = R"({"type": "qsgd", "bits": 8, "unbiased": true})";

const std::map<std::string, std::vector<Form>>& forms() {
    static const std::map<std::string, std::vector<Form>> all = {
        {"centralized", {{"{}"}, {"{}", kNesterov}, {"{}", "\"adam\""}, {"{}", kClipped}}},
        {"dsgd",
         {{"{}"},
          {R"({"order": "combine_while_adapt"})"},
          {R"({"order": "combine_then_adapt"})"},
          {"{}", kMomentum},
          {R"({"order": "combine_while_adapt"})", kNesterov},
          {R"({"order": "combine_then_adapt"})", kNesterov},
          {"{}", kClipped},
          {"{}", "\"adam\""},
          {R"({"order": "combine_while_adapt"})", "\"adam\""},
          {R"({"order": "combine_then_adapt"})", "\"adamw\""},
          {"{}", R"({"type": "adam", "weight_decay": 0.05, "decay": "weights"})"},
          {"{}", R"({"type": "adam", "betas": [0.8, 0.7], "amsgrad": true})"},
          {"{}", R"({"type": "adamw", "bias_correction": false})"},
          {"{}", R"({"type": "accum_adam", "window": 3})"},
          {R"({"order": "combine_while_adapt"})", R"({"type": "accum_adam", "window": 4})"},
          {R"({"order": "combine_then_adapt"})", R"({"type": "accum_adamw", "window": 4})"}}},
        {"averaged_momentum", {{"{}"}, {"{}", kDecay}}},
        {"decentlam", {{"{}"}, {"{}", kDecay}}},
        {"qg_dsgdm",
         {{"{}"}, {R"({"nesterov": true})"}, {R"({"beta": 0.9, "mu": 0.8})"}, {"{}", kDecay}}},
        {"dadam",
         {{"{}"}, {R"({"beta1": 0.8, "beta2": 0.6, "beta3": 0.3, "eps": 0.01})"}, {"{}", kDecay}}},
        {"d_amsgrad", {{R"({"beta2": 0.9, "eps": 0.01})"}, {"{}", kDecay}}},
        {"d2", {{"{}"}, {R"({"form": "relay"})"}, {"{}", kDecay}}},
        {"exact_diffusion", {{"{}"}, {"{}", kDecay}}},
        {"extra", {{"{}"}, {"{}", kDecay}}},
        {"gradient_tracking",
         {{"{}"},
          {R"({"form": "diging"})"},
          {R"({"start": "averaged"})"},
          {R"({"form": "diging", "start": "averaged"})"},
          {"{}", kDecay},
          {R"({"form": "diging"})", kClipped}}},
        {"momentum_tracking",
         {{"{}"},
          {R"({"start": "local"})"},
          {R"({"beta": 0.5})", kDecay},
          {R"({"start": "local"})", kClipped}}},
        {"gut", {{"{}"}, {R"({"mu": 0.5})"}, {"{}", kDecay}}},
        {"qg_gutm", {{"{}"}, {R"({"nesterov": true})"}}},
        {"relaysgd",
         {{"{}"},
          {R"({"form": "grad"})", "\"sgd\"", false},
          {R"({"missing": "start"})"},
          {"{}", kMomentum}}},
        {"local_sgd",
         {{R"({"period": 4})"},
          {R"({"period": 4, "start": {"iterations": 10}})"},
          {R"({"period": 4, "start": {"epochs": 2}})", kNesterov}}},
        {"gossip_pga", {{R"({"period": 4})"}, {R"({"period": 4})", kMomentum}}},
        {"hierarchical_averaging",
         {{R"({"gpus_per_node": 3, "period": 2, "outer_period": 6})"},
          {R"({"gpus_per_node": 4, "outer_period": 4})", kMomentum}}},
        {"slowmo",
         {{R"({"period": 5})"},
          {R"({"period": 5, "base": "dsgd"})", kMomentum},
          {R"({"period": 6, "base": {"type": "local_sgd", "period": 2}})"},
          {R"({"period": 5, "base": "qg_dsgdm"})"},
          {R"({"period": 5, "base": "averaged_momentum"})"}}},
        {"consensus_control",
         {{R"({"fraction": 0.3})"},
          {R"({"target": 0.02, "max_rounds": 3})", kMomentum},
          {R"({"fraction": 0.1, "every": {"iterations": 3}})", "\"sgd\"", false}}},
        {"dsgd_ac", {{R"({"start_epoch": 2})"}, {R"({"start_epoch": 2, "p": 2})", kNesterov}}},
        {"diloco",
         {{R"({"period": 4})"},
          {R"({"period": 4})", "\"adamw\""},
          {R"({"period": 6, "fragments": 2})"},
          {R"({"period": 7, "delay": 5, "alpha": 0.4})"},
          {R"({"period": 6, "fragments": 2, "delay": 1, "alpha": 0.5})", kMomentum},
          {R"({"period": 4, "gpus_per_node": 3})", kMomentum}}},
        {"noloco", {{R"({"period": 4})"}, {R"({"period": 4, "gamma": 0.9})", "\"adam\""}}},
        {"gasloc",
         {{R"({"period": 4})"},
          {R"({"period": 4, "eta": 0.8, "gamma": 0.2})", "\"sgd\"", false},
          {R"({"period": 4})", kMomentum}}},
        {"cocod_sgd",
         {{R"({"period": 4})"}, {R"({"period": 1})"}, {R"({"period": 3})", kMomentum}}},
        {"overlap_local_sgd",
         {{"{}"},
          {R"({"period": 4, "alpha": 0.4, "beta": 0.3})", "\"sgd\"", false},
          {R"({"period": 3, "beta": 0})", kMomentum}}},
        {"feddkd",
         {{R"({"period": 4, "distill_steps": 2})"},
          {R"({"period": 3, "distill_lr": 0.3, "temperature": 2})"},
          {R"({"period": 4, "distill_steps": 1})", kNesterov}}},
        {"ntk_dfl",
         {{R"({"steps": 1, "candidates": 1})"},
          {R"({"steps": 6, "candidates": 3})", "\"sgd\"", false},
          {R"({"steps": 5, "candidates": 1})", kDecay, false}}},
        {"sgp",
         {{"{}"},
          {R"({"order": "awc"})"},
          {"{}", kMomentum},
          {R"({"order": "awc"})", kDecay},
          {"{}", "\"adam\""}}},
        {"osgp", {{"{}"}, {R"({"tau": 0})"}, {R"({"tau": 3})", kMomentum}}},
        {"quantized_push_sum",
         {{"{}"}, {"{}", "\"sgd\"", false, kLevels}, {"{}", kMomentum, true, R"("bfloat16")"}}},
        {"choco",
         {{R"({"gamma": 0.2})", "\"sgd\"", true, kTopK},
          {"{}"},
          {R"({"gamma": 0.3})", "\"sgd\"", true, kSign},
          {R"({"gamma": 0.3})", kMomentum, true, kRandomK},
          {R"({"gamma": 0.4, "period": 3})", "\"adam\"", true, kQsgd},
          {R"({"order": "parallel", "gamma": 0.2})", "\"sgd\"", true, kTopK},
          {R"({"order": "parallel", "gamma": 0.4, "period": 2})", kNesterov, true, kQsgd}}},
        {"adagossip",
         {{R"({"gamma": 0.02, "beta": 0.9})", "\"sgd\"", true, kTopK},
          {"{}"},
          {"{}", kMomentum, true, kSign}}},
        {"dcd", {{"{}", "\"sgd\"", true, kLevels}, {"{}", kMomentum, true, R"("bfloat16")"}}},
        {"ecd",
         {{"{}", "\"sgd\"", true, kLevels},
          {"{}", kMomentum, true, R"("float16")"},
          {"{}", "\"sgd\"", true, R"({"type": "random_k", "ratio": 0.9, "unbiased": true})"}}},
        {"deepsqueeze",
         {{R"({"gamma": 0.3})", "\"sgd\"", true, R"({"type": "top_k", "ratio": 0.5})"},
          {"{}"},
          {R"({"gamma": 0.3})", kMomentum, true, kSign}}},
        {"beer",
         {{R"({"gamma": 0.2})", "\"sgd\"", true, kTopK},
          {R"({"gamma": 0.3})"},
          {"{}", kDecay, true, kQsgd}}},
        {"motef",
         {{R"({"gamma": 0.2})", "\"sgd\"", true, kTopK}, {R"({"lambda": 0.4, "gamma": 0.3})"}}},
        // Replicas start far apart, so theta = 8 is needed. With a theta that is too small only the
        // promise about the mean fails.
        {"moniqua",
         {{R"({"theta": 8})"},
          {R"({"theta": 8, "bits": 11, "gamma": 1})", kMomentum},
          {R"({"theta": 8, "form": "combine_while_adapt"})"},
          {R"({"theta": 8, "form": "combine_while_adapt"})", kNesterov},
          {R"({"theta": 1, "bits": 2, "gamma": 0.2})", "\"sgd\"", false}}},
        {"powergossip", {{"{}"}, {"{}", kNesterov}, {"{}", "\"adam\""}}},
        {"ad_psgd", {{"{}"}, {R"({"jitter": 0})", kMomentum}, {R"({"jitter": 0.9})", "\"adam\""}}},
        {"swift", {{"{}"}, {R"({"jitter": 0})", kMomentum}, {R"({"jitter": 0.9})", "\"adam\""}}},
    };
    return all;
}

}  // namespace

std::vector<ConformanceCase> conformance_cases(const std::string& algorithm) {
    std::vector<ConformanceCase> out;
    std::vector<std::string> names;
    for (const algorithms::AlgorithmEntry& row : algorithms::algorithm_table()) {
        names.push_back(row.name);
        if (!algorithm.empty() && row.name != algorithm) continue;
        const auto found = forms().find(row.name);
        std::vector<Form> own = found == forms().end() ? std::vector<Form>{{"{}"}} : found->second;
        own.push_back({own.front().algorithm, kDecayOfWeights, true, own.front().message});
        for (const Form& form : own) {
            Json spec = Json::parse(form.algorithm);
            spec["type"] = row.name;
            const auto facts = algorithms::facts_of(row, resolved_algorithm(spec, row));
            // centralized never brings different starts together.
            const bool same =
                row.traits.graph == algorithms::GraphNeed::none || facts.traits.one_start;
            out.push_back({std::move(spec), Json::parse(form.optimizer), &row, form.promised, same,
                           nullptr, Json::parse(form.message)});
        }
    }
    if (out.empty()) {
        throw base::UserError("conform: unknown algorithm '" + algorithm + "'" +
                              base::suggest_name(algorithm, names));
    }
    return out;
}

const std::vector<Equality>& equalities() {
    const auto make = [](const char* statement, const char* left, const char* right,
                         const char* graph = "", const char* left_optimizer = "\"sgd\"",
                         const char* right_optimizer = "\"sgd\"") {
        const std::string sides = std::string(left) + right;
        const auto has = [&](const char* name) { return sides.find(name) != std::string::npos; };
        const bool same = has("centralized") || has("slowmo") || has("parallel") ||
                          has("\"dcd\"") || has("\"ecd\"");
        return Equality{statement,
                        Json::parse(left),
                        Json::parse(right),
                        Json::parse(left_optimizer),
                        Json::parse(right_optimizer),
                        graph,
                        same};
    };
    static const std::vector<Equality> all = {
        make("dsgd on the complete graph is centralized", R"({"type": "dsgd"})",
             R"({"type": "centralized"})", "complete"),
        make("dsgd with momentum, complete graph, is centralized with momentum",
             R"({"type": "dsgd"})", R"({"type": "centralized"})", "complete", kMomentum, kMomentum),
        make("gut with mu = 0 is dsgd in the order combine_then_adapt",
             R"({"type": "gut", "mu": 0})", R"({"type": "dsgd", "order": "combine_then_adapt"})"),
        make("qg_gutm with beta = 0 is gut", R"({"type": "qg_gutm", "beta": 0, "mu": 0.5})",
             R"({"type": "gut", "mu": 0.5})"),
        make("momentum_tracking with beta = 0 is gradient_tracking in its form diging",
             R"({"type": "momentum_tracking", "beta": 0, "start": "local"})",
             R"({"type": "gradient_tracking", "form": "diging"})"),
        make("d2 in its relay form is d2", R"({"type": "d2", "form": "relay"})",
             R"({"type": "d2"})"),
        make("local_sgd with one local step is dsgd", R"({"type": "local_sgd", "period": 1})",
             R"({"type": "dsgd"})", "", kMomentum, kMomentum),
        make("gossip_pga with period 1 is dsgd on the complete graph",
             R"({"type": "gossip_pga", "period": 1})", R"({"type": "centralized"})"),
        make("slowmo with beta = 0 and alpha = 1 is local_sgd",
             R"({"type": "slowmo", "beta": 0, "alpha": 1, "period": 5})",
             R"({"type": "local_sgd", "period": 5})", "complete", kMomentum, kMomentum),
        make("diloco with outer_momentum 0 and outer_lr 1 is local_sgd",
             R"({"type": "diloco", "outer_momentum": 0, "outer_lr": 1, "period": 4})",
             R"({"type": "local_sgd", "period": 4})"),
        make("diloco between nodes, with the same, is hierarchical_averaging",
             R"({"type": "diloco", "outer_momentum": 0, "outer_lr": 1, "period": 4,
                 "gpus_per_node": 3})",
             R"({"type": "hierarchical_averaging", "gpus_per_node": 3, "outer_period": 4})", "",
             kMomentum, kMomentum),
        make("noloco with alpha = 0 and beta = gamma = 1 is local_sgd",
             R"({"type": "noloco", "alpha": 0, "beta": 1, "period": 4})",
             R"({"type": "local_sgd", "period": 4})"),
        make("feddkd without steps of distillation is local_sgd",
             R"({"type": "feddkd", "distill_steps": 0, "period": 4})",
             R"({"type": "local_sgd", "period": 4})", "", kMomentum, kMomentum),
        // The loss excludes the problem's penalty, so weight decay stands for it.
        make("ntk_dfl with one step, complete graph, is centralized",
             R"({"type": "ntk_dfl", "steps": 1, "candidates": 1})", R"({"type": "centralized"})",
             "complete", R"({"type": "sgd", "weight_decay": 0.1})"),
        make("gasloc with one local step, eta = 1, gamma = 0 is dsgd",
             R"({"type": "gasloc", "period": 1})", R"({"type": "dsgd"})"),
        make("hierarchical_averaging with outer_period 1 is dsgd",
             R"({"type": "hierarchical_averaging", "outer_period": 1})", R"({"type": "dsgd"})"),
        make("consensus_control with at most one averaging is dsgd",
             R"({"type": "consensus_control", "max_rounds": 1})", R"({"type": "dsgd"})"),
        make("dsgd_ac with a_min = 1 is dsgd in the order combine_while_adapt",
             R"({"type": "dsgd_ac", "a_min": 1, "start_epoch": 0})",
             R"({"type": "dsgd", "order": "combine_while_adapt"})"),
        make("decentlam with beta = 0 is dsgd", R"({"type": "decentlam", "beta": 0})",
             R"({"type": "dsgd"})"),
        make("qg_dsgdm with beta = 0 is dsgd", R"({"type": "qg_dsgdm", "beta": 0})",
             R"({"type": "dsgd"})"),
        make("sgp is dsgd where rows sum to 1, too", R"({"type": "sgp"})", R"({"type": "dsgd"})",
             "", kNesterov, kNesterov),
        make("sgp in the order awc is then dsgd in the order combine_while_adapt",
             R"({"type": "sgp", "order": "awc"})",
             R"({"type": "dsgd", "order": "combine_while_adapt"})", "", kMomentum, kMomentum),
        make("osgp with tau = 0 is sgp in the order awc", R"({"type": "osgp", "tau": 0})",
             R"({"type": "sgp", "order": "awc"})"),
        make("choco without compression and gamma = 1 is dsgd", R"({"type": "choco", "gamma": 1})",
             R"({"type": "dsgd"})", "", kMomentum, kMomentum),
        make("choco in its parallel order, alike, is dsgd in the order combine_while_adapt",
             R"({"type": "choco", "order": "parallel", "gamma": 1})",
             R"({"type": "dsgd", "order": "combine_while_adapt"})"),
        make("choco with a period, alike, is local_sgd",
             R"({"type": "choco", "gamma": 1, "period": 4})",
             R"({"type": "local_sgd", "period": 4})"),
        make("dcd without compression is dsgd in the order combine_while_adapt",
             R"({"type": "dcd"})", R"({"type": "dsgd", "order": "combine_while_adapt"})"),
        make("ecd without compression is dsgd in the order combine_while_adapt",
             R"({"type": "ecd"})", R"({"type": "dsgd", "order": "combine_while_adapt"})"),
        make("deepsqueeze without compression and gamma = 1 is dsgd",
             R"({"type": "deepsqueeze", "gamma": 1})", R"({"type": "dsgd"})"),
        make("motef with lambda = 1 is beer", R"({"type": "motef", "lambda": 1})",
             R"({"type": "beer"})"),
        make("ad_psgd, where all are equally quick and paired, is dsgd combining while adapting",
             R"({"type": "ad_psgd", "jitter": 0})",
             R"({"type": "dsgd", "order": "combine_while_adapt"})", "random_matching", kMomentum,
             kMomentum),
        make("swift, where all are equally quick, is dsgd in the order combine_while_adapt",
             R"({"type": "swift", "jitter": 0})",
             R"({"type": "dsgd", "order": "combine_while_adapt"})", "", "\"adam\"", "\"adam\""),
        make("accum_adam with window 1 is adam", R"({"type": "dsgd"})", R"({"type": "dsgd"})", "",
             R"({"type": "accum_adam", "window": 1})", "\"adam\""),
        make("accum_adamw with window 1 is adamw", R"({"type": "dsgd"})", R"({"type": "dsgd"})", "",
             R"({"type": "accum_adamw", "window": 1})", "\"adamw\""),
    };
    return all;
}

}  // namespace dbench::conform
