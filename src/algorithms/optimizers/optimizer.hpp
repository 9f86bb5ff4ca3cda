#pragma once
// Local optimizers: out = base - lr d(g, at), one fused pass over any range of columns.
// Step::update calls them.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "arena/kernels.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "arena/state.hpp"
#include "arena/updates/update_and_mix.hpp"
#include "base/family.hpp"
#include "base/run_length.hpp"

namespace dbench::algorithms {

/// The numbers that change from step to step.
struct StepNumbers {
    double lr;
    int64_t step;  ///< 1 for the first update of the run
};

/// Base class of local optimizers. Its state has one row per local replica.
class Optimizer {
public:
    virtual ~Optimizer() = default;
    /// Declares the state that it keeps per replica. Called once, before the first step.
    virtual void declare(arena::StateTable& state) = 0;
    /// Computes out = base - lr d(g, at) in `columns`; any of the rows may be the same.
    /// `squared_update`, if not null, receives ||lr d||^2 per row and segment [R * S].
    virtual void step(arena::Rows out, arena::Rows base, arena::Rows at, arena::Rows gradient,
                      arena::Columns columns, const StepNumbers& numbers, double* squared_update,
                      arena::Queue& queue) = 0;
    /// Updates and mixes x in one pass, for rows that have an arena::mixing_width. Returns false
    /// and does nothing if the optimizer has no such pass.
    virtual bool step_and_mix(const arena::Mixing& mixing, arena::Rows out, arena::Rows x,
                              arena::Rows gradient, arena::Columns columns,
                              const StepNumbers& numbers, double* squared_update,
                              arena::Queue& queue);
    /// Updates with the base W x, which is given as terms of rows (arena::sgd_update_of_means), on
    /// the host. Returns false and does nothing if the optimizer has no such pass.
    virtual bool step_of_means(arena::Rows out, std::span<const std::vector<arena::Term>> base,
                               arena::Rows at, arena::Rows gradient, arena::Columns columns,
                               const StepNumbers& numbers, double* squared_update);
    /// Computes gradient += weight decay times at, in `columns` (whole tensors). Needed only for
    /// plain SGD under algorithms that compute the direction themselves.
    virtual void add_decay(arena::Rows gradient, arena::Rows at, arena::Columns columns,
                           arena::Queue& queue);
};

/// One optimizer in the table.
struct OptimizerEntry : base::Entry {
    std::unique_ptr<Optimizer> (*make)(const base::Json& spec, const arena::Layout& layout);
};
/// Returns all optimizers, in the order of the documentation.
const std::vector<OptimizerEntry>& optimizer_table();

/// The learning rate over a run: constant, multistep, cosine, exponential or inverse_sqrt, with
/// warm-up and scaling by the global batch (docs/numerics.md).
class LearningRate {
public:
    LearningRate(const base::Json& schedule, double lr, const base::RunLength& run);
    /// Returns the learning rate of iteration t.
    double at(int64_t t) const;
    double base() const { return lr_; }  ///< After scaling.
    double largest() const;              ///< Maximum over the run.
    /// Returns the first iteration with rate 0; -1 if there is none.
    int64_t first_zero() const;

private:
    /// Returns the first iterations of the intervals in which the rate only rises or only falls,
    /// and the run's end.
    std::vector<int64_t> monotone_intervals() const;

    enum class Kind { constant, multistep, cosine, exponential, inverse_sqrt };
    Kind kind_ = Kind::constant;
    double lr_ = 0, lr_min_ = 0, gamma_ = 1, decay_ = 0, warmup_from_ = 0;
    int64_t warmup_ = 0, iterations_, per_epoch_;
    std::vector<double> milestones_;  // In rising order.
};
/// Returns all schedule types, in the order of the documentation.
const std::vector<base::Entry>& schedule_table();

/// Return /optimizer and /schedule of a spec with all defaults. Throw UserError.
base::Json resolve_optimizer(const base::Json& given, const std::string& pointer);
base::Json resolve_schedule(const base::Json& given, const std::string& pointer);

}  // namespace dbench::algorithms
