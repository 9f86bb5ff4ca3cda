#pragma once
// Encodes each rank's measurements of an iteration as bytes for rank 0. Numbers that are equal on
// every rank are not sent.

#include <cstdint>
#include <span>
#include <string>

#include "algorithms/step/observer.hpp"

namespace dbench::profile {

/// Measurements of one iteration on one rank, with R local replicas and T tensors.
struct RankRow {
    algorithms::Times times;
    double profile_bytes;
    double awaited_rank;
    std::span<const double> loss, accuracy;              ///< [R]
    std::span<const double> staleness, replica_time;     ///< [R], empty if not asynchronous
    std::span<const double> norm;                        ///< [R, T], empty if not profiled
    std::span<const double> update_norm, gradient_norm;  ///< [R], empty if not profiled
};

/// Appends the row to `bytes`. Empty vectors are replaced by NaN.
void pack(const algorithms::IterationRecord& record, int64_t replicas, int64_t tensors,
          std::string& bytes);

/// Returns the number of bytes of a packed row.
int64_t packed_size(int64_t replicas, int64_t tensors, bool profiled);

/// Reads rows one after the other. Returned spans point into `bytes`.
class Unpacker {
public:
    Unpacker(const std::string& bytes, int64_t replicas, int64_t tensors);
    /// Throws RunError if the bytes end too early.
    RankRow next(bool profiled, bool asynchronous = false);
    bool at_end() const { return left_.empty(); }

private:
    std::span<const double> take(int64_t count);

    std::span<const double> left_;
    int64_t replicas_, tensors_;
};

}  // namespace dbench::profile
