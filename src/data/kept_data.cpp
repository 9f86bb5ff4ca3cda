#include "data/kept_data.hpp"

#include <nlohmann/json.hpp>

namespace dbench::data {
namespace {

using base::Json;

// Returns a text that is equal for two calls of load_data if these return equal sets. The context
// matters only to sets that are generated, which need no files.
std::string samples_key(const Json& spec, const DataContext& context) {
    Json samples = spec;
    // `augment` stays: some sets refuse it when they are loaded.
    for (const char* use : {"partition", "resident", "accumulate"}) samples.erase(use);
    const DataEntry* row = base::find_entry(data_table(), spec.at("type").get<std::string>());
    if (row->status == nullptr) {
        samples["replicas of the context"] = context.replicas;
        samples["seed of the context"] = context.seed;
    }
    return samples.dump();
}

}  // namespace

DataSets KeptData::load(const Json& spec, const DataContext& context) {
    const std::string samples = samples_key(spec, context);
    if (samples != samples_) {
        samples_.clear();
        sets_ = {};  // The memory of both need not suffice at once.
        sets_ = load_data(spec, context);
        samples_ = samples;
    }
    return sets_;
}

}  // namespace dbench::data
