#pragma once
// Gradient clipping by the norm of a replica's whole gradient (Pascanu et al. 2013, algorithm 1).
// Stepper calls it between backward and the local update.

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "arena/sums/row_factors.hpp"

namespace dbench::algorithms {

/// Clips the gradients of all rows to one maximum norm.
class Clipping {
public:
    /// `norm` is the maximum norm, greater than 0.
    explicit Clipping(double norm) : factors_(arena::FactorRule::at_most, norm) {}

    /// Applies g_i *= min(1, norm / ||g_i||) to every row of `g`. ||g_i|| is the L2 norm over all
    /// tensors of `layout`, summed in a fixed order. Does not modify rows whose norm is not finite.
    void clip(const arena::Layout& layout, arena::Rows g, arena::Queue& queue) {
        arena::scale_each(g, layout.all(), factors_.of(layout, g, queue), queue);
    }

private:
    arena::RowFactors factors_;
};

}  // namespace dbench::algorithms
