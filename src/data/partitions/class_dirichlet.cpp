// The partition class_dirichlet: each class is distributed over replicas by shares drawn from a
// Dirichlet distribution (Lin et al. 2021, arXiv 2102.04761, whose code RelaySGD and Base-(k+1)
// use as well).

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "data/partitions/dirichlet.hpp"
#include "data/partitions/partitions.hpp"
#include "data/partitions/split.hpp"

namespace dbench::data {
namespace {

using base::PartitionStream;
using base::Random;

constexpr int64_t kAttempts = 10000;
/// Each replica must get this share of the mean number of samples.
constexpr double kLeastShare = 0.5;

struct ClassDirichletSpec {
    double alpha;
    int64_t auxiliary;

    static const base::Section<ClassDirichletSpec>& section();
};

const base::Section<ClassDirichletSpec>& ClassDirichletSpec::section() {
    static const base::Section<ClassDirichletSpec> keys{
        {base::Parameter::number("alpha", "0.5",
                                 "large: all replicas get equal shares of each label; small: a "
                                 "label belongs to few replicas")
             .at_least(1e-6),
         &ClassDirichletSpec::alpha},
        {base::Parameter::integer("auxiliary", "10",
                                  "replicas over which a part of the samples is distributed")
             .at_least(1)
             .at_most(1 << 20),
         &ClassDirichletSpec::auxiliary},
    };
    return keys;
}

using Parts = std::vector<std::vector<int64_t>>;

/// Returns the ends of the parts of `count` items with these odds (logarithms). Takers whose
/// number is not in `open` get nothing.
std::vector<size_t> ends_of(const std::vector<double>& logs, const std::vector<bool>& open,
                            size_t count) {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (size_t i = 0; i < logs.size(); ++i) {
        if (open[i]) most = std::max(most, logs[i]);
    }
    std::vector<double> upto;
    for (size_t i = 0; i < logs.size(); ++i) {
        if (open[i]) sum += std::exp(logs[i] - most);
        upto.push_back(sum);
    }
    std::vector<size_t> ends;
    for (const double each : upto) {
        ends.push_back(static_cast<size_t>(each / sum * static_cast<double>(count)));
    }
    ends.back() = count;
    return ends;
}

/// Distributes each class over `takers`. A taker with its mean number of samples or more gets no
/// samples of further classes.
Parts distributed(const Parts& classes, int64_t samples, size_t takers, double alpha,
                  Random& random) {
    Parts taken(takers);
    const double mean = static_cast<double>(samples) / static_cast<double>(takers);
    for (const auto& group : classes) {
        std::vector<bool> open;
        for (const auto& mine : taken) open.push_back(static_cast<double>(mine.size()) < mean);
        const auto logs = log_dirichlet(std::vector<double>(takers, alpha), random);
        if (group.empty()) continue;
        const auto ends = ends_of(logs, open, group.size());
        size_t begin = 0;
        for (size_t i = 0; i < takers; ++i) {
            const size_t end = std::max(begin, ends[i]);
            taken[i].insert(taken[i].end(), group.begin() + static_cast<int64_t>(begin),
                            group.begin() + static_cast<int64_t>(end));
            begin = end;
        }
    }
    return taken;
}

/// Returns all samples in the order in which they are cut into equal parts.
std::vector<int64_t> deal(const ClassDirichletSpec& spec, const Dataset& train,
                          const DataContext& context) {
    const int64_t samples = train.size(), n = context.replicas;
    Random order = split_random(context.seed, PartitionStream::class_dirichlet_samples);
    const auto shuffled = base::permutation(samples, order);
    std::vector<int64_t> split;
    int64_t begin = 0, part = 0;
    for (int64_t left = n; left > 0; left -= spec.auxiliary, ++part) {
        const int64_t takers = std::min(left, spec.auxiliary);
        const int64_t end = takers == left ? samples : block_begin(n - left + takers, n, samples);
        const auto classes =
            grouped_by_label(train, {shuffled.begin() + begin, shuffled.begin() + end});
        const auto least = static_cast<size_t>(kLeastShare * static_cast<double>(end - begin) /
                                               static_cast<double>(takers));
        Random random = split_random(context.seed, PartitionStream::class_dirichlet_shares,
                                     static_cast<uint64_t>(part));
        for (int64_t attempt = 0;; ++attempt) {
            const Parts taken =
                distributed(classes, end - begin, static_cast<size_t>(takers), spec.alpha, random);
            if (std::ranges::all_of(taken, [&](const auto& t) { return t.size() >= least; })) {
                for (const auto& mine : taken) split.insert(split.end(), mine.begin(), mine.end());
                break;
            }
            if (attempt == kAttempts) {
                throw base::UserError("/data/partition/alpha: " + base::short_text(spec.alpha) +
                                      " leaves some of " + std::to_string(takers) +
                                      " replicas nearly without samples in each of " +
                                      std::to_string(kAttempts) +
                                      " draws: use a larger alpha, or a smaller \"auxiliary\"");
            }
        }
        begin = end;
    }
    return split;
}

std::unique_ptr<Partition> make_class_dirichlet(const ClassDirichletSpec& spec,
                                                const Dataset& train, const DataContext& context) {
    require_labels(train, "class_dirichlet");
    return fixed_split(deal(spec, train, context), context);
}

}  // namespace

PartitionEntry class_dirichlet_partition() {
    return {"class_dirichlet",
            "each label is distributed over groups of `auxiliary` replicas by shares drawn from "
            "Dirichlet(alpha), and the result is cut into equal parts; a new order every epoch",
            make_class_dirichlet};
}

}  // namespace dbench::data
