#pragma once
// The orders in which iterations compute and exchange.

#include <cstdint>

namespace dbench::predict {

/// When the exchange of an iteration takes place, relative to its computation.
enum class Order : uint8_t {
    adapt_then_combine,  ///< After the update, bucket by bucket while backward computes the others.
    combine_while_adapt,  ///< During forward and backward.
    combine_then_adapt,   ///< Before forward.
    all_reduce,    ///< A sum of gradients: bucket by bucket during backward, before the update.
    asynchronous,  ///< No rank waits for another.
};

}  // namespace dbench::predict
