// The optimizer sgd.
#include <algorithm>

#include "algorithms/optimizers/common.hpp"

namespace dbench::algorithms {
namespace {

struct SgdSpec : OptimizerSpec {
    double momentum;  ///< Share of the velocity that each update keeps.
    bool nesterov;

    static const base::Section<SgdSpec>& section();
};

const base::Section<SgdSpec>& SgdSpec::section() {
    using base::Parameter;
    const auto& common = OptimizerSpec::section();
    static const base::Section<SgdSpec> keys{
        {optimizer_key("lr", "0.1"), common},
        {Parameter::number("momentum", "0", "share of the velocity that each update keeps")
             .at_least(0)
             .at_most(1),
         &SgdSpec::momentum},
        {Parameter::flag("nesterov", "false", "uses Nesterov momentum (looks one step ahead)"),
         &SgdSpec::nesterov},
        {optimizer_key("weight_decay", "0"), common},
        {optimizer_key("decay"), common},
        {optimizer_key("clip_norm"), common},
    };
    return keys;
}

/// torch.optim.SGD: g += wd x; v = mu v + g; x -= lr v, with Nesterov momentum x -= lr (g + mu v).
/// Keeps v if mu is not 0.
class Sgd : public Optimizer {
public:
    Sgd(const SgdSpec& spec, const arena::Layout& layout)
        : layout_(layout),
          decay_(decay_per_tensor(spec, layout)),
          momentum_(spec.momentum),
          nesterov_(spec.nesterov) {}

    void declare(arena::StateTable& state) override {
        if (momentum_ != 0) velocity_ = state.rows("optimizer/velocity");
    }

    void step(arena::Rows out, arena::Rows base, arena::Rows at, arena::Rows gradient,
              arena::Columns columns, const StepNumbers& numbers, double* squared_update,
              arena::Queue& queue) override {
        arena::sgd_update(layout_, out, base, at, gradient, velocity_of(out), columns,
                          numbers_of(numbers), squared_update, queue);
    }
    bool step_and_mix(const arena::Mixing& mixing, arena::Rows out, arena::Rows x,
                      arena::Rows gradient, arena::Columns columns, const StepNumbers& numbers,
                      double* squared_update, arena::Queue& queue) override {
        arena::sgd_update_and_mix(layout_, out, x, gradient, velocity_of(out), columns,
                                  numbers_of(numbers), squared_update, mixing, queue);
        return true;
    }
    bool step_of_means(arena::Rows out, std::span<const std::vector<arena::Term>> base,
                       arena::Rows at, arena::Rows gradient, arena::Columns columns,
                       const StepNumbers& numbers, double* squared_update) override {
        arena::sgd_update_of_means(layout_, out, base, at, gradient, velocity_of(out), columns,
                                   numbers_of(numbers), squared_update);
        return true;
    }

    void add_decay(arena::Rows gradient, arena::Rows at, arena::Columns columns,
                   arena::Queue& queue) override {
        for (size_t k = 0; k < decay_.size(); ++k) {
            const arena::Columns tensor = layout_.tensors()[k].columns();
            const arena::Columns both{std::max(tensor.begin, columns.begin),
                                      std::min(tensor.end, columns.end)};
            if (decay_[k] == 0 || both.begin >= both.end) continue;
            std::vector<std::vector<arena::Term>> terms;
            for (int64_t i = 0; i < gradient.count; ++i) {
                terms.push_back({{gradient.at(i, 0), 1.0}, {at.at(i, 0), decay_[k]}});
            }
            arena::weighted_sums(terms, gradient, both, queue);
        }
    }

private:
    arena::Rows velocity_of(arena::Rows rows) const {
        return momentum_ != 0 ? rows_of_replicas(velocity_, rows) : arena::Rows{};
    }
    arena::SgdHyperparameters numbers_of(const StepNumbers& numbers) const {
        return {numbers.lr, momentum_, nesterov_, decay_};
    }

    arena::Layout layout_;
    arena::ReadOnlyArray<double> decay_;
    double momentum_;
    bool nesterov_;
    arena::Rows velocity_;
};

std::unique_ptr<Optimizer> make_sgd(const SgdSpec& spec, const arena::Layout& layout) {
    return std::make_unique<Sgd>(spec, layout);
}

}  // namespace

OptimizerEntry sgd_optimizer() {
    return {"sgd", "stochastic gradient descent, optionally with momentum", make_sgd};
}

}  // namespace dbench::algorithms
