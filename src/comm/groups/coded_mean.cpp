#include "comm/groups/coded_mean.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "arena/tree.hpp"

namespace dbench::comm {

std::shared_ptr<void> coded_tree_mean(arena::ElementCodec codec, arena::DType type,
                                      std::span<const CodedRow> rows, void* out,
                                      arena::Columns columns, arena::Queue& queue,
                                      ScratchPool* pool) {
    // Elements of all rows of a tile: on the host they fit in a second-level cache; on a device
    // they keep it busy.
    const int64_t elements = queue.immediate() ? 1 << 14 : 1 << 23;
    const int64_t most = queue.immediate() ? 8192 : elements;
    const auto count = static_cast<int64_t>(rows.size());
    const int64_t width = std::clamp<int64_t>(elements / count / 64 * 64, 64, most);
    const int64_t size = arena::size_of(type);
    const int64_t bytes = count * width * size;
    std::shared_ptr<void> memory;
    if (pool) {
        memory = pool->take(bytes);
    } else {
        memory = std::make_shared_for_overwrite<char[]>(bytes);
    }
    char* const tile = static_cast<char*>(memory.get());
    std::vector<arena::Summand> leaves;
    for (int64_t p = 0; p < count; ++p) leaves.push_back({{p, p + 1}, &tile[p * width * size]});
    for (int64_t begin = columns.begin; begin < columns.end; begin += width) {
        const int64_t here = std::min(width, columns.end - begin);
        for (int64_t p = 0; p < count; ++p) {
            char* const to = &tile[p * width * size];
            if (rows[p].words) {
                arena::decode(codec, type, rows[p].words + begin, to, here, queue);
            } else {
                const char* const from = static_cast<const char*>(rows[p].row) + begin * size;
                arena::quantize(codec, type, from, to, here, queue);
            }
        }
        char* const to = static_cast<char*>(out) + begin * size;
        arena::tree_mean(type, count, leaves, to, {0, here}, queue);
    }
    return memory;
}

}  // namespace dbench::comm
