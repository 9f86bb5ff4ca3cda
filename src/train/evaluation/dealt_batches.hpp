#pragma once  // Private to train/evaluation.
// Sums over batches that ranks read in turn: batch b belongs to rank b mod the number of readers.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/framing.hpp"

namespace dbench::train {

/// Adds the numbers of all batches in the order of the batches, so that the bits of the sums do not
/// depend on the number of readers. `parts`: for each reader, `width` numbers per batch, packed by
/// base::bytes_of.
inline std::vector<double> sum_of_dealt_batches(const std::vector<std::string>& parts,
                                                int64_t batches, int readers, size_t width) {
    std::vector<double> sums(width);
    const size_t bytes = width * sizeof(double);
    for (int64_t b = 0; b < batches; ++b) {
        const std::string_view part = parts[static_cast<size_t>(b % readers)];
        const auto values =
            base::doubles_of(part.substr(static_cast<size_t>(b / readers) * bytes, bytes));
        for (size_t k = 0; k < width; ++k) sums[k] += values[k];
    }
    return sums;
}

}  // namespace dbench::train
