#pragma once
// Factors that follow from the norms of rows, made where the rows are: the host never waits for
// them.

#include <cstdint>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// What becomes of ||x_i||, the L2 norm of a row over all its tensors.
enum class FactorRule : uint8_t {
    at_most,  ///< min(1, number / ||x_i||); 1 where the norm is not finite
    inverse   ///< 1 / (||x_i|| + number)
};

/// out[i], from sums of squares [count * S] as `squares` gives them: a norm is the root of the sum
/// over tensors, each the sum over its segments, in order. `number` > 0.
void norm_factors(const Layout& layout, int64_t count, const double* squares, FactorRule rule,
                  double number, double* out, Queue* queue = nullptr);
/// x_i *= factors[i] in `columns`; a row whose factor is 1 is left as it is.
void scale_each(Rows rows, Columns columns, const double* factors, Queue* queue = nullptr);

class RowFactors {
public:
    RowFactors(FactorRule rule, double number) : rule_(rule), number_(number) {}

    /// The factors [rows.count] of whole rows, as what is launched on `queue` behind this finds
    /// them; valid until the following call.
    const double* of(const Layout& layout, Rows rows, Queue* queue = nullptr);

private:
    FactorRule rule_;
    double number_;
    Buffer values_;  // squares [count * S], factors [count]
};

}  // namespace dbench::arena
