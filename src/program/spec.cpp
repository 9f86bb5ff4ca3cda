#include "program/spec.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/algorithm.hpp"
#include "algorithms/compatibility.hpp"
#include "algorithms/learning_rates/schedule.hpp"
#include "algorithms/optimizers/optimizer.hpp"
#include "base/error.hpp"
#include "base/path_text.hpp"
#include "data/data_spec.hpp"
#include "data/dataset.hpp"
#include "graphs/schedule.hpp"
#include "program/spec_keys.hpp"
#include "program/spec_merge.hpp"
#include "program/spec_tables.hpp"

namespace dbench::program {

using base::Json;
using base::UserError;

namespace {

constexpr size_t kMostBases = 100;  // Each base is read by a nested call.
constexpr const char* kStandardInput = "/dev/stdin";

// Makes the path of a model's file, which is relative to the spec's folder, relative to the current
// folder.
void name_model_file(Json& spec, const std::filesystem::path& folder) {
    if (folder.empty() || !spec.contains("model")) return;
    Json& model = spec["model"];
    if (!model.is_object() || !model.contains("path") || !model["path"].is_string()) return;
    const std::string path = model["path"].get<std::string>();
    if (!path.empty() && path[0] != '~' && path[0] != '$') model["path"] = (folder / path).string();
}

// Standard input can be read only once, but some commands read the spec several times.
Json read_file(const std::string& path) {
    if (path != kStandardInput) return base::read_json(path);
    static const Json kept = base::read_json(path);
    return kept;
}

Json read_chain(const std::string& path, std::set<std::string>& seen) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const std::string canonical = fs::weakly_canonical(path, ignored).string();
    if (!seen.insert(canonical).second) {
        throw UserError(path + ": /base refers back to this file (a cycle): name another base");
    }
    if (seen.size() > kMostBases) {
        throw UserError(path + ": is the base of a base of more than " +
                        std::to_string(kMostBases) +
                        " specs (a chain must end): merge some of them");
    }
    Json spec = read_file(path);
    if (!spec.is_object()) throw UserError(path + ": must hold a JSON object");
    if (path != kStandardInput) name_model_file(spec, fs::path(path).parent_path());
    if (!spec.contains("base")) return spec;
    if (!spec["base"].is_string()) throw UserError(path + ": /base must be a path (a string)");
    base::check_path_text(spec["base"].get<std::string>(), path + ": /base");
    const fs::path base_path = fs::path(path).parent_path() / spec["base"].get<std::string>();
    Json whole = read_chain(base_path.string(), seen);
    spec.erase("base");
    // Name and notes are not inherited from the base file.
    for (const char* own : {"name", "notes"}) {
        if (!spec.contains(own)) whole.erase(own);
    }
    merge_spec(whole, spec);
    return whole;
}

// Throws UserError if a string of the spec, all of whose strings but the notes may be paths, has
// the notation of a shell. `pointer` names the value.
void check_paths(const Json& value, const std::string& pointer) {
    if (value.is_string()) {
        const bool output = pointer == "/output";
        base::check_path_text(
            value.get<std::string>(), pointer,
            output ? std::vector<std::string>{"name"} : std::vector<std::string>{});
    }
    if (!value.is_structured()) return;
    for (const auto& item : value.items()) {
        const std::string here = pointer + "/" + item.key();
        if (here != "/notes" && here != "/name") check_paths(item.value(), here);
    }
}

// Returns the entry of a family with the type `type`, if it is an object without a type.
Json with_type(Json entry, const char* type) {
    if (!entry.is_object() || entry.contains("type")) return entry;
    Json out{{"type", type}};
    out.update(entry);
    return out;
}

// Resolves the model. The error about an unknown model says where models of one's own go.
Json resolve_model(const Json& given) {
    const auto& entries = family("models").entries;
    const Json type = given.is_object() && given.contains("type") ? given.at("type") : given;
    const auto is = [&](const std::string& name) {
        return std::ranges::any_of(entries, [&](const auto* each) { return each->name == name; });
    };
    if (!type.is_string() || is(type.get<std::string>())) {
        return base::resolve_member(given, "/model", "model", entries);
    }
    const auto name = type.get<std::string>();
    const std::string own =
        is("exported") ? "to train a PyTorch model of your own, export it with `dbench-export` and "
                         "give {\"type\": \"exported\", \"path\": ...} (docs/your-model.md)"
                       : "to add a model of your own, see docs/adding.md";
    const std::string suffix = std::filesystem::path(name).extension().string();
    if (name.find('/') != std::string::npos || suffix.starts_with(".p") || suffix == ".onnx") {
        throw UserError("/model/type: '" + name +
                        "' is a file, and not the name of a model: " + own);
    }
    std::vector<std::string> names;
    for (const auto* each : entries) names.push_back(each->name);
    throw UserError("/model/type: unknown model '" + name + "'" + base::suggest_name(name, names) +
                    " (" + own + ")");
}

// Returns the value of a key of outer_parameters, or its default. Throws UserError if the key is
// missing and has no default.
Json outer(const Json& given, const std::string& key) {
    if (given.contains(key)) return given.at(key);
    for (const auto& p : outer_parameters()) {
        if (p.name != key) continue;
        if (p.default_json.empty()) throw UserError("/" + key + ": is missing (" + p.help + ")");
        return Json::parse(p.default_json);
    }
    throw std::logic_error("no key " + key);
}

std::vector<std::string> implementation_names() {
    std::vector<std::string> names;
    for (const auto& each : implementations()) names.push_back(each.name);
    return names;
}

// Fills in spec.algorithm and spec.graph, and the keys of the resolved spec that name them.
void resolve_method(const Json& given, Spec& spec) {
    Json algorithm, graph;
    if (given.contains("implementation")) {
        for (const char* other : {"graph", "algorithm"}) {
            if (given.contains(other)) {
                throw UserError(std::string("/") + other +
                                ": cannot be given together with /implementation, which sets it: "
                                "remove one of them");
            }
        }
        const Json& value = given.at("implementation");
        if (!value.is_string()) throw UserError("/implementation: must be a string");
        const auto name = value.get<std::string>();
        for (const auto& each : implementations()) {
            if (name != each.name) continue;
            algorithm = Json::parse(each.algorithm);
            if (each.graph) graph = Json::parse(each.graph);
        }
        if (algorithm.is_null()) {
            throw UserError("/implementation: unknown implementation '" + name + "'" +
                            base::suggest_name(name, implementation_names()));
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
    algorithms::Facts facts = algorithms::facts_of(spec.algorithm);
    facts.graph_given = !graph.is_null();
    algorithms::require_compatible(facts);
    if (!graph.is_null()) spec.graph = graphs::resolve_graph(graph, "/graph");
    if (given.contains("implementation")) return;
    if (!spec.graph.is_null()) spec.resolved["graph"] = spec.graph;
    spec.resolved["algorithm"] = spec.algorithm;
}

}  // namespace

const std::vector<base::Parameter>& outer_parameters() {
    using P = base::Parameter;
    static const std::vector<P> all = {
        P::text("base", "null", "a spec file that this one overrides, relative to its own folder"),
        P::of("models", "model", "", "which model to train"),
        P::of("data", "data", "", "which data set to train on; in addition to its own keys:")
            .or_object(data::DataSpec::section().parameters()),
        P::choice("implementation", "null", implementation_names(),
                  "an algorithm and a graph by one name"),
        P::of("algorithms", "algorithm", "null",
              "what replicas do; required without implementation"),
        P::of("graphs", "graph", "null",
              "which replicas average with each other; or a list of graphs, each except the last "
              "with until")
            .or_null(),
        P::of("optimizers", "optimizer", "\"sgd\"", "the optimizer of every replica"),
        P::of("schedules", "schedule", "\"constant\"", "the schedule of the learning rate"),
    };
    return all;
}

std::vector<base::Parameter> spec_parameters() {
    std::vector<base::Parameter> all = train::RunSpec::section().parameters();
    all.insert(all.end(), outer_parameters().begin(), outer_parameters().end());
    return all;
}

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

Json read_spec(const std::string& path, const std::vector<std::string>& settings) {
    std::set<std::string> seen;
    Json spec = read_chain(path, seen);
    for (const auto& setting : settings) apply_setting(spec, setting);
    return spec;
}

Spec assemble_spec(Json resolved, Json algorithm, Json graph, std::string output) {
    Spec spec{std::move(resolved), {}, std::move(algorithm), std::move(graph), std::move(output)};
    spec.run = train::RunSpec::section().read(spec.resolved);
    return spec;
}

namespace {

Spec resolve_known(const Json& given, const std::string& default_name) {
    const auto& own = train::RunSpec::section().parameters();
    // Unknown keys are reported first, because a misspelt key often explains a missing one.
    std::vector<std::string> keys;
    for (const auto& p : spec_parameters()) keys.push_back(p.name);
    std::erase(keys, "base");  // already resolved when the file was read
    for (const auto& item : given.items()) {
        if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
            throw base::UnknownKey("", item.key(), keys);
        }
    }
    check_paths(given, "");
    Json plain = {{"name", default_name}};
    for (const auto& p : own) {
        if (given.contains(p.name)) plain[p.name] = given.at(p.name);
    }
    plain = base::resolve_object(plain, "", own);
    if (plain["compute"] == "float32") {  // Results name one arithmetic by one word.
        if (plain["precision"] != "float32") {
            throw UserError("/compute: float32 requires \"precision\": \"float32\": choose " +
                            std::string("\"precision\", or this precision"));
        }
        plain["compute"] = "precision";
    }
    Spec spec;
    Json& out = spec.resolved;
    for (const char* key : {"name", "notes", "replicas", "seed", "precision", "device"}) {
        out[key] = plain[key];
    }
    out["model"] = resolve_model(outer(given, "model"));
    out["data"] = data::resolve_data(outer(given, "data"), "/data");
    resolve_method(given, spec);
    out["optimizer"] =
        algorithms::resolve_optimizer(with_type(outer(given, "optimizer"), "sgd"), "/optimizer");
    algorithms::Facts facts = algorithms::facts_of(spec.algorithm);
    facts.optimizer = algorithms::optimizer_facts(out["optimizer"]);
    algorithms::require_compatible(facts);
    out["schedule"] =
        algorithms::resolve_schedule(with_type(outer(given, "schedule"), "constant"), "/schedule");
    for (const auto& item : plain.items()) {
        if (!out.contains(item.key())) out[item.key()] = item.value();
    }
    facts.independent_start = out.at("init") == "independent";
    facts.message = algorithms::message_facts(out.at("message"));
    algorithms::require_compatible(facts);
    spec.output = output_path(plain["output"], plain["name"], "/output");
    return assemble_spec(std::move(spec.resolved), std::move(spec.algorithm), std::move(spec.graph),
                         std::move(spec.output));
}

}  // namespace

std::string output_path(std::string output, const std::string& name, const std::string& where) {
    base::check_path_text(output, where, {"name"});
    if (output.empty()) {
        throw UserError(where + ": is empty: name a file, such as results/{name}.h5");
    }
    const std::string mark = "{name}";
    for (size_t at; (at = output.find(mark)) != std::string::npos;) {
        output.replace(at, mark.size(), name);
    }
    return output;
}

Spec resolve_spec(const Json& given, const std::string& default_name) {
    try {
        return resolve_known(given, default_name);
    } catch (const base::UnknownKey& error) {
        throw UserError(error.pointer + "/" + error.key.substr(0, 200) + ": unknown key" +
                        suggest_key(given, error.pointer, error.key, error.names));
    }
}

}  // namespace dbench::program
