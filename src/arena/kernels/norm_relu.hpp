#pragma once
// Batch normalisation and ReLU (norm_relu.hpp of this room): in each direction sums over parts of
// the pixels, then a pass whose blocks add those up, each for its channels, rather than have a
// launch between that does. A block has some channels of a part of the pixels. It goes along them
// in lanes: each has one place of channels and every n-th pixel.

#include <algorithm>
#include <cmath>

#include "arena/kernels/block.hpp"
#include "arena/norm_relu.hpp"

namespace dbench::arena {

/// How images are cut into blocks.
template <class T>
struct ImageGrid {
    static constexpr int kPack = 16 / sizeof(T);
    static constexpr int64_t kWidth = 32;  // channels of a block: a line of memory and more

    int64_t pixels, channels;
    int64_t parts;  // of the pixels

    /// Parts of about `numbers` in each block, of blocks at most `blocks` unless there are more
    /// slices of channels.
    static constexpr ImageGrid of(const Images& images, int64_t numbers, int64_t blocks) {
        const int64_t width = images.channels < kWidth ? images.channels : kWidth;
        const int64_t slices = (images.channels + kWidth - 1) / kWidth;
        const int64_t wanted = (images.pixels * width + numbers - 1) / numbers;
        return {images.pixels, images.channels,
                std::clamp(wanted, int64_t{1}, std::max(blocks / slices, int64_t{1}))};
    }
    /// Of the sums; each block of the pass that adds them up reads those of all parts.
    static constexpr ImageGrid of_sums(const Images& images) { return of(images, 8192, 128); }
    static constexpr ImageGrid of_pass(const Images& images) { return of(images, 4096, 264); }

    constexpr int64_t slices() const { return (channels + kWidth - 1) / kWidth; }
    constexpr int64_t blocks() const { return slices() * parts; }

