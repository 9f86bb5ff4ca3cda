#pragma once
// Sums of squares or magnitudes in float64. The order of additions is fixed, whatever the vector
// width.

#include <cstdint>

#include "arena/loops.hpp"

namespace dbench::arena {

/// Number of partial sums of a segment. Element c of a segment is added to lane c mod kLanes;
/// total() adds the lanes pairwise. A segment may be processed in pieces that start at multiples of
/// kLanes.
inline constexpr int kLanes = 16;
struct Lanes {
    double sum[kLanes] = {};
};

/// The summands: the function of an element that is summed.
struct Square {
    static DBENCH_INLINE double of(double x) { return x * x; }
};
struct Magnitude {
    static DBENCH_INLINE double of(double x) { return x < 0 ? -x : x; }  // A NaN remains a NaN.
};

struct Identity {
    static DBENCH_INLINE double of(double x) { return x; }
};

/// Adds Summand::of(value(c)) for c in [0, count) into the lanes.
template <class Summand, class Value>
DBENCH_INLINE void add_up(Lanes& lanes, int64_t count, const Value& value) {
    double sum[kLanes];
    for (int j = 0; j < kLanes; ++j) sum[j] = lanes.sum[j];
    int64_t c = 0;
    for (; c + kLanes <= count; c += kLanes) {
        for (int j = 0; j < kLanes; ++j) sum[j] += Summand::of(value(c + j));
    }
    for (int j = 0; j < kLanes; ++j) lanes.sum[j] = sum[j];
    for (; c < count; ++c) lanes.sum[c % kLanes] += Summand::of(value(c));
}

/// Adds the lanes pairwise.
DBENCH_INLINE double total(const Lanes& lanes) {
    double sum[kLanes];
    for (int j = 0; j < kLanes; ++j) sum[j] = lanes.sum[j];
    for (int half = kLanes / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; ++j) sum[j] += sum[j + half];
    }
    return sum[0];
}

}  // namespace dbench::arena
