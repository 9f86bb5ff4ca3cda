#include "train/spec/run_spec.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "graphs/placement_table.hpp"
#include "train/device/device.hpp"

namespace dbench::train {
namespace {

using base::Json;
using base::Parameter;
using base::UserError;
using base::Words;

Json resolve_name(const Json& given, const std::string& pointer) {
    if (!given.is_string()) throw UserError(pointer + ": must be a string");
    const auto name = given.get<std::string>();
    const bool good = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '.' || c == '_' || c == '-';
    });
    if (!good || name[0] == '.') {
        throw UserError(pointer + ": " + base::short_text(given) +
                        " is not a name (letters, digits, '.', '_', '-')");
    }
    return given;
}

Json resolve_one_seed(const Json& given, const std::string& pointer) {
    if (given.is_number_float() && base::is_whole(given) && given >= 0 && given <= 0x1p53) {
        return given.get<uint64_t>();
    }
    const bool whole =
        given.is_number_unsigned() || (given.is_number_integer() && given.get<int64_t>() >= 0);
    if (!whole) {
        throw UserError(pointer + ": must be a whole number from 0 (found " +
                        base::short_text(given) + ")");
    }
    return given;
}

constexpr const char* kSeedShape = R"({"type": "integer", "minimum": 0})";

std::vector<Parameter> seeds() {
    const auto seed = [](const char* name, const char* help) {
        return Parameter::any(name, "1", help, resolve_one_seed).shaped(kSeedShape);
    };
    return {seed("init", "initial parameters"),
            seed("data", "partitions and generated data"),
            seed("graph", "random graphs"),
            seed("augment", "augmentation"),
            seed("message", "noise of compressed messages"),
            seed("delay", "delays of replicas"),
            seed("dropout", "dropout")};
}

}  // namespace

std::vector<std::string> seed_names() {
    std::vector<std::string> names;
    for (const Parameter& seed : seeds()) names.push_back(seed.name);
    return names;
}

namespace {

Json resolve_seed(const Json& given, const std::string& pointer) {
    return given.is_object() ? base::resolve_object(given, pointer, seeds())
                             : resolve_one_seed(given, pointer);
}

Json resolve_device(const Json& given, const std::string& pointer) {
    if (given != "cuda" || cuda_built()) return given;
    throw UserError(pointer +
                    ": cuda is refused (this program was built without CUDA): build it with "
                    "scripts/setup --cuda, or use \"auto\" or \"cpu\"");
}

/// Returns the word, if it is one of those that every algorithm accepts; else the codec with all
/// its keys.
Json resolve_message(const Json& given, const std::string& pointer) {
    Json out =
        base::resolve_member(given, pointer, "codec", base::entries_of(algorithms::codec_table()));
    const bool any = out.at("type") == "float32" ||
                     (out.contains("stochastic") && !out.at("stochastic").get<bool>());
    return any ? out.at("type") : out;
}

}  // namespace

void read_value(const Json& value, MessageSpec& out) {
    out.rows = arena::ElementCodec::identity;
    if (value == "bfloat16") out.rows = arena::ElementCodec::bfloat16;
    if (value == "float16") out.rows = arena::ElementCodec::float16;
    out.codec = algorithms::make_codec(value);
}

void read_value(const Json& value, Seeds& out) {
    if (!value.is_object()) {
        const auto seed = value.get<uint64_t>();
        out = {seed, seed, seed, seed, seed, seed, seed};
    } else {
        out = {value.at("init"),    value.at("data"),  value.at("graph"),  value.at("augment"),
               value.at("message"), value.at("delay"), value.at("dropout")};
    }
}

// The result file has at least one row per replica, and every command that reads a spec examines
// its graph row by row: more replicas would keep `dbench check` busy for minutes.
constexpr double kMostReplicas = 1 << 20;

