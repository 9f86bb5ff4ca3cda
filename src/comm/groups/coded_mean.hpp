#pragma once
// Means over rows that travel in 16 bits.

#include <cstdint>
#include <memory>
#include <span>

#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

/// A row as all know it: its words, or where these are null the row that is yet to be rounded
/// (addresses of column 0).
struct CodedRow {
    const uint16_t* words;
    const void* row;
};

/// out (address of column 0) = tree mean over all rows as they are once decoded. out may be one of
/// the rows. Returns the memory that it works in, which has to stay until the queue, where there is
/// one, is through with it, and is of the pool, where one is given.
std::shared_ptr<void> coded_tree_mean(arena::Codec codec, arena::DType type,
                                      std::span<const CodedRow> rows, void* out,
                                      arena::Columns columns, arena::Queue* queue = nullptr,
                                      ScratchPool* pool = nullptr);

}  // namespace dbench::comm
