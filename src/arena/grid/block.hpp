#pragma once
// How the kernels of this module are written: each once, for the host, for a device, and for an
// emulated device. A kernel is a *body*: a struct with the kernel's arguments whose call operator
// runs one block of the grid. A body is a sequence of loops whose iterations are independent of
// each other. All threads of a block wait for each other at the end of a loop; blocks run in any
// order. A body has
//
//     int64_t blocks() const;         number of blocks in its grid
//     int64_t scratch_bytes() const;  scratch memory that one block needs
//     void operator()(Block&, int64_t index) const;
//
// and a block of any kind has
//
//     for_each(count, work)             work(c) for c in [0, count), in any order
//     for_threads(count, work)          same for long work: one thread per c, so at most kThreads
//     for_groups<k>(groups, work)       work(g, j) for g in [0, groups), j in [0, k)
//     for_some<k>(count, work)          work(c, n) for c = 0, k, 2 k, ... with n elements each: k,
//     or
//                                       fewer at the end
//     for_rows(rows, count, work)       work(i)(c) for i in [0, rows), c in [0, count)
//     for_packs<T>(rows, count, work)   same, but c may be a pack of several elements T (pack.hpp)
//     for_packs<T>(rows, count, read, work)   work(i)(c, read(i)(c)); some reads run ahead of the
//                                       work, and a read may run twice
//     add_squares(lanes, count, value)  value(c)^2 into its lane (lanes.hpp); value(c) runs once
//     add_squares<T>(lanes, count, read, work)    work(c, read(c))^2, with c as in for_packs
//     add_up_of<Summand>(lanes, count, x)   Summand::of of an array's elements into their lanes
//     add_products(lanes, count, x, y)  x[c] y[c], in float64
//     add_in_order(count, values, done) done(values[0] + values[1] + ...), called by one thread
//     scratch<V>(count)                 uninitialised memory of this block, 64-byte aligned
//     prefetch(data, count)             data that the next block will read
//     copy_non_temporal(count, from, to)
//
// and, in bodies that only run on a device (launch_on),
//
//     add(to, value)                          in loops: atomic integer addition within a block
//     running_sums(before, count, value, work)    work(c, before + values of those before c)
//
// kManyThreads is true for a block with many threads, where a few long loops are faster than many
// short ones, and false for a block with one thread. A body writes memory only inside loops. Code
// between loops is executed by every thread and must compute the same values in all of them.

#include <algorithm>
#include <type_traits>

#include "arena/grid/lanes.hpp"
#include "arena/grid/pack.hpp"

namespace dbench::arena {

/// Bytes of `count` values in a block's scratch memory, with padding.
template <class V>
constexpr int64_t scratch_for(int64_t count) {
    return (count * static_cast<int64_t>(sizeof(V)) + 63) / 64 * 64;
}

/// Calls work(std::true_type{}) or work(std::false_type{}), so that an inner loop need not test the
/// flag.
template <class Work>
DBENCH_INLINE void with_flag(bool flag, const Work& work) {
    if (flag) {
        work(std::true_type{});
    } else {
        work(std::false_type{});
    }
}

inline constexpr int kThreads = 256;  ///< Threads per block on a device.

/// The largest scratch memory of a block on the devices that kernels are built for: compute
/// capability 8.0 provides 163 KiB, which must also hold the stage below. Devices that run the same
/// code with less (8.6, 8.9, 12.0: 99 KiB) refuse a launch that needs more than they have.
inline constexpr int64_t kMaxScratch = 152 * 1024;

/// The common parts of blocks with many threads. `Derived` provides for_each and two functions
/// for_rows: for_packs(rows, count, work) uses for_rows(rows, count, work), and for_packs(rows,
/// count, read, work) uses for_rows(rows, count, read, work).
template <class Derived>
class ThreadedBlock {
public:
    static constexpr bool kManyThreads = true;
    static constexpr int64_t kStage = 1024;  ///< Number of float64 values that can wait for their
                                             ///< lanes.
    using Stage = double[kStage];

    DBENCH_INLINE ThreadedBlock(char* scratch, void* stage) : scratch_(scratch), stage_(stage) {}

    template <class V>
    DBENCH_INLINE V* scratch(int64_t count) {
        V* const taken = reinterpret_cast<V*>(scratch_);
        scratch_ += scratch_for<V>(count);
        return taken;
    }

