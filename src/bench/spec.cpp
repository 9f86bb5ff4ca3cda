#include "bench/spec.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/algorithm.hpp"
#include "algorithms/optimizers/optimizer.hpp"
#include "base/error.hpp"
#include "bench/spec_merge.hpp"
#include "bench/spec_tables.hpp"
#include "data/dataset.hpp"
#include "graphs/schedule.hpp"

namespace dbench::bench {

using base::Json;
using base::UserError;

namespace {

Json read_chain(const std::string& path, std::set<std::string>& seen) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const std::string canonical = fs::weakly_canonical(path, ignored).string();
    if (!seen.insert(canonical).second) {
        throw UserError(path + ": /base leads back to this file (a circle): name another base");
    }
    Json spec = base::read_json(path);
    if (!spec.is_object()) throw UserError(path + ": must hold a JSON object");
    if (!spec.contains("base")) return spec;
    if (!spec["base"].is_string()) throw UserError(path + ": /base must be a path (a string)");
    const fs::path base_path = fs::path(path).parent_path() / spec["base"].get<std::string>();
    Json whole = read_chain(base_path.string(), seen);
    spec.erase("base");
    // A name and notes are a file's own.
    for (const char* own : {"name", "notes"}) {
        if (!spec.contains(own)) whole.erase(own);
    }
    merge_spec(whole, spec);
    return whole;
}

void check_name(const std::string& name) {
    const bool good = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '.' || c == '_' || c == '-';
    });
    if (!good || name[0] == '.') {
        throw UserError("/name: '" + name + "' is not a name (letters, digits, '.', '_', '-')");
    }
}

Json resolve_seed(const Json& given) {
    const auto check = [](const Json& value, const std::string& pointer) {
        const bool good =
            value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
        if (!good) {
            throw UserError(pointer + ": must be a whole number from 0 (found " +
                            base::short_text(value) + ")");
        }
    };
    if (!given.is_object()) {
        check(given, "/seed");
        return given;
    }
    using P = base::Parameter;
    Json out = base::resolve_object(
        given, "/seed",
        {P::any("init", "1", "initial parameters"),
         P::any("data", "1", "partitions and generated data"),
         P::any("graph", "1", "random graphs"), P::any("augment", "1", "augmentation")});
    for (const auto& item : out.items()) check(item.value(), "/seed/" + item.key());
    return out;
}

void check_evaluated_replicas(const Json& value) {
    const bool all = value.is_string() && value == "all";
    const bool count = value.is_number_integer() && value.get<int64_t>() >= 1;
    if (!all && !count) {
        throw UserError("/evaluate/replicas: must be a whole number from 1, or \"all\" (found " +
                        base::short_text(value) + ")");
    }
}

std::string fill_name(std::string output, const std::string& name) {
    const std::string mark = "{name}";
    for (size_t at; (at = output.find(mark)) != std::string::npos;) {
        output.replace(at, mark.size(), name);
    }
    return output;
}

const Json& required(const Json& given, const char* key, const char* help) {
    if (!given.contains(key))
        throw UserError(std::string("/") + key + ": is missing (" + help + ")");
    return given.at(key);
}

// Fills spec.algorithm and spec.graph, and the keys of the resolved spec that name them.
void resolve_method(const Json& given, Spec& spec) {
    Json algorithm, graph;
    if (given.contains("implementation")) {
        for (const char* other : {"graph", "algorithm"}) {
            if (given.contains(other)) {
                throw UserError(std::string("/") + other +
                                ": may not stand beside /implementation, which names it");
            }
        }
        const Json& value = given.at("implementation");
        if (!value.is_string()) throw UserError("/implementation: must be a string");
        const auto name = value.get<std::string>();
        std::vector<std::string> names;
        for (const auto& each : implementations()) {
            names.push_back(each.name);
            if (name != each.name) continue;
            algorithm = Json::parse(each.algorithm);
            if (each.graph) graph = Json::parse(each.graph);
        }
        if (algorithm.is_null()) {
            throw UserError("/implementation: unknown implementation '" + name + "'" +
                            base::nearest(name, names));
        }
        spec.resolved["implementation"] = name;
    } else {
        if (!given.contains("algorithm")) {
            throw UserError(
                "/algorithm: is missing (name an algorithm and a graph, or an implementation such "
                "as \"D_ring\")");
        }
        algorithm = given.at("algorithm");
        if (given.contains("graph")) graph = given.at("graph");
    }
    spec.algorithm = algorithms::resolve_algorithm(algorithm);
    const auto name = spec.algorithm.at("type").get<std::string>();
    const auto* row = base::find_row(algorithms::algorithm_table(), name);
    if (row->accepts.graph == algorithms::GraphNeed::none) {
        if (!graph.is_null()) {
            throw UserError("/graph: " + name +
                            " takes no graph (it averages over all replicas): "
                            "remove it, or choose another algorithm such as dsgd");
        }
    } else if (graph.is_null()) {
        throw UserError("/graph: is missing (" + name + " averages with neighbours in a graph)");
    } else {
        spec.graph = graphs::resolve_graph(graph, "/graph");
    }
    if (given.contains("implementation")) return;
    if (!spec.graph.is_null()) spec.resolved["graph"] = spec.graph;
    spec.resolved["algorithm"] = spec.algorithm;
}

