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

/// Calls work(c, read(c)) for the elements of one lane below `count`, in their order, for a thread
/// that processes this lane alone. Reads of up to kBytes bytes run ahead of the work; a read may
/// run twice. With a quarter of the threads that fit on a multiprocessor of compute capability 9.0,
/// 192 bytes per thread keep the memory busy.
template <int kBytes = 192, class Read, class Work>
DBENCH_INLINE void walk_lane(int lane, int count, const Read& read, const Work& work) {
    using Value = decltype(read(int64_t{}));
    constexpr int kFits = kBytes / static_cast<int>(sizeof(Value));
    constexpr int kAhead = kFits >= 16 ? 16 : kFits >= 8 ? 8 : kFits >= 4 ? 4 : 2;
    int first = lane;
    for (; first + (kAhead - 1) * kLanes < count; first += kAhead * kLanes) {
        Value values[kAhead];
        DBENCH_UNROLL
        for (int k = 0; k < kAhead; ++k) values[k] = read(int64_t{first + k * kLanes});
        DBENCH_UNROLL
        for (int k = 0; k < kAhead; ++k) work(int64_t{first + k * kLanes}, values[k]);
    }
    for (; first < count; first += kLanes) work(int64_t{first}, read(int64_t{first}));
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
