// The partition by_label: a few labels per replica, by the shards of McMahan et al. 2017 (arXiv
// 1602.05629, section 3).

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/partitions/partitions.hpp"
#include "data/partitions/split.hpp"

namespace dbench::data {
namespace {

using base::PartitionStream;
using base::Random;
using base::UserError;

void check_labels(int64_t wanted, int64_t present, int64_t samples) {
    const std::string at =
        "/data/partition/labels_per_replica: " + std::to_string(wanted) + " is more than the ";
    if (wanted > present) {
        throw UserError(at + std::to_string(present) + " labels of the training set: use at most " +
                        std::to_string(present));
    }
    // Without any samples, the error of the batch size is more helpful.
    if (samples > 0 && wanted > samples) {
        throw UserError(at + std::to_string(samples) +
                        " training samples per replica: use at most that many, fewer replicas or "
                        "more data");
    }
}

// Returns n floor(N/n) random samples, grouped by label, the labels in random order.
std::vector<int64_t> sorted_samples(const Dataset& train, int64_t wanted,
                                    const DataContext& context) {
    const int64_t each = train.size() / context.replicas;
    Random samples = split_random(context.seed, PartitionStream::by_label_samples);
    auto chosen = base::permutation(train.size(), samples);
    const auto all = grouped_by_label(train, chosen);
    check_labels(wanted, std::ranges::count_if(all, [](const auto& g) { return !g.empty(); }),
                 each);
    chosen.resize(static_cast<size_t>(each * context.replicas));
    const auto groups = grouped_by_label(train, chosen);
    Random order = split_random(context.seed, PartitionStream::by_label_order);
    std::vector<int64_t> sorted;
    for (const int64_t label : base::permutation(train.classes(), order)) {
        sorted.insert(sorted.end(), groups[label].begin(), groups[label].end());
    }
    return sorted;
}

// Deals in rounds: in each round, every replica gets one of the next n shards at random. So a
// replica can get two shards of one label only if that label extends over two rounds. Dealing all
// shards at once, as McMahan et al. do, would often give a replica fewer labels than requested.
std::vector<int64_t> deal_by_label(int64_t rounds, const Dataset& train,
                                   const DataContext& context) {
    const int64_t n = context.replicas, each = train.size() / n;
    const auto sorted = sorted_samples(train, rounds, context);
    std::vector<int64_t> split(sorted.size());
    for (int64_t round = 0; round < rounds; ++round) {
        // Offset of this round among the samples of a replica. The size of a shard varies by one
        // sample from round to round, so that all replicas get equally many in the end.
        const int64_t begin = block_begin(round, rounds, each);
        const int64_t size = block_begin(round + 1, rounds, each) - begin;
        Random random = split_random(context.seed, PartitionStream::by_label_shards,
                                     static_cast<uint64_t>(round));
        const auto shards = base::permutation(n, random);
        for (int64_t i = 0; i < n; ++i) {
            const auto from = sorted.begin() + n * begin + shards[i] * size;
            std::copy(from, from + size, split.begin() + i * each + begin);
        }
    }
    return split;
}

struct ByLabelSpec {
    int64_t labels_per_replica;

    static const base::Section<ByLabelSpec>& section();
};

const base::Section<ByLabelSpec>& ByLabelSpec::section() {
    static const base::Section<ByLabelSpec> keys{
        {base::Parameter::integer("labels_per_replica", "2",
                                  "labels per replica; a shard with samples of two labels "
                                  "adds one")
             .at_least(1),
         &ByLabelSpec::labels_per_replica},
    };
    return keys;
}

std::unique_ptr<Partition> make_by_label(const ByLabelSpec& spec, const Dataset& train,
                                         const DataContext& context) {
    require_labels(train, "by_label");
    return fixed_split(deal_by_label(spec.labels_per_replica, train, context), context);
}

}  // namespace

PartitionEntry by_label_partition() {
    return {"by_label",
            "samples sorted by label and divided into n x labels_per_replica shards, which are "
            "assigned at random; floor(N/n) samples per replica; a new order every epoch",
            make_by_label};
}

}  // namespace dbench::data
