#pragma once
// The mean of rows that travel in 16 bits.

#include <cstdint>
#include <memory>
#include <span>

#include "arena/messages/element_codec.hpp"
#include "arena/rows.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

/// A row as all ranks know it, rounded to the codec: its encoded words, or (if `words` is null) the
/// row that must still be rounded. Addresses of column 0.
struct CodedRow {
    const uint16_t* words;
    const void* row;
};

/// Writes the tree mean of the decoded rows to `out` (address of column 0; may be one of the rows).
/// Returns the scratch memory that it uses, which must remain valid until the queue has executed
/// the launches. Takes scratch from `pool` if it is not null.
std::shared_ptr<void> coded_tree_mean(arena::ElementCodec codec, arena::DType type,
                                      std::span<const CodedRow> rows, void* out,
                                      arena::Columns columns, arena::Queue& queue,
                                      ScratchPool* pool);

}  // namespace dbench::comm