    template <class Work>
    DBENCH_INLINE void for_threads(int64_t count, const Work& work) {
        derived().for_each(count, work);
    }
    template <int kGroup, class Work>
    DBENCH_INLINE void for_groups(int64_t groups, const Work& work) {
        derived().for_each(groups * kGroup,
                           [&](int64_t c) { work(c / kGroup, static_cast<int>(c % kGroup)); });
    }

    /// Works on packs as far as possible, then on single elements.
    template <class T, class Work>
    DBENCH_INLINE void for_packs(int64_t rows, int64_t count, const Work& work) {
        constexpr int kPack = pack_of<T>();
        const int64_t packs = count / kPack, rest = count % kPack, first = count - rest;
        derived().for_rows(rows, packs, [=](int64_t i) DBENCH_INLINE_LAMBDA {
            const auto row = work(i);
            return [=](int64_t p) DBENCH_INLINE_LAMBDA { row(place<kPack>(p)); };
        });
        if (rest == 0) return;
        derived().for_rows(rows, rest, [=](int64_t i) DBENCH_INLINE_LAMBDA {
            const auto row = work(i);
            return [=](int64_t c) DBENCH_INLINE_LAMBDA { row(first + c); };
        });
    }
    template <class T, class Read, class Work>
    DBENCH_INLINE void for_packs(int64_t rows, int64_t count, const Read& read, const Work& work) {
        constexpr int kPack = pack_of<T>();
        const int64_t packs = count / kPack, rest = count % kPack, first = count - rest;
        const auto at = [=](const auto& row) DBENCH_INLINE_LAMBDA {
            return [=](int64_t p, const auto&... taken)
                       DBENCH_INLINE_LAMBDA { return row(place<kPack>(p), taken...); };
        };
        derived().for_rows(
            rows, packs, [=](int64_t i) DBENCH_INLINE_LAMBDA { return at(read(i)); },
            [=](int64_t i) DBENCH_INLINE_LAMBDA { return at(work(i)); });
        if (rest == 0) return;
        const auto after = [=](const auto& row) DBENCH_INLINE_LAMBDA {
            return [=](int64_t c, const auto&... taken)
                       DBENCH_INLINE_LAMBDA { return row(first + c, taken...); };
        };
        derived().for_rows(
            rows, rest, [=](int64_t i) DBENCH_INLINE_LAMBDA { return after(read(i)); },
            [=](int64_t i) DBENCH_INLINE_LAMBDA { return after(work(i)); });
    }

    template <int kCount, class Work>
    DBENCH_INLINE void for_some(int64_t count, const Work& work) {
        derived().for_each((count + kCount - 1) / kCount, [=](int64_t g) DBENCH_INLINE_LAMBDA {
            const int64_t left = count - g * kCount;
            work(g * kCount, left < kCount ? static_cast<int>(left) : kCount);
        });
    }

    template <class Value>
    DBENCH_INLINE void add_squares(Lanes& lanes, int64_t count, const Value& value) {
        using V = decltype(value(int64_t{}));
        add_up<Square, V>(lanes, count, [&](int64_t begin, int64_t here, V* stage) {
            derived().for_each(here, [&](int64_t c) { stage[c] = value(begin + c); });
        });
    }
    template <class T, class Read, class Work>
    DBENCH_INLINE void add_squares(Lanes& lanes, int64_t count, const Read& read,
                                   const Work& work) {
        add_up<Square, T>(lanes, count, [&](int64_t begin, int64_t here, T* values) {
            const Elements<T> stage(values);
            for_packs<T>(
                1, here,
                [=](int64_t) DBENCH_INLINE_LAMBDA {
                    return [=](auto c) DBENCH_INLINE_LAMBDA { return read(begin + c); };
                },
                [=](int64_t) DBENCH_INLINE_LAMBDA {
                    return [=](auto c, const auto& taken)
                               DBENCH_INLINE_LAMBDA { stage[c] = work(begin + c, taken); };
                });
        });
    }
    template <class Summand, class T>
    DBENCH_INLINE void add_up_of(Lanes& lanes, int64_t count, const T* values) {
        add_up<Summand, T>(lanes, count, [&](int64_t begin, int64_t here, T* stage) {
            derived().for_each(here, [&](int64_t c) { stage[c] = values[begin + c]; });
        });
    }

    template <class A, class B>
    DBENCH_INLINE void add_products(Lanes& lanes, int64_t count, const A* x, const B* y) {
        add_up<Identity, double>(lanes, count, [&](int64_t begin, int64_t here, double* stage) {
            derived().for_each(here, [&](int64_t c) {
                stage[c] = static_cast<double>(x[begin + c]) * static_cast<double>(y[begin + c]);
            });
        });
    }

