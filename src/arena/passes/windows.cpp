#include "arena/passes/windows.hpp"

#include <limits>

#include "arena/grid/launch.hpp"
#include "arena/passes/windows_kernel.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const GatherWindows<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const GatherWindows<double>& body) { run_blocks(body); }

void gather_windows(const Pictures& pictures, std::span<const Window> windows, const void* values,
                    DType type, Planes planes, void* out, Queue& queue) {
    DBENCH_EXPECT(pictures.numel() <= std::numeric_limits<int32_t>::max());
    const int64_t count = std::ssize(windows), read = count * pictures.numel();
    const int64_t written = read * size_of(type);
    count_bytes(read, written);
    const auto accesses = [&] {
        return std::vector<Access>{reads(pictures.bytes, pictures.count * pictures.numel()),
                                   reads(windows.data(), std::ssize(std::as_bytes(windows))),
                                   reads(values, pictures.planes * 256 * size_of(type)),
                                   writes(out, written)};
    };
    with_type(type, [&]<class T>() {
        const GatherWindows<T> body{pictures, windows.data(),
                                    count,    static_cast<const T*>(values),
                                    planes,   static_cast<T*>(out)};
        launch(queue, "gather_windows", body, accesses);
    });
}

}  // namespace dbench::arena