// The optimizer must suit the algorithm.
void check_optimizer(const Json& algorithm, const Json& optimizer) {
    const auto name = algorithm.at("type").get<std::string>();
    const auto* row = base::find_row(algorithms::algorithm_table(), name);
    if (row->accepts.optimizer == algorithms::OptimizerNeed::any) return;
    const std::string type = optimizer.at("type");
    if (type != "sgd") {
        throw UserError("/optimizer/type: " + name + " makes its own direction from plain SGD's (" +
                        type + " has another): choose sgd, or the algorithm dsgd, which takes " +
                        type);
    }
    if (optimizer.at("momentum") != 0) {
        const bool own = algorithm.contains("beta");
        throw UserError("/optimizer/momentum: must be 0 with " + name + " (" +
                        (own ? "it has a momentum of its own"
                             : "its correction is for gradients, not for momenta") +
                        "): " + (own ? "set /algorithm/beta instead" : "remove it") +
                        ", or choose an algorithm such as dsgd or qg_dsgdm");
    }
}

void refuse_what_is_to_come(const Json& resolved) {
    if (resolved.at("device") == "cuda") {
        throw UserError(
            "/device: cuda is refused (this version trains on the CPU only): use \"auto\" or "
            "\"cpu\"");
    }
}

}  // namespace

const std::vector<Implementation>& implementations() {
    static const char* kDsgd = R"({"type": "dsgd", "order": "adapt_then_combine"})";
    static const std::vector<Implementation> all = {
        {"C_complete", R"({"type": "centralized"})", nullptr, "gradient all-reduce"},
        {"D_complete", kDsgd, R"({"type": "complete"})", "parameters averaged over all replicas"},
        {"D_ring", kDsgd, R"({"type": "ring"})", "parameters averaged with two neighbours"},
        {"D_torus", kDsgd, R"({"type": "torus"})", "parameters averaged with four neighbours"},
        {"D_exponential", kDsgd, R"({"type": "exponential"})",
         "parameters averaged with log2 n neighbours"},
    };
    return all;
}

Seeds seeds_of(const Json& resolved) {
    const Json& seed = resolved.at("seed");
    if (!seed.is_object()) {
        const auto s = seed.get<uint64_t>();
        return {s, s, s, s};
    }
    return {seed.at("init"), seed.at("data"), seed.at("graph"), seed.at("augment")};
}

Json read_spec(const std::string& path, const std::vector<std::string>& settings) {
    std::set<std::string> seen;
    Json spec = read_chain(path, seen);
    for (const auto& setting : settings) apply_setting(spec, setting);
    return spec;
}

Spec resolve_spec(const Json& given, const std::string& default_name) {
    // Unknown keys first: a misspelt key explains a missing one.
    std::vector<std::string> keys = {"name",      "notes",     "model",    "data",          "graph",
                                     "algorithm", "optimizer", "schedule", "implementation"};
    for (const auto& p : plain_parameters()) keys.push_back(p.name);
    for (const auto& item : given.items()) {
        if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
            throw UserError("/" + item.key() + ": unknown key" + base::nearest(item.key(), keys));
        }
    }
    Spec spec;
    Json& out = spec.resolved;
    const Json name = given.value("name", Json(default_name));
    if (!name.is_string()) throw UserError("/name: must be a string");
    check_name(name);
    const Json notes = given.value("notes", Json(""));
    if (!notes.is_string()) throw UserError("/notes: must be a string");

    Json plain = Json::object();
    for (const auto& p : plain_parameters()) {
        if (given.contains(p.name)) plain[p.name] = given.at(p.name);
    }
    // A string stands for an object of that kind.
    if (plain.contains("profile") && plain["profile"].is_object()) {
        Json& profile = plain["profile"];
        if (profile.contains("variance") && profile["variance"].is_string()) {
            profile["variance"] = {{"kind", profile["variance"]}};
        }
    }
    plain = base::resolve_object(plain, "", plain_parameters());
    out["name"] = name;
    out["notes"] = notes;
    for (const char* key : {"replicas", "seed", "precision", "device"}) out[key] = plain[key];
    out["seed"] = resolve_seed(plain["seed"]);
    out["model"] = base::resolve_member(required(given, "model", "which model to train"), "/model",
                                        "model", family("models").entries);
    out["data"] =
        data::resolve_data(required(given, "data", "which data set to train on"), "/data");
    resolve_method(given, spec);
    out["optimizer"] =
        algorithms::resolve_optimizer(given.value("optimizer", Json("sgd")), "/optimizer");
    check_optimizer(spec.algorithm, out["optimizer"]);
    out["schedule"] =
        algorithms::resolve_schedule(given.value("schedule", Json("constant")), "/schedule");
    for (const auto& item : plain.items()) {
        if (!out.contains(item.key())) out[item.key()] = item.value();
    }
    check_evaluated_replicas(out["evaluate"]["replicas"]);
    refuse_what_is_to_come(out);
    spec.output = fill_name(out["output"], name);
    return spec;
}

}  // namespace dbench::bench
