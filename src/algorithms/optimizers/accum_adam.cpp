// The optimizers accum_adam and accum_adamw.
#include "arena/updates/accum_adam.hpp"

#include "algorithms/optimizers/common.hpp"

namespace dbench::algorithms {
namespace {

/// The default window is Decent-DP's.
struct AccumAdamSpec : MomentsSpec {
    int64_t window;  ///< Updates per change of the moments.

    static const base::Section<AccumAdamSpec>& section();
};

struct AccumAdamwSpec : AccumAdamSpec {
    static const base::Section<AccumAdamwSpec>& section();
};

template <class S>
base::Section<S> accum_adam_keys(const std::string& weight_decay) {
    return {MomentsSpec::keys(weight_decay),
            {{base::Parameter::integer(
                  "window", "4",
                  "updates per change of the moments, which use the window's mean gradient")
                  .at_least(1),
              &AccumAdamSpec::window}}};
}

const base::Section<AccumAdamSpec>& AccumAdamSpec::section() {
    static const base::Section<AccumAdamSpec> keys = accum_adam_keys<AccumAdamSpec>("0");
    return keys;
}

const base::Section<AccumAdamwSpec>& AccumAdamwSpec::section() {
    static const base::Section<AccumAdamwSpec> keys = accum_adam_keys<AccumAdamwSpec>("0.01");
    return keys;
}

/// AccumAdam and AccumAdamW ("From Promise to Practice", ICLR 2025, appendix C, in the form of its
/// library Decent-DP): Adam whose moments change once per window of updates, by the window's mean
/// gradient. The moments then have the noise of a larger batch. Weight decay is applied as in Adam
/// and AdamW. Keeps both moments and the accumulated gradient.
class AccumAdam : public Optimizer {
public:
    AccumAdam(const AccumAdamSpec& spec, const arena::Layout& layout, bool decoupled)
        : layout_(layout),
          decay_(decay_per_tensor(spec, layout)),
          beta1_(spec.betas.at(0)),
          beta2_(spec.betas.at(1)),
          eps_(spec.eps),
          window_(spec.window),
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

std::unique_ptr<Optimizer> make_accum_adam(const AccumAdamSpec& spec, const arena::Layout& layout) {
    return std::make_unique<AccumAdam>(spec, layout, false);
}

std::unique_ptr<Optimizer> make_accum_adamw(const AccumAdamwSpec& spec,
                                            const arena::Layout& layout) {
    return std::make_unique<AccumAdam>(spec, layout, true);
}

}  // namespace

OptimizerEntry accum_adam_optimizer() {
    return {"accum_adam",
            "Adam whose moments use mean gradients over a window (Decent-DP), with coupled decay",
            make_accum_adam};
}

OptimizerEntry accum_adamw_optimizer() {
    return {"accum_adamw",
            "AdamW whose moments use mean gradients over a window (Decent-DP), with decoupled "
            "decay",
            make_accum_adamw};
}

}  // namespace dbench::algorithms
