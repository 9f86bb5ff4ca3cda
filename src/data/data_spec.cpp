#include "data/data_spec.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "data/dataset.hpp"

namespace dbench::data {
namespace {

using base::Json;
using base::Parameter;
using base::UserError;

Parameter global_batch() {
    return Parameter::integer("global", "", "samples per iteration over all replicas").at_least(1);
}

Parameter token_batch() {
    return Parameter::integer("tokens", "", "tokens per replica and side, including padding")
        .at_least(1);
}

// Returns 8.0 as 8, and any other value unchanged.
Json without_point(const Json& given) {
    const double value = given.is_number_float() ? given.get<double>() : 0.5;
    const bool whole = value == std::floor(value) && std::abs(value) <= 0x1p53;
    return whole ? Json(static_cast<int64_t>(value)) : given;
}

Json resolve_batch_size(const Json& given, const std::string& pointer) {
    const bool keyed = given.is_object() && given.size() == 1 &&
                       (given.contains("global") || given.contains("tokens"));
    const Json number = without_point(keyed ? given.begin().value() : given);
    if (!keyed && given != "full" && !number.is_number_integer()) {
        throw UserError(pointer +
                        ": must be a whole number, {\"global\": G}, {\"tokens\": T} or \"full\" "
                        "(found " +
                        base::short_text(given) + ")");
    }
    if (given.is_string()) return given;
    const std::string at = keyed ? pointer + "/" + given.begin().key() : pointer;
    if (!number.is_number_integer()) {
        throw UserError(at + ": must be a whole number (found " + base::short_text(number) + ")");
    }
    const Json whole = base::resolve_value(number, at, Parameter::integer("", "", "").at_least(1));
    return keyed ? Json{{given.begin().key(), whole}} : whole;
}

std::vector<Parameter> normalize_keys() {
    return {Parameter::numbers("mean", "",
                               "mean of pixel / 255: one number per channel, or one for all"),
            Parameter::numbers("deviation", "", "standard deviation of the same, above 0")
                .greater_than(0)};
}

Json resolve_normalize(const Json& given, const std::string& pointer) {
    if (given == "standard" || given == "unit") return given;
    if (!given.is_object()) {
        throw UserError(pointer +
                        ": must be \"standard\", \"unit\" or {\"mean\": [...], "
                        "\"deviation\": [...]} (found " +
                        base::short_text(given) + ")");
    }
    Json out = base::resolve_object(given, pointer, normalize_keys());
    for (const char* key : {"mean", "deviation"}) {
        if (out.at(key).empty()) {
            throw UserError(pointer + "/" + key +
                            ": is empty: give one number per channel, or one for all");
        }
    }
    return out;
}

Json resolve_partition(const Json& given, const std::string& pointer) {
    return base::resolve_member(given, pointer, "partition", base::entries_of(partition_table()));
}

}  // namespace

void read_value(const Json& value, BatchSize& out) {
    if (value.is_string()) {
        out = {BatchSize::Unit::partition, 0};
    } else if (value.is_object() && value.contains("tokens")) {
        out = {BatchSize::Unit::tokens, value.at("tokens").get<int64_t>()};
    } else if (value.is_object()) {
        out = {BatchSize::Unit::all, value.at("global").get<int64_t>()};
    } else {
        out = {BatchSize::Unit::replica, value.get<int64_t>()};
    }
}

void read_value(const Json& value, Normalize& out) {
    if (value.is_string()) {
        out = {value == "unit" ? Normalize::Kind::unit : Normalize::Kind::standard};
        return;
    }
    out.kind = Normalize::Kind::given;
    base::read_value(value.at("mean"), out.mean);
    base::read_value(value.at("deviation"), out.deviation);
}

const base::Section<DataLimit>& DataLimit::section() {
    const auto samples = [](const char* split) {
        return Parameter::integer(split, "null",
                                  "how many of the first samples are used; null: all")
            .at_least(1)
            .or_null();
    };
    static const base::Section<DataLimit> keys{
        {samples("train"), &DataLimit::train},
        {samples("test"), &DataLimit::test},
    };
    return keys;
}

const base::Section<DataSpec>& DataSpec::section() {
    static const base::Section<DataSpec> keys{
        {Parameter::any(
             "batch_size", "32",
             "samples per replica and iteration; {\"global\": G}: G samples over all replicas; "
             "{\"tokens\": T}: pairs of sentences of similar length, at most T tokens per side; "
             "\"full\": the replica's whole partition",
             resolve_batch_size)
             .shaped(R"({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "full"}]})")
             .or_object({global_batch(), token_batch()}),
         &DataSpec::batch_size},
        {Parameter::integer("accumulate", "1",
                            "number of micro-batches into which a batch is divided to save "
                            "memory; their gradients are added up")
             .at_least(1),
         &DataSpec::accumulate},
        {Parameter::of("partitions", "partition", R"({"type": "shuffled"})",
                       "how samples are assigned to replicas", resolve_partition)},
        {Parameter::integer("validation", "0", "samples held out from the end of the training set")
             .at_least(0),
         &DataSpec::validation},
        {Parameter::flag(
             "augment", "false",
             "random crop and flip of training images (with padding 4; photographs of any size: a "
             "random part, resized)"),
         &DataSpec::augment},
        {Parameter::any("normalize", "\"standard\"",
                        "standard: published mean and deviation per channel; unit: pixel / 255; or "
                        "the numbers to use",
                        resolve_normalize)
             .shaped(R"({"enum": ["standard", "unit"]})")
             .or_object(normalize_keys()),
         &DataSpec::normalize},
        {Parameter::integer(
             "threads", "1",
             "threads per rank that make batches; more threads decode photographs faster")
             .at_least(1)
             .at_most(1024),
         &DataSpec::threads},
        {base::Words<Resident>(
             "resident",
             {{"auto", Resident::automatic}, {"on", Resident::on}, {"off", Resident::off}},
             Resident::automatic,
             "store training images on the GPU and make minibatches there; auto: if they fit"),
         &DataSpec::resident},
        {"limit", &DataSpec::limit, "number of samples used, from the beginning of the file order"},
    };
    return keys;
}

}  // namespace dbench::data
