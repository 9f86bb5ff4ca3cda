#include "data/data_spec.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "data/dataset.hpp"

namespace dbench::data {
namespace {

using base::Json;
using base::Parameter;
using base::UserError;

Parameter global_batch() {
    return Parameter::integer("global", "", "samples per iteration, of all replicas together")
        .at_least(1);
}

Parameter token_batch() {
    return Parameter::integer("tokens", "", "tokens of a replica's pairs of sentences, padded")
        .at_least(1);
}

Json resolve_batch_size(const Json& given, const std::string& pointer) {
    const bool keyed = given.is_object() && given.size() == 1 &&
                       (given.contains("global") || given.contains("tokens"));
    if (!keyed && given != "full" && !given.is_number_integer()) {
        throw UserError(pointer +
                        ": must be a whole number, {\"global\": G}, {\"tokens\": T} or \"full\" "
                        "(found " +
                        base::short_text(given) + ")");
    }
    if (given.is_string()) return given;
    const Json& number = keyed ? given.begin().value() : given;
    const std::string at = keyed ? pointer + "/" + given.begin().key() : pointer;
    if (!number.is_number_integer()) {
        throw UserError(at + ": must be a whole number (found " + base::short_text(number) + ")");
    }
    base::resolve_value(number, at, Parameter::integer("", "", "").at_least(1));
    return given;
}

Json resolve_partition(const Json& given, const std::string& pointer) {
    return base::resolve_member(given, pointer, "partition", base::entries_of(partition_table()));
}

}  // namespace

void take(const Json& value, BatchSize& out) {
    if (value.is_string()) {
        out = {BatchSize::Of::partition, 0};
    } else if (value.is_object() && value.contains("tokens")) {
        out = {BatchSize::Of::tokens, value.at("tokens").get<int64_t>()};
    } else if (value.is_object()) {
        out = {BatchSize::Of::all, value.at("global").get<int64_t>()};
    } else {
        out = {BatchSize::Of::replica, value.get<int64_t>()};
    }
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
        {Parameter::any("batch_size", "32",
                        "samples per replica and iteration; {\"global\": G}: of all replicas; "
                        "{\"tokens\": T}: sentences of one length, with so many tokens; \"full\": "
                        "the replica's whole partition",
                        resolve_batch_size)
             .shaped(R"({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "full"}]})")
             .or_object({global_batch(), token_batch()}),
         &DataSpec::batch_size},
        {Parameter::integer("accumulate", "1",
                            "parts of a batch that pass the model one after another, to add up "
                            "their gradients: less memory")
             .at_least(1),
         &DataSpec::accumulate},
        {Parameter::of("partitions", "partition", R"({"type": "shuffled"})",
                       "how samples are dealt to replicas", resolve_partition)},
        {Parameter::integer("validation", "0", "samples held out from the end of the training set")
             .at_least(0),
         &DataSpec::validation},
        {Parameter::flag(
             "augment", "false",
             "random crop and flip of training images (padding 4; of photographs of any size "
             "a resized part)"),
         &DataSpec::augment},
        {base::Words<Normalize>(
             "normalize", {{"standard", Normalize::standard}, {"unit", Normalize::unit}},
             Normalize::standard,
             "standard: published mean and deviation per channel; unit: pixel / 255"),
         &DataSpec::normalize},
        {Parameter::integer("threads", "1",
                            "threads of a rank that make batches; more decode photographs faster")
             .at_least(1)
             .at_most(1024),
         &DataSpec::threads},
        {base::Words<Resident>(
             "resident", {{"auto", Resident::any}, {"on", Resident::on}, {"off", Resident::off}},
             Resident::any,
             "whether training images lie on the card, where minibatches are then made: auto, "
             "where they fit"),
         &DataSpec::resident},
        {"limit", &DataSpec::limit, "samples taken from the beginning of the file order"},
    };
    return keys;
}

}  // namespace dbench::data
