#pragma once
// Sums of squares in float64 with a fixed order of additions, whatever the vector width.

#include <cstdint>

#include "arena/loops.hpp"

namespace dbench::arena {

/// Element c of a segment goes to lane c mod kLanes; lanes are added pairwise at the end. A segment
/// may come in pieces that start at multiples of kLanes.
inline constexpr int kLanes = 16;
struct Lanes {
    double sum[kLanes] = {};
};

/// Adds value(c)^2 for c in [0, count).
template <class Value>
DBENCH_INLINE void add_squares(Lanes& lanes, int64_t count, const Value& value) {
    double sum[kLanes];
    for (int j = 0; j < kLanes; ++j) sum[j] = lanes.sum[j];
    int64_t c = 0;
    for (; c + kLanes <= count; c += kLanes) {
        for (int j = 0; j < kLanes; ++j) {
            const double x = value(c + j);
            sum[j] += x * x;
        }
    }
    for (int j = 0; j < kLanes; ++j) lanes.sum[j] = sum[j];
    for (; c < count; ++c) {
        const double x = value(c);
        lanes.sum[c % kLanes] += x * x;
    }
}

DBENCH_INLINE double total(const Lanes& lanes) {
    double sum[kLanes];
    for (int j = 0; j < kLanes; ++j) sum[j] = lanes.sum[j];
    for (int half = kLanes / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; ++j) sum[j] += sum[j + half];
    }
    return sum[0];
}

}  // namespace dbench::arena
