#pragma once  // Private to arena/grid.
// A block on the host: one thread with vectorised loops.

#include <memory>

#include "arena/grid/block.hpp"
#include "arena/non_temporal.hpp"

namespace dbench::arena {

class HostBlock {
public:
    static constexpr bool kManyThreads = false;

    explicit HostBlock(int64_t scratch_bytes)
        : memory_(scratch_bytes == 0
                      ? nullptr
                      : std::make_unique_for_overwrite<Line[]>((scratch_bytes + 63) / 64)) {}

    /// Frees all scratch memory for the next block.
    DBENCH_INLINE void restart() { used_ = 0; }

    template <class Work>
    DBENCH_INLINE void for_each(int64_t count, const Work& work) const {
        DBENCH_INDEPENDENT
        for (int64_t c = 0; c < count; ++c) work(c);
    }
    template <class Work>
    DBENCH_INLINE void for_threads(int64_t count, const Work& work) const {
        for_each(count, work);
    }
    template <int kGroup, class Work>
    DBENCH_INLINE void for_groups(int64_t groups, const Work& work) const {
        DBENCH_INDEPENDENT
        for (int64_t g = 0; g < groups; ++g) {
            DBENCH_UNROLL
            for (int j = 0; j < kGroup; ++j) work(g, j);
        }
    }
    template <class Work>
    DBENCH_INLINE void for_rows(int64_t rows, int64_t count, const Work& work) const {
        for (int64_t i = 0; i < rows; ++i) for_each(count, work(i));
    }
    template <class Read, class Work>
    DBENCH_INLINE void for_rows(int64_t rows, int64_t count, const Read& read,
                                const Work& work) const {
        for (int64_t i = 0; i < rows; ++i) {
            const auto from = read(i);
            const auto to = work(i);
            for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA { to(c, from(c)); });
        }
    }
    template <int kCount, class Work>
    DBENCH_INLINE void for_some(int64_t count, const Work& work) const {
        for (int64_t c = 0; c < count; c += kCount) {
            work(c, static_cast<int>(std::min<int64_t>(kCount, count - c)));
        }
    }
    template <class T, class Work>
    DBENCH_INLINE void for_packs(int64_t rows, int64_t count, const Work& work) const {
        for_rows(rows, count, work);
    }
    template <class T, class Read, class Work>
    DBENCH_INLINE void for_packs(int64_t rows, int64_t count, const Read& read,
                                 const Work& work) const {
        for_rows(rows, count, read, work);
    }

    template <class Value>
    DBENCH_INLINE void add_squares(Lanes& lanes, int64_t count, const Value& value) const {
        decltype(value(int64_t{})) values[kTile];
        for (int64_t begin = 0; begin < count; begin += kTile) {
            const int64_t here = std::min(kTile, count - begin);
            DBENCH_INDEPENDENT
            for (int64_t c = 0; c < here; ++c) values[c] = value(begin + c);
            add_up_of<Square>(lanes, here, values);
        }
    }
    template <class T, class Read, class Work>
    DBENCH_INLINE void add_squares(Lanes& lanes, int64_t count, const Read& read,
                                   const Work& work) const {
        add_squares(lanes, count, [=](int64_t c) DBENCH_INLINE_LAMBDA { return work(c, read(c)); });
    }
    template <class Summand, class T>
    DBENCH_INLINE void add_up_of(Lanes& lanes, int64_t count, const T* values) const {
        arena::add_up<Summand>(lanes, count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            return static_cast<double>(values[c]);
        });
    }

    template <class A, class B>
    DBENCH_INLINE void add_products(Lanes& lanes, int64_t count, const A* x, const B* y) const {
        arena::add_up<Identity>(lanes, count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            return static_cast<double>(x[c]) * static_cast<double>(y[c]);
        });
    }

    template <class Done>
    DBENCH_INLINE void add_in_order(int64_t count, const double* values, const Done& done) const {
        double sum = 0;
        for (int64_t c = 0; c < count; ++c) sum += values[c];
        done(sum);
    }

    template <class V>
    DBENCH_INLINE V* scratch(int64_t count) {
        char* const taken = reinterpret_cast<char*>(memory_.get()) + used_;
        used_ += scratch_for<V>(count);
        return reinterpret_cast<V*>(taken);
    }
    template <class T>
    DBENCH_INLINE void prefetch(const T* data, int64_t count) const {
        arena::prefetch(data, count);
    }
    template <class T>
    DBENCH_INLINE void copy_non_temporal(int64_t count, const T* from, T* to) const {
        arena::copy_non_temporal(from, to, count);
    }

private:
    struct alignas(64) Line {
        char bytes[64];
    };

    std::unique_ptr<Line[]> memory_;
    int64_t used_ = 0;
};

/// Runs the whole grid, block after block.
template <class Body>
DBENCH_INLINE void run_blocks(const Body& body) {
    HostBlock block(body.scratch_bytes());
    const int64_t blocks = body.blocks();
    for (int64_t index = 0; index < blocks; ++index) {
        block.restart();
        body(block, index);
    }
}

}  // namespace dbench::arena
