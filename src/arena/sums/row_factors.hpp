#pragma once
// Factors computed from the norms of rows, in the memory space of the rows. The host never waits
// for them.

#include <cstdint>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// How a factor depends on ||x_i||, the L2 norm of a row over all its tensors.
enum class FactorRule : uint8_t {
    at_most,  ///< min(1, number / ||x_i||); 1 if the norm is not finite
    inverse   ///< 1 / (||x_i|| + number)
};

/// Computes the factors out[i] from sums of squares [count * S] as `squares` returns them. A norm
/// is the root of the sum over tensors, each of which is the sum over its segments, in order.
/// `number` must be > 0.
void norm_factors(const Layout& layout, int64_t count, const double* squares, FactorRule rule,
                  double number, double* out, Queue& queue = host_queue());
/// Computes x_i *= factors[i] in `columns`. A row whose factor is 1 is not modified.
void scale_each(Rows rows, Columns columns, const double* factors, Queue& queue = host_queue());

/// Computes the factors of rows and owns their memory.
class RowFactors {
public:
    RowFactors(FactorRule rule, double number) : rule_(rule), number_(number) {}

    /// Returns the factors [rows.count] of whole rows, for launches on `queue` after this call.
    /// They are valid until the next call.
    const double* of(const Layout& layout, Rows rows, Queue& queue = host_queue());

private:
    FactorRule rule_;
    double number_;
    Buffer values_;  // Squares [count * S], then factors [count].
};

}  // namespace dbench::arena