    struct Part {
        int64_t number;
        int channel, width, places;  ///< the first of its channels, how many, and places of them
        int64_t begin;               ///< the first pixel
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

/// work(m, read(m)) for every step-th m from `first` on, in order; so many reads are on their way
/// at once.
template <int kAhead, class Read, class Work>
DBENCH_INLINE void along(int first, int end, int step, const Read& read, const Work& work) {
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

/// 0 where `by` is at most 0, else `of`: also where `by` is no number.
template <class T, int kCount>
DBENCH_INLINE Pack<T, kCount> let_through(const Pack<T, kCount>& of, const Pack<T, kCount>& by) {
    Pack<T, kCount> out;
    DBENCH_UNROLL
    for (int k = 0; k < kCount; ++k) out.of[k] = by.of[k] <= T{0} ? T{0} : of.of[k];
    return out;
}

/// Two sums over pixels for each channel: sums[parts, 2, channels].
template <class T>
struct PixelSums {
    using Grid = ImageGrid<T>;
    using Place = PlaceOf<Grid::kPack>;
    using Several = Pack<T, Grid::kPack>;
    static constexpr int kShares = 8;  // of the lanes, which are added up side by side

    struct Pair {
        Several first = T{0}, second = T{0};
    };

    static constexpr int64_t scratch_bytes() {
        return 2 * scratch_for<T>(kThreads * Grid::kPack) +
               scratch_for<double>(2 * kShares * Grid::kWidth);
    }

    /// of_lane(place) makes a lane's functions: read(pixel) and work(pixel, what that read, pair).
    template <int kAhead, class Block, class OfLane>
    static DBENCH_INLINE void add_up(Block& block, const Grid& grid,
                                     const typename Grid::Part& here, double* sums,
                                     const OfLane& of_lane) {
        // One lane after another, each its channels.
        T* const first = block.template scratch<T>(kThreads * Grid::kPack);
        T* const second = block.template scratch<T>(kThreads * Grid::kPack);
        double* const shares = block.template scratch<double>(2 * kShares * Grid::kWidth);
        const Elements<T> firsts(first), seconds(second);
        block.for_threads(here.lanes * here.places, [=](int64_t k) DBENCH_INLINE_LAMBDA {
            const int n = static_cast<int>(k), lane = n / here.places, place = n % here.places;
            const auto [read, work] = of_lane(Place{place * Grid::kPack});
            Pair pair;
            along<kAhead>(lane, here.pixels, here.lanes, read,
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
    /// The sums of all `parts` for the channels of `here`: work(c, first, second).
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
            along<4>(
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
    /// work(c, first, second) of channels whose sums lie in [2, kShares, width].
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

/// Sums of deviations and their squares. They are taken from the first pixel: squares lose a digit
/// or two more than those from the mean would only where it lies far off.
template <class T>
struct NormMoments {
    using Sums = PixelSums<T>;
    using Grid = ImageGrid<T>;
    static constexpr int kBlocksAtOnce = 2;

    Grid grid;
    const T* x;
    double* sums;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return Sums::scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto here = grid.part(index);
        const int step = static_cast<int>(grid.channels);
        const Elements<const T> origin(x + here.channel);
        const Elements<const T> values(x + here.begin * grid.channels + here.channel);
        Sums::template add_up<8>(block, grid, here, sums, [=](auto place) DBENCH_INLINE_LAMBDA {
            const typename Sums::Several from = origin[place];
            return std::pair([=](int m) DBENCH_INLINE_LAMBDA { return values[m * step + place]; },
                             [=](int, const auto& value, auto& pair) DBENCH_INLINE_LAMBDA {
                                 const auto d = value - from;
                                 pair.first += d;
                                 pair.second += d * d;
                             });
        });
    }
};

/// What becomes of a channel's values: (x - mean) scale + shift, where the mean is the nearest
/// number and the shift has what that leaves.
template <class T>
struct Line {
    T mean, scale, shift;
    /// As forward and backward compute it, so that both find the same pixels let through.
    static DBENCH_INLINE Line of(const T* weight, const T* bias, double mean, double inverse,
                                 int64_t c) {
        const double slope = static_cast<double>(weight[c]) * inverse;
        const T near = static_cast<T>(mean);
        const double rest = mean - static_cast<double>(near);
        return {near, static_cast<T>(slope),
                static_cast<T>(static_cast<double>(bias[c]) - rest * slope)};
    }
};
/// Those of channels side by side.
template <class T>
struct Lines {
    using Several = typename PixelSums<T>::Several;
    Several mean, scale, shift;
    DBENCH_INLINE Several operator()(const Several& x) const { return (x - mean) * scale + shift; }
};

template <class T>
struct ScaleRelu {
    using Sums = PixelSums<T>;
    using Grid = ImageGrid<T>;
    using Several = typename Sums::Several;
    static constexpr int kBlocksAtOnce = 2;

    Grid grid;
    int64_t parts;  // of the sums
    const T* x;
    const T* added;
    const T* weight;
    const T* bias;
    double momentum, eps;
    const double* sums;
    T* running_mean;
    T* running_variance;
    T* y;
    double* statistics;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const {
        return Sums::totals_scratch_bytes() + 3 * scratch_for<T>(Grid::kWidth);
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto here = grid.part(index);
        T* const mean = block.template scratch<T>(Grid::kWidth);
        T* const scale = block.template scratch<T>(Grid::kWidth);
        T* const shift = block.template scratch<T>(Grid::kWidth);
        const ScaleRelu body = *this;
        Sums::totals(block, grid, here, sums, parts,
                     [=](int64_t c, double first, double second) DBENCH_INLINE_LAMBDA {
                         const Line<T> line =
                             body.of_channel(here.channel + c, first, second, here.number == 0);
                         mean[c] = line.mean;
                         scale[c] = line.scale;
                         shift[c] = line.shift;
                     });
        const int step = static_cast<int>(grid.channels);
        const int64_t begin = here.begin * grid.channels + here.channel;
        const Elements<const T> from(x + begin), more(added ? added + begin : nullptr);
        const Elements<T> to(y + begin);
        with_flag(added != nullptr, [&](auto adds) DBENCH_INLINE_LAMBDA {
            block.for_threads(here.lanes * here.places, [=](int64_t k) DBENCH_INLINE_LAMBDA {
                const int n = static_cast<int>(k), lane = n / here.places;
                const typename Sums::Place place{n % here.places * Grid::kPack};
                const Lines<T> lines{Elements<const T>(mean)[place],
                                     Elements<const T>(scale)[place],
                                     Elements<const T>(shift)[place]};
                const auto read = [=](int m) DBENCH_INLINE_LAMBDA {
                    Read both;
                    both.x = from[m * step + place];
                    if constexpr (decltype(adds)::value) both.added = more[m * step + place];
                    return both;
                };
                along<4>(lane, here.pixels, here.lanes, read,
                         [=](int m, const Read& taken) DBENCH_INLINE_LAMBDA {
                             Several z = lines(taken.x);
                             if constexpr (decltype(adds)::value) z += taken.added;
                             to[m * step + place] = let_through(z, z);
                         });
            });
        });
    }

private:
    struct Read {
        Several x, added;
    };
    DBENCH_INLINE Line<T> of_channel(int64_t c, double first, double second, bool tells) const {
        const auto count = static_cast<double>(grid.pixels);
        const double off = first / count;
        const double mean = static_cast<double>(x[c]) + off;
        const double around = second / count - off * off;
        const double variance = around < 0 ? 0 : around;  // NaN stays
        const double inverse = 1 / std::sqrt(variance + eps);
        if (tells) {
            const auto move = [this](T& running, double now) DBENCH_INLINE_LAMBDA {
                running =
                    static_cast<T>((1 - momentum) * static_cast<double>(running) + momentum * now);
            };
            move(running_mean[c], mean);
            move(running_variance[c], variance * count / (count > 1 ? count - 1 : 1));
            statistics[c] = mean;
            statistics[grid.channels + c] = inverse;
        }
        return Line<T>::of(weight, bias, mean, inverse, c);
    }
};

/// Sums of g and of g (x - mean); writes g where something was added.
template <class T>
struct NormGradientSums {
    using Sums = PixelSums<T>;
    using Grid = ImageGrid<T>;
    using Several = typename Sums::Several;
    static constexpr int kBlocksAtOnce = 2;

    Grid grid;
    const T* x;
    const T* y;  // null: as forward computes it
    const T* gradient;
    const T* weight;
    const T* bias;
    const double* statistics;
    T* g;
    double* sums;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return Sums::scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto here = grid.part(index);
        const int step = static_cast<int>(grid.channels);
        const int64_t begin = here.begin * grid.channels + here.channel;
        const Elements<const T> values(x + begin), outer(gradient + begin),
            reached(y ? y + begin : nullptr);
        const Elements<T> to(g ? g + begin : nullptr);
        const NormGradientSums body = *this;
        with_flag(y != nullptr, [&](auto added) DBENCH_INLINE_LAMBDA {
            Sums::template add_up<4>(block, grid, here, sums, [=](auto place) DBENCH_INLINE_LAMBDA {
                const auto lines = body.lines(here.channel + place.first);
                const auto read = [=](int m) DBENCH_INLINE_LAMBDA {
                    Read all;
                    all.x = values[m * step + place];
                    all.gradient = outer[m * step + place];
                    if constexpr (decltype(added)::value) all.y = reached[m * step + place];
                    return all;
                };
                const auto work = [=](int m, const Read& taken, auto& pair) DBENCH_INLINE_LAMBDA {
                    Several passed;
                    if constexpr (decltype(added)::value) {
                        passed = let_through(taken.gradient, taken.y);
                        to[m * step + place] = passed;
                    } else {
                        passed = let_through(taken.gradient, lines(taken.x));
                    }
                    pair.first += passed;
                    pair.second += passed * (taken.x - lines.mean);
                };
                return std::pair(read, work);
            });
        });
    }

    DBENCH_INLINE Lines<T> lines(int channel) const {
        Lines<T> all;
        DBENCH_UNROLL
        for (int k = 0; k < Grid::kPack; ++k) {
            const int64_t c = channel + k;
            const Line<T> line =
                Line<T>::of(weight, bias, statistics[c], statistics[grid.channels + c], c);
            all.mean.of[k] = line.mean;
            all.scale.of[k] = line.scale;
            all.shift.of[k] = line.shift;
        }
        return all;
    }

private:
    struct Read {
        Several x, gradient, y;
    };
};

/// dx = w s (g - mean(g) - xhat mean(g xhat)) with s = 1 / sqrt(variance + eps) and xhat = s (x -
/// mean).
template <class T>
struct NormInputGradient {
    using Sums = PixelSums<T>;
    using Grid = ImageGrid<T>;
    using Several = typename Sums::Several;
    static constexpr int kBlocksAtOnce = 2;

    Grid grid;
    int64_t parts;  // of the sums
    NormGradientSums<T> before;
    T* dx;
    T* dweight;
    T* dbias;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const {
        return Sums::totals_scratch_bytes() + 3 * scratch_for<T>(Grid::kWidth);
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto here = grid.part(index);
        T* const slope = block.template scratch<T>(Grid::kWidth);
        T* const curve = block.template scratch<T>(Grid::kWidth);
        T* const level = block.template scratch<T>(Grid::kWidth);
        const NormInputGradient body = *this;
        const bool tells = here.number == 0;
        Sums::totals(block, grid, here, before.sums, parts,
                     [=](int64_t k, double sum, double product) DBENCH_INLINE_LAMBDA {
                         const int64_t c = here.channel + k;
                         const auto count = static_cast<double>(body.grid.pixels);
                         const double s = body.before.statistics[body.grid.channels + c];
                         const double ws = static_cast<double>(body.before.weight[c]) * s;
                         slope[k] = static_cast<T>(ws);
                         curve[k] = static_cast<T>(-ws * s * s * product / count);
                         level[k] = static_cast<T>(-ws * sum / count);
                         if (!tells) return;
                         body.dweight[c] = static_cast<T>(product * s);
                         body.dbias[c] = static_cast<T>(sum);
                     });
        const int step = static_cast<int>(grid.channels);
        const int64_t begin = here.begin * grid.channels + here.channel;
        const bool masked = before.g != nullptr;
        const Elements<const T> values(before.x + begin),
            outer((masked ? before.g : before.gradient) + begin);
        const Elements<T> to(dx + begin);
        with_flag(masked, [&](auto done) DBENCH_INLINE_LAMBDA {
            block.for_threads(here.lanes * here.places, [=](int64_t k) DBENCH_INLINE_LAMBDA {
                const int n = static_cast<int>(k), lane = n / here.places;
                const typename Sums::Place place{n % here.places * Grid::kPack};
                const auto lines = body.before.lines(here.channel + place.first);
                const Several of_g = Elements<const T>(slope)[place],
                              of_x = Elements<const T>(curve)[place],
                              rest = Elements<const T>(level)[place];
                const auto read = [=](int m) DBENCH_INLINE_LAMBDA {
                    return Read{values[m * step + place], outer[m * step + place]};
                };
                along<4>(lane, here.pixels, here.lanes, read,
                         [=](int m, const Read& taken) DBENCH_INLINE_LAMBDA {
                             Several passed = taken.gradient;
                             if constexpr (!decltype(done)::value) {
                                 passed = let_through(passed, lines(taken.x));
                             }
                             to[m * step + place] =
                                 of_g * passed + of_x * (taken.x - lines.mean) + rest;
                         });
            });
        });
    }

private:
    struct Read {
        Several x, gradient;
    };
};

}  // namespace dbench::arena
