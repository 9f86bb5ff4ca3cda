#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "data/dataset.hpp"
#include "data/sets/sets.hpp"
#include "data/slice.hpp"

namespace dbench::data {

// In the order of documentation; each row, NAME_data(), is in the file of its set.
#define DBENCH_DATA_SETS(ROW) \
    ROW(shapes)               \
    ROW(regression)           \
    ROW(cifar10)              \
    ROW(mnist)                \
    ROW(fashion_mnist)

#define ROW_DECLARED(name) DataEntry name##_data();
#define ROW_MADE(name) name##_data(),
DBENCH_DATA_SETS(ROW_DECLARED)

namespace {

using base::Json;
using base::Parameter;
using base::UserError;

void check_batch_size(const Json& given, const std::string& pointer) {
    const Json& number = given.is_object() && given.contains("global") ? given["global"] : given;
    const std::string at = &number == &given ? pointer : pointer + "/global";
    if (given.is_object() && given.size() == 1 && given.contains("global") &&
        !number.is_number_integer()) {
        throw UserError(at + ": must be a whole number (found " + base::short_text(number) + ")");
    }
    const bool form = given == "full" || given.is_number_integer() ||
                      (given.is_object() && given.size() == 1 && given.contains("global"));
    if (!form) {
        throw UserError(pointer + ": must be a whole number, {\"global\": G} or \"full\" (found " +
                        base::short_text(given) + ")");
    }
    if (number.is_number() && number.get<int64_t>() < 1) {
        throw UserError(at + ": " + base::short_text(number) +
                        " is out of range (must be at least 1)");
    }
}

// The first `limit[split]` samples, where that is not null.
void apply_limit(std::shared_ptr<const Dataset>& set, const Json& limit, const std::string& split) {
    if (limit.at(split).is_null()) return;
    const auto count = limit.at(split).get<int64_t>();
    if (count > set->size()) {
        throw UserError("/data/limit/" + split + ": " + std::to_string(count) +
                        " is more than the " + std::to_string(set->size()) +
                        " samples there are: use at most that, or null");
    }
    set = slice(set, 0, count);
}

}  // namespace

const std::vector<DataEntry>& data_table() {
    static const std::vector<DataEntry> table = {DBENCH_DATA_SETS(ROW_MADE)};
    return table;
}

Parameter root_parameter() {
    return Parameter::text("root", "null", "folder with the files; null: $DBENCH_DATA").or_null();
}

std::vector<Parameter> common_data_parameters() {
    return {
        Parameter::any("batch_size", "32",
                       "samples per replica and iteration; {\"global\": G}: of all replicas; "
                       "\"full\": the replica's whole partition"),
        Parameter::any("partition", R"({"type": "shuffled"})", "how samples are dealt to replicas"),
        Parameter::integer("validation", "0", "samples held out of the training set's end")
            .at_least(0),
        Parameter::flag("augment", "false", "random crop (padding 4) and flip of training images"),
        Parameter::choice("normalize", "\"standard\"", {"standard", "unit"},
                          "standard: published mean and deviation per channel; unit: pixel / 255"),
        Parameter::object("limit",
                          {Parameter::integer("train", "null", "first samples taken; null: all")
                               .at_least(1)
                               .or_null(),
                           Parameter::integer("test", "null", "first samples taken; null: all")
                               .at_least(1)
                               .or_null()},
                          "samples taken from the beginning of the file order"),
    };
}

Json resolve_data(const Json& given, const std::string& pointer) {
    std::vector<base::Entry> entries(data_table().begin(), data_table().end());
    for (auto& entry : entries) {
        for (auto& parameter : common_data_parameters()) entry.parameters.push_back(parameter);
    }
    Json out = base::resolve_member(given, pointer, "data set", base::entries_of(entries));
    check_batch_size(out.at("batch_size"), pointer + "/batch_size");
    out["partition"] = base::resolve_member(out.at("partition"), pointer + "/partition",
                                            "partition", base::entries_of(partition_table()));
    const auto name = out.at("type").get<std::string>();
    if (!base::find_row(data_table(), name)->images) {
        const std::string why = " (" + name + " has no images): ";
        if (out.at("augment") == true) {
            throw UserError(pointer + "/augment: crops and flips images" + why + "leave it false");
        }
        if (out.at("normalize") != "standard") {
            throw UserError(pointer + "/normalize: concerns pixels" + why + "leave it out");
        }
    }
    return out;
}

DataSets load_data(const Json& spec, const DataContext& context) {
    const DataEntry* row = base::find_row(data_table(), spec.at("type").get<std::string>());
    DataSets sets = row->make(spec, context);
    apply_limit(sets.train, spec.at("limit"), "train");
    apply_limit(sets.test, spec.at("limit"), "test");
    const auto held_out = spec.at("validation").get<int64_t>();
    if (held_out == 0) return sets;
    const int64_t rest = sets.train->size() - held_out;
    if (rest < 1) {
        throw UserError("/data/validation: holding out " + std::to_string(held_out) + " of " +
                        std::to_string(sets.train->size()) +
                        " training samples leaves none to train on: use less");
    }
    sets.validation = slice(sets.train, rest, held_out);
    sets.train = slice(sets.train, 0, rest);
    return sets;
}

std::vector<DataStatus> data_status(const std::string& root) {
    const char* variable = std::getenv("DBENCH_DATA");
    const std::string where = !root.empty() || variable == nullptr ? root : variable;
    std::vector<DataStatus> all;
    for (const auto& row : data_table()) {
        all.push_back(row.status != nullptr ? row.status(where)
                                            : DataStatus{row.name, true, "needs no files"});
    }
    return all;
}

}  // namespace dbench::data
