// The partition dirichlet: label shares drawn from a Dirichlet distribution (Hsu, Qi and Brown
// 2019, arXiv 1909.06335), like Yurochkin et al. 2019 (arXiv 1905.12022) but with equally many
// samples per replica.

#include "data/partitions/dirichlet.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/partitions/partitions.hpp"
#include "data/partitions/split.hpp"

namespace dbench::data {
namespace {

using base::PartitionStream;
using base::Random;

constexpr double kNone = -std::numeric_limits<double>::infinity();

double log_gamma_variate(double shape, Random& random) {
    if (shape < 1) {
        const double boost = std::log1p(-random.uniform()) / shape;
        return log_gamma_variate(shape + 1, random) + boost;
    }
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
        const double z = random.normal(), root = 1 + c * z, v = root * root * root;
        if (v <= 0) continue;
        const double log_u = std::log1p(-random.uniform());
        if (log_u < z * z / 2 + d - d * v + d * std::log(v)) return std::log(d) + std::log(v);
    }
}

using Groups = std::vector<std::vector<int64_t>>;

// Returns exp(logs), scaled so that the largest value of the classes with samples left is 1; 0 for
// the other classes.
std::vector<double> odds_of(const std::vector<double>& logs, const Groups& left) {
    double most = kNone;
    for (size_t c = 0; c < logs.size(); ++c) {
        if (!left[c].empty()) most = std::max(most, logs[c]);
    }
    std::vector<double> odds;
    for (size_t c = 0; c < logs.size(); ++c) {
        odds.push_back(left[c].empty() ? 0 : std::exp(logs[c] - most));
    }
    return odds;
}

// Draws a class with a probability proportional to the odds of each of its remaining samples.
size_t draw_class(const std::vector<double>& odds, const Groups& left, Random& random) {
    const auto weight = [&](size_t c) { return odds[c] * static_cast<double>(left[c].size()); };
    double rest = 0;
    for (size_t c = 0; c < odds.size(); ++c) rest += weight(c);
    rest *= random.uniform();
    size_t last = 0;  // The last class that can be drawn, in case rounding leaves a rest.
    for (size_t c = 0; c < odds.size(); ++c) {
        if (weight(c) == 0) continue;
        last = c;
        rest -= weight(c);
        if (rest < 0) break;
    }
    return last;
}

// The odds of a sample are the share p_ic of its class divided by the size N_c of the class. So a
// replica draws by p_i from the whole set and, for large alpha, like the partition iid. Classes of
// which earlier replicas took many samples are drawn less often, so the last replicas do not get an
// unusual rest.
std::vector<int64_t> deal_dirichlet(double alpha, const Dataset& train,
                                    const DataContext& context) {
    const int64_t samples = train.size(), each = samples / context.replicas;
    Random order = split_random(context.seed, PartitionStream::dirichlet_samples);
    Groups left = grouped_by_label(train, base::permutation(samples, order));
    std::vector<double> concentration, log_size;
    for (const auto& group : left) {
        const auto size = static_cast<double>(group.size());
        concentration.push_back(alpha * size / static_cast<double>(samples));
        log_size.push_back(std::log(size));
    }
    std::vector<int64_t> split;
    for (int64_t i = 0; i < context.replicas; ++i) {
        const auto word = static_cast<uint64_t>(i);
        Random shares = split_random(context.seed, PartitionStream::dirichlet_shares, word);
        Random labels = split_random(context.seed, PartitionStream::dirichlet_labels, word);
        auto logs = log_dirichlet(concentration, shares);
        for (size_t c = 0; c < logs.size(); ++c) logs[c] -= log_size[c];
        auto odds = odds_of(logs, left);
        for (int64_t k = 0; k < each; ++k) {
            auto& group = left[draw_class(odds, left, labels)];
            split.push_back(group.back());
            group.pop_back();
            if (group.empty()) odds = odds_of(logs, left);
        }
    }
    return split;
}

struct DirichletSpec {
    double alpha;

    static const base::Section<DirichletSpec>& section();
};

const base::Section<DirichletSpec>& DirichletSpec::section() {
    static const base::Section<DirichletSpec> keys{
        {base::Parameter::number("alpha", "0.5",
                                 "sum of the parameters over all C labels (Hsu et al. 2019), so "
                                 "a Dirichlet(a, ..., a) of other papers is alpha = C a: their "
                                 "0.1 on ten labels is 1 here; large: every replica has the label "
                                 "shares of the whole set; small: few labels per replica")
             .at_least(1e-6),
         &DirichletSpec::alpha},
    };
    return keys;
}

std::unique_ptr<Partition> make_dirichlet(const DirichletSpec& spec, const Dataset& train,
                                          const DataContext& context) {
    require_labels(train, "dirichlet");
    return fixed_split(deal_dirichlet(spec.alpha, train, context), context);
}

}  // namespace

std::vector<double> log_dirichlet(const std::vector<double>& concentration, Random& random) {
    std::vector<double> logs;
    for (const double shape : concentration) {
        logs.push_back(shape > 0 ? log_gamma_variate(shape, random) : kNone);
    }
    return logs;
}

PartitionEntry dirichlet_partition() {
    return {"dirichlet",
            "each replica draws its label shares from Dirichlet(alpha x the shares of the whole "
            "set) and then floor(N/n) samples with these shares; a new order every epoch",
            make_dirichlet};
}

}  // namespace dbench::data
