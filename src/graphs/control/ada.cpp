// The graph `ada`: Ada in its epoch form. A ring lattice (or another family) loses neighbours
// during the run; in epoch e it has degree
//
//     k(e) = max(k0 - floor(gamma_k e), k_min),    e = floor(t / iterations per epoch),
//
// rounded up to the next k of the family. Parameters: k0, gamma_k, k_min, family, reversed. The
// mechanism is that of the DBench paper (arXiv 2509.12213); formula and constants are this
// project's.

#include <cmath>
#include <nlohmann/json.hpp>

#include "graphs/control/degree_family.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kMostEpochs = 1'000'000;

struct AdaSpec {
    std::optional<int64_t> k0;      ///< Degree at the start; empty: by the number of replicas.
    std::optional<double> gamma_k;  ///< Decrease of the degree per epoch; empty: as for k0.
    int64_t k_min;
    std::string family;
    bool reversed;  ///< Uses the graphs in the opposite order.

    static const base::Section<AdaSpec>& section();
};

const base::Section<AdaSpec>& AdaSpec::section() {
    using P = base::Parameter;
    static const base::Section<AdaSpec> keys{
        {P::integer("k0", "null", "degree at the start; null: 10, 112 for more than 96 replicas")
             .at_least(1)
             .or_null(),
         &AdaSpec::k0},
        {P::number("gamma_k", "null",
                   "decrease of the degree per epoch; null: 0.02, 1 above 96 replicas")
             .at_least(0)
             .or_null(),
         &AdaSpec::gamma_k},
        {P::integer("k_min", "2", "smallest degree").at_least(1), &AdaSpec::k_min},
        {family_parameter(), &AdaSpec::family},
        {P::flag("reversed", "false", "the same graphs in the opposite order: a control"),
         &AdaSpec::reversed},
    };
    return keys;
}

class Ada final : public StagedSchedule {
public:
    Ada(const AdaSpec& spec, const GraphContext& context, const std::string& pointer)
        : StagedSchedule(context.n) {
        const bool large = context.n > 96;
        const double gamma = spec.gamma_k.value_or(large ? 1 : 0.02);
        const int64_t k0 = spec.k0.value_or(large ? 112 : 10), k_min = spec.k_min;
        if (k_min > k0) {
            throw base::UserError(pointer + "/k_min: " + std::to_string(k_min) +
                                  " is above k0 = " + std::to_string(k0) + ": lower it");
        }
        const DegreeFamily family(spec.family, context, pointer);
        const auto degree = [&](int64_t epoch) {
            const double k = static_cast<double>(k0) - std::floor(gamma * double(epoch) + 1e-9);
            return family.at_least(static_cast<int64_t>(std::max(k, double(k_min))));
        };
        const int64_t iterations = context.run.iterations, per_epoch = context.run.per_epoch;
        epochs_ = iterations > 0 ? (iterations + per_epoch - 1) / per_epoch
                                 : std::min(kMostEpochs, to_floor(double(k0 - k_min), gamma));
        std::vector<Part> parts;
        for (int64_t epoch = 0; epoch < epochs_; epoch = end_of(epoch, degree)) {
            parts.push_back({epoch, epoch * per_epoch, degree(epoch)});
        }
        // With `reversed`, iteration t uses the degree of iteration end - 1 - t, even if the last
        // epoch is incomplete.
        const int64_t end = iterations > 0 ? iterations : epochs_ * per_epoch;
        const bool reversed = spec.reversed;
        for (size_t k = 0; k < parts.size(); ++k) {
            const size_t at = reversed ? parts.size() - 1 - k : k;
            const Part& part = parts[at];
            const int64_t after = at + 1 < parts.size() ? parts[at + 1].first : end;
            start_stage(reversed ? end - after : part.first,
                        add(family.title(part.k), family.make(part.k)),
                        "epoch " + std::to_string(part.epoch) + (reversed ? ", reversed" : ""));
        }
        // The graph changes at the largest k whose degree in the family is another one.
        if (gamma > 0 && family.at_least(k_min) != degree(0)) {
            int64_t changed = k_min, same = k0;
            while (same - changed > 1) {
                const int64_t middle = changed + (same - changed) / 2;
                (family.at_least(middle) == degree(0) ? same : changed) = middle;
            }
            first_change_ = to_floor(static_cast<double>(k0 - changed), gamma) - 1;
        }
    }

    std::vector<std::string> warnings() const override {
        if (stages().size() > 1 || epochs_ == 0) return {};
        std::string text = "/graph: ada never changes its graph (" + name(0) + ") in " +
                           std::to_string(epochs_) + " epochs";
        if (first_change_ > 0) {
            text += ": with this gamma_k, the graph changes for the first time in epoch " +
                    std::to_string(first_change_) +
                    "; raise /graph/gamma_k, about (k0 - k_min) / epochs";
        }
        return {text};
    }

    std::string inactivity_reason() const override {
        const auto all = warnings();
        return all.empty() ? "" : all.front();
    }

private:
    struct Part {
        int64_t epoch, first, k;  // used from that epoch's first iteration on
    };

    /// Returns the first epoch after `first` with another degree. Degrees only decrease.
    template <class Degree>
    int64_t end_of(int64_t first, const Degree& degree) const {
        int64_t same = first, other = epochs_;
        while (other - same > 1) {
            const int64_t middle = same + (other - same) / 2;
            (degree(middle) == degree(first) ? same : other) = middle;
        }
        return other;
    }

    // Returns the epochs until gamma * epoch reaches `amount`, plus one.
    static int64_t to_floor(double amount, double gamma) {
        if (gamma <= 0) return 1;
        const double epochs = std::ceil(amount / gamma - 1e-9);
        return static_cast<int64_t>(std::min(epochs, static_cast<double>(kMostEpochs))) + 1;
    }

    int64_t epochs_ = 0, first_change_ = -1;
};

std::unique_ptr<Schedule> make_ada(const AdaSpec& spec, const GraphContext& context,
                                   const std::string& pointer) {
    return std::make_unique<Ada>(spec, context, pointer);
}

}  // namespace

GraphEntry ada_entry() {
    return mark_run_dependent(
        {"ada", "degree k(e) = max(k0 - floor(gamma_k e), k_min) in epoch e", make_ada});
}

}  // namespace dbench::graphs
