// The table of data sets, and loading the sets of a spec.

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "data/class_coverage.hpp"
#include "data/data_spec.hpp"
#include "data/dataset.hpp"
#include "data/sentence_pairs.hpp"
#include "data/sets/sets.hpp"
#include "data/slice.hpp"

namespace dbench::data {

// The data sets in the order of the documentation. The row of each, NAME_data(), is defined in the
// file of the set.
#define DBENCH_DATA_SETS(ROW) \
    ROW(shapes)               \
    ROW(regression)           \
    ROW(cifar10)              \
    ROW(cifar100)             \
    ROW(mnist)                \
    ROW(fashion_mnist)        \
    ROW(wikitext2)            \
    ROW(text)                 \
    ROW(multi30k)             \
    ROW(pairs)                \
    ROW(npz)                  \
    ROW(images)               \
    ROW(imagenet)

#define ROW_DECLARED(name) DataEntry name##_data();
#define ROW_MADE(name) name##_data(),
DBENCH_DATA_SETS(ROW_DECLARED)

namespace {

using base::Json;
using base::Parameter;
using base::UserError;

// Keeps only the first `limit` samples, if there is a limit.
void apply_limit(std::shared_ptr<const Dataset>& set, std::optional<int64_t> limit,
                 const std::string& split) {
    if (!limit) return;
    if (*limit > set->size()) {
        throw UserError("/data/limit/" + split + ": " + std::to_string(*limit) +
                        " is more than the " + std::to_string(set->size()) +
                        " samples of the data set: use at most that many, or null");
    }
    set = slice(set, 0, *limit);
}

}  // namespace

const std::vector<DataEntry>& data_table() {
    static const std::vector<DataEntry> table = {DBENCH_DATA_SETS(ROW_MADE)};
    return table;
}

const base::Section<RootSpec>& RootSpec::section() {
    static const base::Section<RootSpec> keys{
        {Parameter::text("root", "null", "folder with the files; null: $DBENCH_DATA").or_null(),
         &RootSpec::root},
    };
    return keys;
}

Json resolve_data(const Json& given, const std::string& pointer) {
    std::vector<base::Entry> entries(data_table().begin(), data_table().end());
    for (auto& entry : entries) {
        for (auto& parameter : DataSpec::section().parameters())
            entry.parameters.push_back(parameter);
    }
    Json out = base::resolve_member(given, pointer, "data set", base::entries_of(entries));
    const auto name = out.at("type").get<std::string>();
    if (!base::find_entry(data_table(), name)->images) {
        const std::string why = " (" + name + " has no images): ";
        const DataSpec common = DataSpec::section().read(out);
        if (common.augment) {
            throw UserError(pointer + "/augment: crops and flips images" + why + "leave it false");
        }
        if (common.normalize.kind != Normalize::Kind::standard) {
            throw UserError(pointer + "/normalize: is for pixels" + why + "leave it out");
        }
    }
    return out;
}

namespace {

// Loads the sets and applies `limit` and `validation`.
DataSets load_samples(const Json& spec, const DataSpec& common, const DataContext& context) {
    const DataEntry* row = base::find_entry(data_table(), spec.at("type").get<std::string>());
    DataSets sets = row->make(spec, common, context);
    sets.threads = common.threads;
    apply_limit(sets.train, common.limit.train, "train");
    apply_limit(sets.test, common.limit.test, "test");
    const int64_t held_out = common.validation;
    if (sets.validation) {
        if (held_out > 0) {
            throw UserError("/data/validation: " + row->name +
                            " has a validation set of its own: leave it 0");
        }
        const int64_t all = sets.validation->size();
        sets.validation = slice(sets.validation, 0, std::min(common.limit.test.value_or(all), all));
    }
    if (held_out == 0) return sets;
    const int64_t rest = sets.train->size() - held_out;
    if (rest < 1) {
        throw UserError("/data/validation: holding out " + std::to_string(held_out) + " of " +
                        std::to_string(sets.train->size()) +
                        " training samples leaves none to train on: use fewer");
    }
    sets.validation = slice(sets.train, rest, held_out);
    sets.train = slice(sets.train, 0, rest);
    return sets;
}

}  // namespace

DataSets load_data(const Json& spec, const DataContext& context) {
    const DataSpec common = DataSpec::section().read(spec);
    DataSets sets = load_samples(spec, common, context);
    const DataEntry* row = base::find_entry(data_table(), spec.at("type").get<std::string>());
    for (std::string& warning : missing_class_warnings(sets, row->status == nullptr)) {
        sets.warnings.push_back(std::move(warning));
    }
    if (common.batch_size.unit == BatchSize::Unit::tokens) {
        if (!sets.train->ragged()) {
            throw UserError(
                "/data/batch_size/tokens: counts the tokens of pairs of sentences, but " +
                spec.at("type").get<std::string>() +
                " has none: give a number of samples, such as 32");
        }
        sets.train = bucketed(sets.train, common.batch_size.samples);
    }
    return sets;
}

std::vector<DataStatus> data_status(const std::string& root) {
    const char* variable = std::getenv("DBENCH_DATA");
    const std::string where = !root.empty() || variable == nullptr ? root : variable;
    std::vector<DataStatus> all;
    for (const auto& row : data_table()) {
        try {
            all.push_back(row.status != nullptr ? row.status(where)
                                                : DataStatus{row.name, true, "needs no files"});
        } catch (const UserError& error) {  // A folder cannot be looked up.
            all.push_back({row.name, false, error.what()});
        }
    }
    return all;
}

}  // namespace dbench::data
