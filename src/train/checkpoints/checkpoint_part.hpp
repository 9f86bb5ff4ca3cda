#pragma once  // Private to train/checkpoints.
// The files of a checkpoint: one part per rank with the rows of its replicas, each with a checksum.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "arena/device/queue.hpp"
#include "arena/state.hpp"

namespace dbench::train {

constexpr std::string_view kPartBegin = "DBCKPT01";  ///< The first bytes of every part.

/// Returns the CRC-32 of the bytes.
uint32_t checksum(const void* data, size_t bytes);

/// Returns the file name of a rank's part.
std::string part_name(int64_t rank);
/// Returns the bytes of one row of the entry.
size_t row_bytes(const arena::StateTable::Entry& entry);

/// Writes the local rows [first, first + count) and the state that all replicas share. No launch on
/// `queue` may touch them. Throws RunError if the file cannot be written.
void write_part(const std::string& path, int64_t first, int64_t count,
                const arena::StateTable& state, arena::Queue& queue);

/// Receives a row's name, its replica (-1: state that all replicas share) and its bytes.
using TakeRow =
    std::function<void(const std::string& name, int64_t replica, const std::string& bytes)>;

/// Reads the rows of replicas [begin, end) and the state that all replicas share, compares each
/// with its checksum, and passes it to `take`. Throws RunError if the part is missing or damaged.
void read_part(const std::string& path, int64_t begin, int64_t end, const TakeRow& take);

}  // namespace dbench::train
