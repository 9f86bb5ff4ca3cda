#pragma once  // Private to arena/passes.
// The grid and loops of kernels over images with channels last. A block processes some channels of
// a part of the pixels. Its threads form lanes: each thread works on one pack of channels and on
// every n-th pixel.

#include <algorithm>
#include <utility>

#include "arena/grid/block.hpp"
#include "arena/passes/norm_relu.hpp"

namespace dbench::arena {

/// The grid: how images are divided into blocks.
template <class T>
struct ImageGrid {
    static constexpr int kPack = 16 / sizeof(T);
    static constexpr int64_t kWidth = 32;  // Channels per block: at least one cache line.

    int64_t pixels, channels;
    int64_t parts;  // Number of parts of the pixels.

    /// Divides images into parts of about `numbers` elements per block, with at most `blocks`
    /// blocks unless there are more slices of channels.
    static constexpr ImageGrid of(const Images& images, int64_t numbers, int64_t blocks) {
        const int64_t width = images.channels < kWidth ? images.channels : kWidth;
        const int64_t slices = (images.channels + kWidth - 1) / kWidth;
        const int64_t wanted = (images.pixels * width + numbers - 1) / numbers;
        return {images.pixels, images.channels,
                std::clamp(wanted, int64_t{1}, std::max(blocks / slices, int64_t{1}))};
    }
    /// The grid of the kernels that make sums. It has few parts, because each block of the kernel
    /// that adds them up reads the sums of all parts.
    static constexpr ImageGrid of_sums(const Images& images) { return of(images, 8192, 128); }
    /// The grid of the main kernels.
    static constexpr ImageGrid of_pass(const Images& images) { return of(images, 4096, 264); }

    constexpr int64_t slices() const { return (channels + kWidth - 1) / kWidth; }
    constexpr int64_t blocks() const { return slices() * parts; }

    struct Part {
        int64_t number;
        int channel, width, places;  ///< First channel, number of channels, and number of packs of
                                     ///< channels.
        int64_t begin;               ///< First pixel.
        int pixels, lanes;
    };
    constexpr Part part(int64_t index) const {
        const int64_t number = index / slices(), channel = index % slices() * kWidth;
        const int64_t left = channels - channel;
        const int width = static_cast<int>(left < kWidth ? left : kWidth);
        const int64_t begin = number * pixels / parts, end = (number + 1) * pixels / parts;
        return {number,
                static_cast<int>(channel),
                width,
                width / kPack,
                begin,
                static_cast<int>(end - begin),
                kThreads / (width / kPack)};
    }
};

/// Calls work(m, read(m)) for every step-th m from `first` on, in order. kAhead reads are pending
/// at a time.
template <int kAhead, class Read, class Work>
DBENCH_INLINE void pipelined_loop(int first, int end, int step, const Read& read,
                                  const Work& work) {
    int m = first;
    for (; m + (kAhead - 1) * step < end; m += kAhead * step) {
        decltype(read(0)) values[kAhead];
        DBENCH_UNROLL
        for (int k = 0; k < kAhead; ++k) values[k] = read(m + k * step);
        DBENCH_UNROLL
        for (int k = 0; k < kAhead; ++k) work(m + k * step, values[k]);
    }
    for (; m < end; m += step) work(m, read(m));
}

/// Processes all pixels of a part of an image by the block's lanes. of_lane(place) returns a lane's
/// functions read(pixel) and work(pixel, result of read).
template <class T, class Block, class OfLane>
DBENCH_INLINE void over_pixels(Block& block, const typename ImageGrid<T>::Part& here,
                               const OfLane& of_lane) {
    constexpr int kPack = ImageGrid<T>::kPack;
    block.for_threads(here.lanes * here.places, [=](int64_t k) DBENCH_INLINE_LAMBDA {
        const int n = static_cast<int>(k);
        const auto [read, work] = of_lane(PackIndex<kPack>{n % here.places * kPack});
        pipelined_loop<4>(n / here.places, here.pixels, here.lanes, read, work);
    });
}

/// Three numbers for each channel of a block, in scratch memory.
template <class T>
class ChannelNumbers {
public:
    static constexpr int64_t scratch_bytes() { return scratch_for<T>(3 * kWidth); }
    template <class Block>
    explicit DBENCH_INLINE ChannelNumbers(Block& block)
        : values_(block.template scratch<T>(3 * kWidth)) {}

    DBENCH_INLINE void set(int64_t c, T first, T second, T third) const {
        values_[c] = first;
        values_[kWidth + c] = second;
        values_[2 * kWidth + c] = third;
    }
    template <class Place>
    DBENCH_INLINE auto get(int which, Place place) const {
        return Elements<const T>(values_ + which * kWidth)[place];
    }

private:
    static constexpr int64_t kWidth = ImageGrid<T>::kWidth;
    T* values_;
};

/// Two sums over pixels for each channel: sums[parts, 2, channels].
template <class T>
struct PixelSums {
    using Grid = ImageGrid<T>;
    using Place = PackIndex<Grid::kPack>;
    using ChannelPack = Pack<T, Grid::kPack>;
    static constexpr int kShares = 8;  // Parts of the lanes that are added up concurrently.

