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
#include "base/factory_entry.hpp"

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
    /// Computes gradient += weight decay times at, in `columns`, which may begin and end inside
    /// tensors. Needed only for plain SGD under algorithms that compute the direction themselves.
    virtual void add_decay(arena::Rows gradient, arena::Rows at, arena::Columns columns,
                           arena::Queue& queue);
};

/// One optimizer in the table.
using OptimizerEntry = base::FactoryEntry<std::unique_ptr<Optimizer>(const arena::Layout& layout)>;
/// Returns all optimizers, in the order of the documentation.
const std::vector<OptimizerEntry>& optimizer_table();

/// Returns /optimizer of a spec with all defaults. Throws UserError.
base::Json resolve_optimizer(const base::Json& given, const std::string& pointer);

}  // namespace dbench::algorithms
