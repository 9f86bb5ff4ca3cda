#pragma once
// Gradient clipping by the norm of a replica's whole gradient (Pascanu et al. 2013, algorithm 1).

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "arena/sums/row_factors.hpp"

namespace dbench::algorithms {

class Clipping {
public:
    explicit Clipping(double norm) : factors_(arena::FactorRule::at_most, norm) {}  ///< > 0

    /// g_i *= min(1, norm / ||g_i||) for every row of `g`, whole rows laid out by `layout`; ||g_i||
    /// is the L2 norm over all tensors, summed in a fixed order. A row whose norm is not finite is
    /// left as it is.
    void clip(const arena::Layout& layout, arena::Rows g, arena::Queue* queue = nullptr) {
        arena::scale_each(g, layout.all(), factors_.of(layout, g, queue), queue);
    }

private:
    arena::RowFactors factors_;
};

}  // namespace dbench::algorithms
