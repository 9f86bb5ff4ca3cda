#pragma once
// Local optimizers: out = base - lr d(g, at), one fused pass over any range of columns.

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

/// What changes from step to step.
struct StepNumbers {
    double lr;
    int64_t step;  ///< 1 for the first update of the run
};

class Optimizer {
public:
    virtual ~Optimizer() = default;
    /// Declares the state it keeps per replica. Called once, before the first step.
    virtual void declare(arena::StateTable& state) = 0;
    /// out = base - lr d(g, at) in `columns`; the rows may be the same. `squared_update`, where not
    /// null, receives ||lr d||^2 per row and segment [R * S].
    virtual void step(arena::Rows out, arena::Rows base, arena::Rows at, arena::Rows gradient,
                      arena::Columns columns, const StepNumbers& numbers, double* squared_update,
                      arena::Queue* queue = nullptr) = 0;
    /// The same at x with the mixing that goes with it, in one pass, for rows that have a
    /// arena::mixing_width; false, and nothing is done, where the optimizer has no such pass.
    virtual bool step_and_mix(const arena::Mixing& mixing, arena::Rows out, arena::Rows x,
                              arena::Rows gradient, arena::Columns columns,
                              const StepNumbers& numbers, double* squared_update,
                              arena::Queue* queue);
    /// The same where the base is W x, made of rows (arena::sgd_update_of_means), on the host;
    /// false, and nothing is done, where the optimizer has no such pass.
    virtual bool step_of_means(arena::Rows out, std::span<const std::vector<arena::Term>> base,
                               arena::Rows at, arena::Rows gradient, arena::Columns columns,
                               const StepNumbers& numbers, double* squared_update);
    /// gradient += weight decay times at, in `columns` (whole tensors): for algorithms that take
    /// plain SGD and make the direction themselves. Others never ask.
    virtual void add_decay(arena::Rows gradient, arena::Rows at, arena::Columns columns,
                           arena::Queue* queue = nullptr);
};

struct OptimizerEntry : base::Entry {
    std::unique_ptr<Optimizer> (*make)(const base::Json& spec, const arena::Layout& layout);
};
const std::vector<OptimizerEntry>& optimizer_table();

/// The learning rate over a run (constant, multistep, cosine, exponential, inverse_sqrt; warm-up;
/// scaling by the global batch): docs/numerics.md.
class LearningRate {
public:
    LearningRate(const base::Json& schedule, double lr, const base::RunLength& run);
    double at(int64_t t) const;
    double base() const { return lr_; }  ///< after scaling
    double largest() const;              ///< of the whole run
    /// The first iteration whose rate is 0; -1 where there is none.
    int64_t first_zero() const;

private:
    /// First iterations of the stretches of the run in which the rate only rises or only falls, and
    /// the run's end.
    std::vector<int64_t> stretches() const;

    enum class Kind { constant, multistep, cosine, exponential, inverse_sqrt };
    Kind kind_ = Kind::constant;
    double lr_ = 0, lr_min_ = 0, gamma_ = 1, decay_ = 0, warmup_from_ = 0;
    int64_t warmup_ = 0, iterations_, per_epoch_;
    std::vector<double> milestones_;  // in rising order
};
const std::vector<base::Entry>& schedule_table();

/// /optimizer and /schedule of a spec with defaults. Throw UserError.
base::Json resolve_optimizer(const base::Json& given, const std::string& pointer);
base::Json resolve_schedule(const base::Json& given, const std::string& pointer);

}  // namespace dbench::algorithms
