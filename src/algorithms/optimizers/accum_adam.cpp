// The optimizers accum_adam and accum_adamw.
#include "arena/updates/accum_adam.hpp"

#include <nlohmann/json.hpp>

#include "algorithms/optimizers/common.hpp"

namespace dbench::algorithms {
namespace {

/// AccumAdam and AccumAdamW ("From Promise to Practice", ICLR 2025, appendix C, in the form of its
/// library Decent-DP): Adam whose moments change once per window of updates, by the window's mean
/// gradient. The moments then have the noise of a larger batch. Weight decay is applied as in Adam
/// and AdamW. Keeps both moments and the accumulated gradient.
class AccumAdam : public Optimizer {
public:
    AccumAdam(const base::Json& spec, const arena::Layout& layout, bool decoupled)
        : layout_(layout),
          decay_(decay_per_tensor(spec, layout)),
          beta1_(spec.at("betas").at(0).get<double>()),
          beta2_(spec.at("betas").at(1).get<double>()),
          eps_(spec.at("eps").get<double>()),
          window_(spec.at("window").get<int64_t>()),
          decoupled_(decoupled) {}

    void declare(arena::StateTable& state) override {
        first_ = state.rows("optimizer/first_moment");
        second_ = state.rows("optimizer/second_moment");
        accumulated_ = state.rows("optimizer/accumulated_gradient");
    }

    void step(arena::Rows out, arena::Rows base, arena::Rows at, arena::Rows gradient,
              arena::Columns columns, const StepNumbers& numbers, double* squared_update,
              arena::Queue& queue) override {
        const arena::AdamHyperparameters adam{numbers.lr,   beta1_,     beta2_, eps_,
                                              numbers.step, decoupled_, decay_};
        arena::accum_adam_update(layout_, out, base, at, gradient, rows_of_replicas(first_, out),
                                 rows_of_replicas(second_, out),
                                 rows_of_replicas(accumulated_, out), columns, {adam, window_},
                                 squared_update, queue);
    }

private:
    arena::Layout layout_;
    arena::ReadOnlyArray<double> decay_;
    double beta1_, beta2_, eps_;
    int64_t window_;
    bool decoupled_;
    arena::Rows first_, second_, accumulated_;
};

}  // namespace

std::unique_ptr<Optimizer> make_accum_adam(const base::Json& spec, const arena::Layout& layout) {
    return std::make_unique<AccumAdam>(spec, layout, false);
}

std::unique_ptr<Optimizer> make_accum_adamw(const base::Json& spec, const arena::Layout& layout) {
    return std::make_unique<AccumAdam>(spec, layout, true);
}

}  // namespace dbench::algorithms