    template <class Done>
    DBENCH_INLINE void add_in_order(int64_t count, const double* values, const Done& done) {
        constexpr int64_t kMost = kStage - 1;
        double* const stage = static_cast<double*>(stage_);
        double* const sum = stage + kMost;
        derived().for_each(1, [=](int64_t) { *sum = 0; });
        for (int64_t begin = 0; begin < count; begin += kMost) {
            const int64_t left = count - begin, here = left < kMost ? left : kMost;
            derived().for_each(here, [=](int64_t c) { stage[c] = values[begin + c]; });
            derived().for_each(1, [=](int64_t) {
                double now = *sum;
                for (int64_t c = 0; c < here; ++c) now += stage[c];
                *sum = now;
            });
        }
        derived().for_each(1, [=](int64_t) { done(*sum); });
    }

    /// Each thread sums one part, then goes through its part again with the sum of all earlier
    /// parts.
    template <class Value, class Work>
    DBENCH_INLINE void running_sums(uint64_t before, int64_t count, const Value& value,
                                    const Work& work) {
        // An odd part size, so that the threads read from different banks of the shared memory.
        constexpr int64_t kParts = 30, kPart = 33, kPerPass = kParts * kPart;
        static_assert(kPerPass + kParts + 1 <= kStage);
        uint64_t* const stage = static_cast<uint64_t*>(stage_);
        uint64_t* const sums = stage + kPerPass;  // [kParts + 1]: sums of the earlier parts.
        for (int64_t begin = 0; begin < count; begin += kPerPass) {
            const int64_t left = count - begin, here = left < kPerPass ? left : kPerPass;
            derived().for_each(here, [&](int64_t c) { stage[c] = value(begin + c); });
            derived().for_each(kParts, [&](int64_t part) {
                uint64_t sum = 0;
                for (int64_t c = part * kPart; c < (part + 1) * kPart && c < here; ++c) {
                    // One thread owns the part, so no atomics are needed.
                    const uint64_t one = stage[c];
                    stage[c] = sum;
                    sum += one;
                }
                sums[part] = sum;
            });
            derived().for_each(1, [&](int64_t) {
                uint64_t sum = before;
                for (int64_t part = 0; part < kParts; ++part) {
                    const uint64_t one = sums[part];
                    sums[part] = sum;
                    sum += one;
                }
                sums[kParts] = sum;
            });
            derived().for_each(here,
                               [&](int64_t c) { work(begin + c, sums[c / kPart] + stage[c]); });
            before = sums[kParts];
        }
    }

    template <class T>
    DBENCH_INLINE void prefetch(const T*, int64_t) const {}
    template <class T>
    DBENCH_INLINE void copy_non_temporal(int64_t count, const T* from, T* to) {
        derived().for_each(count, [=](int64_t c) { to[c] = from[c]; });
    }

private:
    DBENCH_INLINE Derived& derived() { return static_cast<Derived&>(*this); }

    /// Number of elements that a thread reads at once.
    template <class T>
    static constexpr int pack_of() {
        return sizeof(T) < 16 ? 16 / sizeof(T) : 1;
    }

    template <int kPack>
    static DBENCH_INLINE PackIndex<kPack> place(int64_t pack) {
        return {static_cast<int>(pack) * kPack};
    }

    /// Adds Summand::of(value) into the lanes. fill(begin, count, values) computes the values with
    /// all threads; then one thread per lane adds them in their order.
    template <class Summand, class V, class Fill>
    DBENCH_INLINE void add_up(Lanes& lanes, int64_t count, const Fill& fill) {
        static_assert(sizeof(V) <= sizeof(double));
        V* const stage = static_cast<V*>(stage_);
        constexpr int64_t kMost = kStage * int64_t{sizeof(double)} / int64_t{sizeof(V)};
        for (int64_t begin = 0; begin < count; begin += kMost) {
            const int64_t left = count - begin, here = left < kMost ? left : kMost;
            fill(begin, here, stage);
            derived().for_each(kLanes, [&](int64_t lane) {
                double sum = lanes.sum[lane];
                for (int64_t c = lane; c < here; c += kLanes) sum += Summand::of(stage[c]);
                lanes.sum[lane] = sum;
            });
        }
    }

    char* scratch_;
    void* stage_;
};

}  // namespace dbench::arena
