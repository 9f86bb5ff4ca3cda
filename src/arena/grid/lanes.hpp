#pragma once
// Sums of squares, or of magnitudes, in float64 with a fixed order of additions, whatever the
// vector width.

#include <cstdint>

#include "arena/loops.hpp"

namespace dbench::arena {

/// Element c of a segment goes to lane c mod kLanes; lanes are added pairwise at the end. A segment
/// may come in pieces that start at multiples of kLanes.
inline constexpr int kLanes = 16;
struct Lanes {
    double sum[kLanes] = {};
};

/// What is summed of an element.
struct Square {
    static DBENCH_INLINE double of(double x) { return x * x; }
};
struct Magnitude {
    static DBENCH_INLINE double of(double x) { return x < 0 ? -x : x; }  // a NaN stays one
};

struct Itself {
    static DBENCH_INLINE double of(double x) { return x; }
};

/// Adds Summand::of(value(c)) for c in [0, count).
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

DBENCH_INLINE double total(const Lanes& lanes) {
    double sum[kLanes];
    for (int j = 0; j < kLanes; ++j) sum[j] = lanes.sum[j];
    for (int half = kLanes / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; ++j) sum[j] += sum[j + half];
    }
    return sum[0];
}

}  // namespace dbench::arena
