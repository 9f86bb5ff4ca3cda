#include "arena/device/host_rows.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "arena/kernels.hpp"
#include "base/error.hpp"

namespace dbench::arena {

HostRows::HostRows(Rows rows, Queue& queue, const char* why, State state)
    : rows_(rows), queue_(queue) {
    const bool copied = rows.space == Space::device && rows.count > 0 && rows.stride > 0;
    if (copied) {
        DBENCH_EXPECT(!queue.immediate());
        copy_ = queue.memories().host_visible_rows(rows.type, rows.first, rows.count, rows.stride);
        if (state != State::replaced) {
            copy(rows_, copy_.rows(), {0, rows.stride}, queue_);
            keep(queue_, std::make_shared<Buffer>(copy_));  // The queue owns the buffer, too, in
                                                            // case the wait throws.
        }
    }
    if (state == State::computed || (copied && state == State::settled)) finish(queue_, why);
}

void HostRows::write_back(const char* why) {
    if (copy_.bytes() == 0) return;
    copy(copy_.rows(), rows_, {0, rows_.stride}, queue_);
    keep(queue_, std::make_shared<Buffer>(std::exchange(copy_, Buffer())));
    if (why) finish(queue_, why);
}

void fill(Rows row, const void* from, int64_t bytes, Queue& queue) {
    const int64_t element = size_of(row.type);
    DBENCH_EXPECT(row.count == 1 && bytes <= row.stride * element);
    const int64_t elements = (int64_t{1} << 22) / element;
    for (int64_t begin = 0; begin * element < bytes; begin += elements) {
        Rows part = row;
        part.data = row.at(0, begin);
        part.stride = std::min(elements, row.stride - begin);
        HostRows host(part, queue, "", HostRows::State::replaced);
        std::memcpy(host.rows().data, static_cast<const char*>(from) + begin * element,
                    static_cast<size_t>(std::min(part.stride * element, bytes - begin * element)));
        host.write_back("a part of a row that is filled");
    }
}

}  // namespace dbench::arena
