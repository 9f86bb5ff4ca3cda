// The plain kernels: zero, copy and scale.

#include "arena/kernels.hpp"

#include <cstring>

#include "arena/grid/launch.hpp"
#include "arena/grid/plain.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

template <class T>
void on_host(const Zero<T>& body) {
    const Columns columns = body.grid.columns;
    for (int64_t i = 0; i < body.rows.count; ++i) {
        std::memset(body.rows.at(i, columns.begin), 0,
                    static_cast<size_t>(columns.count()) * sizeof(T));
    }
}
template <class T>
void on_host(const Copy<T>& body) {
    const Columns columns = body.grid.columns;
    for (int64_t i = 0; i < body.to.count; ++i) {
        std::memcpy(body.to.at(i, columns.begin), body.from.at(i, columns.begin),
                    static_cast<size_t>(columns.count()) * sizeof(T));
    }
}
DBENCH_CLONES void on_host(const Scale<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Scale<double>& body) { run_blocks(body); }

void fill_zero(Rows rows, Columns columns, Queue& queue) {
    if (columns.count() <= 0) return;
    count_passes(rows.type, columns, 0, rows.count);
    const auto accesses = [&] { return std::vector<Access>{writes(rows, columns)}; };
    with_type(rows.type, [&]<class T>() {
        launch(queue, "fill_zero", Zero<T>{{columns, rows.count}, rows}, accesses);
    });
}

void copy(Rows from, Rows to, Columns columns, Queue& queue) {
    DBENCH_EXPECT(from.count == to.count && from.type == to.type && from.stride == to.stride);
    if (columns.count() <= 0 || from.data == to.data) return;
    count_passes(from.type, columns, from.count, from.count);
    const auto accesses = [&] {
        return std::vector<Access>{reads(from, columns), writes(to, columns)};
    };
    with_type(from.type, [&]<class T>() {
        launch(queue, "copy", Copy<T>{{columns, to.count}, from, to}, accesses);
    });
}

void scale(Rows rows, Columns columns, double factor, Queue& queue) {
    if (columns.count() <= 0) return;
    count_passes(rows.type, columns, rows.count, rows.count);
    const auto accesses = [&] { return std::vector<Access>{writes(rows, columns)}; };
    with_type(rows.type, [&]<class T>() {
        const Scale<T> body{{columns, rows.count}, rows, static_cast<T>(factor)};
        launch(queue, "scale", body, accesses);
    });
}

}  // namespace dbench::arena
