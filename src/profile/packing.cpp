#include "profile/packing.hpp"

#include <array>
#include <limits>
#include <vector>

#include "base/error.hpp"

namespace dbench::profile {
namespace {

using algorithms::kTimeColumns;
constexpr size_t kColumns = kTimeColumns.size();
constexpr int64_t kScalars = static_cast<int64_t>(kColumns) + 2;

void put(std::span<const double> values, std::string& bytes) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

void put_sized(const std::vector<double>& values, int64_t count, std::string& bytes) {
    if (static_cast<int64_t>(values.size()) == count) return put(values, bytes);
    DBENCH_EXPECT(values.empty());
    put(std::vector<double>(static_cast<size_t>(count), std::numeric_limits<double>::quiet_NaN()),
        bytes);
}

}  // namespace

void pack(const algorithms::IterationRecord& r, int64_t replicas, int64_t tensors,
          std::string& bytes) {
    std::array<double, kScalars> scalars;
    for (size_t k = 0; k < kColumns; ++k) scalars[k] = r.times[kTimeColumns[k].time];
    scalars[kColumns] = r.profile_bytes;
    scalars[kColumns + 1] = r.awaited_rank;
    put(scalars, bytes);
    put_sized(r.loss, replicas, bytes);
    put_sized(r.accuracy, replicas, bytes);
    if (r.asynchronous) {
        put_sized(r.staleness, replicas, bytes);
        put_sized(r.replica_time, replicas, bytes);
    }
    if (!r.profiled) return;
    put_sized(r.norm, replicas * tensors, bytes);
    put_sized(r.update_norm, replicas, bytes);
    put_sized(r.gradient_norm, replicas, bytes);
}

int64_t packed_size(int64_t replicas, int64_t tensors, bool profiled) {
    const int64_t numbers = kScalars + 4 * replicas + (profiled ? replicas * (tensors + 2) : 0);
    return numbers * static_cast<int64_t>(sizeof(double));
}

Unpacker::Unpacker(const std::string& bytes, int64_t replicas, int64_t tensors)
    : left_(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double)),
      replicas_(replicas),
      tensors_(tensors) {}

std::span<const double> Unpacker::take(int64_t count) {
    const auto size = static_cast<size_t>(count);
    if (left_.size() < size) throw base::RunError("a rank sent too few measurements");
    const std::span<const double> values = left_.first(size);
    left_ = left_.subspan(size);
    return values;
}

RankRow Unpacker::next(bool profiled, bool asynchronous) {
    const std::span<const double> scalars = take(kScalars);
    RankRow row{};
    for (size_t k = 0; k < kColumns; ++k) row.times[kTimeColumns[k].time] = scalars[k];
    row.profile_bytes = scalars[kColumns];
    row.awaited_rank = scalars[kColumns + 1];
    row.loss = take(replicas_);
    row.accuracy = take(replicas_);
    if (asynchronous) {
        row.staleness = take(replicas_);
        row.replica_time = take(replicas_);
    }
    if (!profiled) return row;
    row.norm = take(replicas_ * tensors_);
    row.update_norm = take(replicas_);
    row.gradient_norm = take(replicas_);
    return row;
}

}  // namespace dbench::profile
