#pragma once
// How a kernel of this room is written: once, for the host, for a device, and for the emulation of
// one. A body is what one block of its grid does: a sequence of loops, each of whose iterations is
// independent of the others. All threads of a block wait for each other at the end of a loop;
// blocks run in any order. A body has
//
//     int64_t blocks() const;         how many blocks its grid has
//     int64_t scratch_bytes() const;  what one block needs of them
//     void operator()(Block&, int64_t index) const;
//
// and a block, of whichever kind, has
//
//     for_each(count, work)             work(c) for c in [0, count), in any order
//     for_threads(count, work)          the same of long work: a thread each, so kThreads at most
//     for_groups<k>(groups, work)       work(g, j) for g in [0, groups), j in [0, k), too
//     for_rows(rows, count, work)       work(i)(c) for i in [0, rows), too
//     for_packs<T>(rows, count, work)   the same where c may be several elements T (pack.hpp)
//     for_packs<T>(rows, count, read, work)   work(i)(c, read(i)(c)); some reads, which may come
//                                       twice, are ahead of the work
//     add_squares(lanes, count, value)  value(c)^2 into its lane (lanes.hpp), each value taken once
//     add_squares<T>(lanes, count, read, work)    work(c, read(c))^2 likewise, c as of for_packs
//     add_up_of<Summand>(lanes, count, x)   Summand::of of an array's elements into theirs
//     add_products(lanes, count, x, y)  x[c] y[c], in float64
//     scratch<V>(count)                 uninitialised memory of this block, 64-byte aligned
//     prefetch(data, count)             data that the next block will read
//     copy_past_caches(count, from, to)
//
// and where a device alone runs it (launch_on),
//
//     add(to, value)                          inside loops: a whole number to one of the block's
//     running_sums(before, count, value, work)    work(c, before + values of those before c)
//
// kManyThreads says which it is: many threads, for which few long loops are better than many short
// ones, or one. Memory is written inside loops only; between them stands what all threads compute
// alike.

#include <algorithm>
#include <type_traits>

#include "arena/grid/lanes.hpp"
#include "arena/grid/pack.hpp"

namespace dbench::arena {

/// Bytes of `count` values in a block's scratch.
template <class V>
constexpr int64_t scratch_for(int64_t count) {
    return (count * static_cast<int64_t>(sizeof(V)) + 63) / 64 * 64;
}

/// Calls work(std::true_type{}) or work(std::false_type{}): a flag that an inner loop need not
/// test.
template <class Work>
DBENCH_INLINE void with_flag(bool flag, const Work& work) {
    if (flag) {
        work(std::true_type{});
    } else {
        work(std::false_type{});
    }
}

inline constexpr int kThreads = 256;  ///< of a device's block

/// Scratch that a block may have on every device that kernels are built for (a processor of compute
/// capability 8.0 gives 163 KiB, less the stage below).
inline constexpr int64_t kMostScratch = 152 * 1024;

/// What blocks of many threads have in common. Derived has for_each and both for_rows, of which
/// the second is to for_packs(rows, count, read, work) as the first is to the other.
template <class Derived>
class ThreadedBlock {
public:
    static constexpr bool kManyThreads = true;
    static constexpr int64_t kStage = 1024;  ///< float64 values that wait for their lanes
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

    /// In packs as far as they go, then element by element.
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
        add_up<Itself, double>(lanes, count, [&](int64_t begin, int64_t here, double* stage) {
            derived().for_each(here, [&](int64_t c) {
                stage[c] = static_cast<double>(x[begin + c]) * static_cast<double>(y[begin + c]);
            });
        });
    }

    /// Threads sum up a part each, then go through it again, knowing what is before it.
    template <class Value, class Work>
    DBENCH_INLINE void running_sums(uint64_t before, int64_t count, const Value& value,
                                    const Work& work) {
        // Parts of an odd size, so that their threads read from different banks of the memory.
        constexpr int64_t kParts = 30, kPart = 33, kTogether = kParts * kPart;
        static_assert(kTogether + kParts + 1 <= kStage);
        uint64_t* const stage = static_cast<uint64_t*>(stage_);
        uint64_t* const sums = stage + kTogether;  // [kParts + 1], of the parts before
        for (int64_t begin = 0; begin < count; begin += kTogether) {
            const int64_t left = count - begin, here = left < kTogether ? left : kTogether;
            derived().for_each(here, [&](int64_t c) { stage[c] = value(begin + c); });
            derived().for_each(kParts, [&](int64_t part) {
                uint64_t sum = 0;
                for (int64_t c = part * kPart; c < (part + 1) * kPart && c < here; ++c) {
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
    DBENCH_INLINE void copy_past_caches(int64_t count, const T* from, T* to) {
        derived().for_each(count, [=](int64_t c) { to[c] = from[c]; });
    }

private:
    DBENCH_INLINE Derived& derived() { return static_cast<Derived&>(*this); }

    /// Elements that a thread reads at once.
    template <class T>
    static constexpr int pack_of() {
        return sizeof(T) < 16 ? 16 / sizeof(T) : 1;
    }

    template <int kPack>
    static DBENCH_INLINE PlaceOf<kPack> place(int64_t pack) {
        return {static_cast<int>(pack) * kPack};
    }

    /// fill(begin, count, values) has the threads compute values; a thread for each lane adds them
    /// in their order.
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
