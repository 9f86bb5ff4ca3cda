#pragma once
// The files of a checkpoint: one part per rank with the rows of its replicas, each with a checksum.
// Internal to this room.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "arena/device/queue.hpp"
#include "arena/state.hpp"

namespace dbench::train {

/// CRC-32.
uint32_t checksum(const void* data, size_t bytes);

std::string part_name(int64_t rank);
size_t row_bytes(const arena::StateTable::Entry& entry);

/// The local rows [first, first + count), which nothing that is on `queue` touches, and what
/// replicas share. Throws RunError.
void write_part(const std::string& path, int64_t first, int64_t count,
                const arena::StateTable& state, arena::Queue* queue);

/// Called with a row's name, its replica (-1: what replicas share) and its bytes.
using TakeRow =
    std::function<void(const std::string& name, int64_t replica, const std::string& bytes)>;

/// Reads the rows of replicas in [begin, end) and what replicas share, each after its checksum was
/// compared. Throws RunError where the part is missing or damaged.
void read_part(const std::string& path, int64_t begin, int64_t end, const TakeRow& take);

}  // namespace dbench::train