    struct Pair {
        ChannelPack first = T{0}, second = T{0};
    };

    static constexpr int64_t scratch_bytes() {
        return 2 * scratch_for<T>(kThreads * Grid::kPack) +
               scratch_for<double>(2 * kShares * Grid::kWidth);
    }

    /// Adds up the pixels of a part. of_lane(place) returns a lane's functions read(pixel) and
    /// work(pixel, result of read, pair).
    template <int kAhead, class Block, class OfLane>
    static DBENCH_INLINE void add_up(Block& block, const Grid& grid,
                                     const typename Grid::Part& here, double* sums,
                                     const OfLane& of_lane) {
        // The arrays hold the channels of one lane after another.
        T* const first = block.template scratch<T>(kThreads * Grid::kPack);
        T* const second = block.template scratch<T>(kThreads * Grid::kPack);
        double* const shares = block.template scratch<double>(2 * kShares * Grid::kWidth);
        const Elements<T> firsts(first), seconds(second);
        block.for_threads(here.lanes * here.places, [=](int64_t k) DBENCH_INLINE_LAMBDA {
            const int n = static_cast<int>(k), lane = n / here.places, place = n % here.places;
            const auto [read, work] = of_lane(Place{place * Grid::kPack});
            Pair pair;
            pipelined_loop<kAhead>(lane, here.pixels, here.lanes, read,
                                   [&](int m, const auto& taken)
                                       DBENCH_INLINE_LAMBDA { work(m, taken, pair); });
            firsts[Place{n * Grid::kPack}] = pair.first;
            seconds[Place{n * Grid::kPack}] = pair.second;
        });
        const int width = here.width, lanes = here.lanes;
        block.for_threads(kShares * width, [=](int64_t k) DBENCH_INLINE_LAMBDA {
            const int n = static_cast<int>(k), c = n % width;
            double sum[2] = {0, 0};
            for (int lane = n / width; lane < lanes; lane += kShares) {
                sum[0] += static_cast<double>(first[lane * width + c]);
                sum[1] += static_cast<double>(second[lane * width + c]);
            }
            shares[n] = sum[0];
            shares[kShares * width + n] = sum[1];
        });
        double* const to = sums + here.number * 2 * grid.channels + here.channel;
        const int64_t apart = grid.channels;
        of_shares(block, width, shares, [=](int64_t c, double a, double b) DBENCH_INLINE_LAMBDA {
            to[c] = a;
            to[apart + c] = b;
        });
    }

    static constexpr int64_t totals_scratch_bytes() {
        return scratch_for<double>(2 * kShares * Grid::kWidth);
    }
    /// Calls work(c, first, second) with the sums of all `parts` for the channels of `here`.
    template <class Block, class Work>
    static DBENCH_INLINE void totals(Block& block, const Grid& grid,
                                     const typename Grid::Part& here, const double* sums,
                                     int64_t parts, const Work& work) {
        double* const shares = block.template scratch<double>(2 * kShares * Grid::kWidth);
        const int width = here.width, all = static_cast<int>(parts);
        const double* const from = sums + here.channel;
        const int64_t apart = grid.channels;
        block.for_threads(kShares * width, [=](int64_t k) DBENCH_INLINE_LAMBDA {
            const int n = static_cast<int>(k);
            const double* const each = from + n % width;
            double sum[2] = {0, 0};
            pipelined_loop<4>(
                n / width, all, kShares,
                [=](int part) DBENCH_INLINE_LAMBDA {
                    const double* const at = each + part * 2 * apart;
                    return Two{at[0], at[apart]};
                },
                [&](int, const Two& both) DBENCH_INLINE_LAMBDA {
                    sum[0] += both.first;
                    sum[1] += both.second;
                });
            shares[n] = sum[0];
            shares[kShares * width + n] = sum[1];
        });
        of_shares(block, width, shares, work);
    }

private:
    struct Two {
        double first, second;
    };
    /// Calls work(c, first, second) for each channel with the totals of shares[2, kShares, width].
    template <class Block, class Work>
    static DBENCH_INLINE void of_shares(Block& block, int width, const double* shares,
                                        const Work& work) {
        block.for_threads(width, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            double sum[2] = {0, 0};
            for (int share = 0; share < kShares; ++share) {
                sum[0] += shares[share * width + c];
                sum[1] += shares[(kShares + share) * width + c];
            }
            work(c, sum[0], sum[1]);
        });
    }
};

}  // namespace dbench::arena
