#include "arena/passes/row_parts.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "arena/grid/launch.hpp"
#include "arena/passes/row_parts_kernel.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const FillParts<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const FillParts<double>& body) { run_blocks(body); }

void fill_parts(Rows to, std::span<const RowPart> parts, bool adds, Queue& queue) {
    with_type(to.type, [&]<class T>() {
        using Body = FillParts<T>;
        while (!parts.empty()) {
            Body body{to,
                      adds,
                      static_cast<int>(std::min<size_t>(parts.size(), Body::kMaxParts)),
                      {},
                      {}};
            int64_t end = 0, read = 0, written = 0;
            for (int k = 0; k < body.all; ++k) {
                const RowPart& part = body.parts[k] = parts[static_cast<size_t>(k)];
                DBENCH_EXPECT(part.lines == 0 || part.count <= std::numeric_limits<int32_t>::max());
                end += (part.count + Body::kWidth - 1) / Body::kWidth;
                body.ends[k] = end;
                written += to.count * part.count * size_of(to.type);
                if (part.from) read += to.count * part.count * size_of(to.type);
            }
            parts = parts.subspan(static_cast<size_t>(body.all));
            if (body.blocks() == 0) continue;
            count_bytes(read + (adds ? written : 0), written);
            launch(queue, "fill_parts", body, [&] {
                std::vector<Access> all;
                for (int k = 0; k < body.all; ++k) {
                    const RowPart& part = body.parts[k];
                    const int64_t out_stride = part.out_stride ? part.out_stride : to.stride;
                    all.push_back({to.at(0, part.begin), to.count, out_stride * size_of(to.type),
                                   part.count * size_of(to.type), true});
                }
                return all;
            });
        }
    });
}

}  // namespace dbench::arena