const base::Section<RunSpec>& RunSpec::section() {
    using R = RunSpec;
    static const base::Section<R> keys{
        {Parameter::any("name", "\"{file}\"", "name of the run: letters, digits, '.', '_', '-'",
                        resolve_name)
             .shaped(R"({"type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$"})"),
         &R::name},
        {Parameter::text("notes", "\"\"", "free text, stored in the result file"), &R::notes},
        {Parameter::integer("replicas", "", "how many model replicas to train")
             .at_least(1)
             .at_most(kMostReplicas, "a run has at most 2^20 replicas"),
         &R::replicas},
        {Parameter::any("seed", "1",
                        "one number, or a number each for init, data, graph, augment, message, "
                        "delay, dropout",
                        resolve_seed)
             .shaped(kSeedShape)
             .or_object(seeds()),
         &R::seed},
        {Words<arena::DType>(
             "precision", {{"float32", arena::DType::float32}, {"float64", arena::DType::float64}},
             arena::DType::float32, "precision of all arithmetic, except for what compute says"),
         &R::precision},
        {Words<Compute>("compute",
                        {{"precision", Compute::precision},
                         {"float32", Compute::precision},
                         {"tf32", Compute::tf32},
                         {"bfloat16", Compute::bfloat16}},
                        Compute::precision,
                        "precision of the model's passes: as precision says (or float32, if that "
                        "is float32), or convolutions and matrix products on a GPU's tensor cores "
                        "(tf32), or in bfloat16"),
         &R::compute},
        {Words<Stacking>(
             "stacking",
             {{"off", Stacking::off},
              {"streams", Stacking::streams},
              {"batched", Stacking::batched},
              {"auto", Stacking::automatic}},
             Stacking::off,
             "how the replicas of a rank pass the model: one by one (off), concurrently on GPU "
             "streams, in batched operations, or the fastest of these (auto)"),
         &R::stacking},
        {Words<DeviceChoice>("device",
                             {{"auto", DeviceChoice::automatic},
                              {"cpu", DeviceChoice::cpu},
                              {"cuda", DeviceChoice::cuda}},
                             DeviceChoice::automatic, "device on which replicas train",
                             resolve_device),
         &R::device},
        {Parameter::flag("share_gpus", "false",
                         "whether ranks may use the same GPU, to try several ranks on few GPUs; "
                         "their times cannot be compared"),
         [](R& spec, const Json& shared) {
             spec.share_gpus = shared.get<bool>() ? GpuSharing::allowed : GpuSharing::refused;
         }},
        {Words<Capture>("capture",
                        {{"auto", Capture::automatic}, {"on", Capture::on}, {"off", Capture::off}},
                        Capture::automatic,
                        "whether a GPU captures forward and backward passes once and replays them"),
         &R::capture},
        {Parameter::duration("length", R"({"epochs": 1})", "how long the run is").greater_than(0),
         &R::length},
        {Words<Init>(
             "init",
             {{"same", Init::same}, {"independent", Init::independent}, {"zeros", Init::zeros}},
             Init::same, "initial parameters of the replicas"),
         &R::init},
        {Parameter::number("label_smoothing", "0",
                           "e: the training loss is 1 - e times the label's cross-entropy plus e "
                           "times the mean cross-entropy over all classes")
             .at_least(0)
             .at_most(0.999),
         &R::label_smoothing},
        {"delays", &R::delays, "seconds by which replicas are delayed, to study stragglers"},
        {"evaluate", &R::evaluate, "how local models and the mean model are evaluated"},
        {"profile", &R::profile, "what is recorded of the parameters"},
        {Parameter::flag("allow_biased", "false",
                         "warn, instead of failing, if the graph does not suit the algorithm"),
         &R::allow_biased},
        {Parameter::flag(
             "allow_unstable", "false",
             "warn, instead of failing, if the algorithm diverges on the graph at any rate"),
         &R::allow_unstable},
        {Parameter::flag("allow_disconnected", "false",
                         "warn, instead of failing, if replicas never agree over the graph"),
         &R::allow_disconnected},
        {Words<ReductionChoice>("reduction",
                                {{"auto", ReductionChoice::automatic},
                                 {"reproducible", ReductionChoice::reproducible},
                                 {"library", ReductionChoice::library}},
                                ReductionChoice::automatic, "how sums over replicas are computed"),
         &R::reduction},
        {Parameter::of(
             "codecs", "message", "\"float32\"",
             "how parameters and gradients are encoded in messages: unchanged, in 16 bits, "
             "or by any codec with algorithms that compress",
             resolve_message),
         &R::message},
        {Parameter::of("placements", "placement", "\"linear\"",
                       "which of the launched processes each rank runs in",
                       graphs::resolve_placement)},
        {Words<bool>("nonfinite", {{"record", false}, {"stop", true}}, false,
                     "what happens if a loss is not finite"),
         &R::stop_on_nonfinite},
        {"checkpoint", &R::checkpoint, "how often checkpoints are written, and how many are kept"},
        {Parameter::text("output", R"("results/{name}.h5")", "path of the result file"),
         &R::output},
    };
    return keys;
}

}  // namespace dbench::train
