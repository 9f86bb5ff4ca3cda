#pragma once
// The kernel bodies of batch normalisation and ReLU (norm_relu.hpp). Each direction has two
// kernels: sums over parts of the pixels, then the main kernel, in which each block adds up these
// sums for its channels. This avoids a third launch between them.

#include <cmath>
#include <utility>

#include "arena/passes/pixels.hpp"

namespace dbench::arena {

/// Returns `of` where `by` > 0 or `by` is NaN, and 0 elsewhere.
template <class T, int kCount>
DBENCH_INLINE Pack<T, kCount> relu_mask(const Pack<T, kCount>& of, const Pack<T, kCount>& by) {
    Pack<T, kCount> out;
    DBENCH_UNROLL
    for (int k = 0; k < kCount; ++k) out.of[k] = by.of[k] <= T{0} ? T{0} : of.of[k];
    return out;
}

/// Sums of deviations from the first pixel, and of their squares. Compared with deviations from the
/// mean, the squares lose more than a digit or two only if the first pixel is far from the mean.
template <class T>
struct NormMoments {
    using Sums = PixelSums<T>;
    using Grid = ImageGrid<T>;
    static constexpr int kMinBlocksPerProcessor = 2;

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
            const typename Sums::ChannelPack from = origin[place];
            return std::pair([=](int m) DBENCH_INLINE_LAMBDA { return values[m * step + place]; },
                             [=](int, const auto& value, auto& pair) DBENCH_INLINE_LAMBDA {
                                 const auto d = value - from;
                                 pair.first += d;
                                 pair.second += d * d;
                             });
        });
    }
};

/// A channel's affine map, (x - mean) scale + shift. `mean` is the rounded mean, and `shift`
/// includes the rounding error of the mean.
template <class T>
struct Line {
    T mean, scale, shift;
    /// Forward and backward both use this computation, so that the ReLU passes the same pixels in
    /// both.
    static DBENCH_INLINE Line of(const T* weight, const T* bias, double mean, double inverse,
                                 int64_t c) {
        const double slope = static_cast<double>(weight[c]) * inverse;
        const T near = static_cast<T>(mean);
        const double rest = mean - static_cast<double>(near);
        return {near, static_cast<T>(slope),
                static_cast<T>(static_cast<double>(bias[c]) - rest * slope)};
    }
};
/// The maps of a pack of channels.
template <class T>
struct Lines {
    using ChannelPack = typename PixelSums<T>::ChannelPack;
    ChannelPack mean, scale, shift;
    DBENCH_INLINE ChannelPack operator()(const ChannelPack& x) const {
        return (x - mean) * scale + shift;
    }
};

template <class T>
struct ScaleRelu {
    using Sums = PixelSums<T>;
    using Grid = ImageGrid<T>;
    using ChannelPack = typename Sums::ChannelPack;
    static constexpr int kMinBlocksPerProcessor = 2;

    Grid grid;
    int64_t parts;  // Number of parts of the sums.
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
        return Sums::totals_scratch_bytes() + ChannelNumbers<T>::scratch_bytes();
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto here = grid.part(index);
        const ChannelNumbers<T> lines(block);
        const ScaleRelu body = *this;
        Sums::totals(block, grid, here, sums, parts,
                     [=](int64_t c, double first, double second) DBENCH_INLINE_LAMBDA {
                         const Line<T> line =
                             body.of_channel(here.channel + c, first, second, here.number == 0);
                         lines.set(c, line.mean, line.scale, line.shift);
                     });
        const int step = static_cast<int>(grid.channels);
        const int64_t begin = here.begin * grid.channels + here.channel;
        const Elements<const T> from(x + begin), more(added ? added + begin : nullptr);
        const Elements<T> to(y + begin);
        with_flag(added != nullptr, [&](auto adds) DBENCH_INLINE_LAMBDA {
            over_pixels<T>(block, here, [=](auto place) DBENCH_INLINE_LAMBDA {
                const Lines<T> of{lines.get(0, place), lines.get(1, place), lines.get(2, place)};
                const auto read = [=](int m) DBENCH_INLINE_LAMBDA {
                    Read both;
                    both.x = from[m * step + place];
                    if constexpr (decltype(adds)::value) both.added = more[m * step + place];
                    return both;
                };
                const auto work = [=](int m, const Read& taken) DBENCH_INLINE_LAMBDA {
                    ChannelPack z = of(taken.x);
                    if constexpr (decltype(adds)::value) z += taken.added;
                    to[m * step + place] = relu_mask(z, z);
                };
                return std::pair(read, work);
            });
        });
    }

private:
    struct Read {
        ChannelPack x, added;
    };
    DBENCH_INLINE Line<T> of_channel(int64_t c, double first, double second, bool tells) const {
        const auto count = static_cast<double>(grid.pixels);
        const double off = first / count;
        const double mean = static_cast<double>(x[c]) + off;
        const double around = second / count - off * off;
        const double variance = around < 0 ? 0 : around;  // A NaN remains a NaN.
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

/// Computes sums of g and of g (x - mean); writes g if something was added.
template <class T>
struct NormGradientSums {
    using Sums = PixelSums<T>;
    using Grid = ImageGrid<T>;
    using ChannelPack = typename Sums::ChannelPack;
    static constexpr int kMinBlocksPerProcessor = 2;

    Grid grid;
    const T* x;
    const T* y;  // Null if nothing was added: then y is computed again from x.
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
                    ChannelPack passed;
                    if constexpr (decltype(added)::value) {
                        passed = relu_mask(taken.gradient, taken.y);
                        to[m * step + place] = passed;
                    } else {
                        passed = relu_mask(taken.gradient, lines(taken.x));
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
        ChannelPack x, gradient, y;
    };
};

/// Computes dx = w s (g - mean(g) - xhat mean(g xhat)) with s = 1 / sqrt(variance + eps) and xhat =
/// s (x - mean).
template <class T>
struct NormInputGradient {
    using Sums = PixelSums<T>;
    using Grid = ImageGrid<T>;
    using ChannelPack = typename Sums::ChannelPack;
    static constexpr int kMinBlocksPerProcessor = 2;

    Grid grid;
    int64_t parts;  // Number of parts of the sums.
    NormGradientSums<T> before;
    T* dx;
    T* dweight;
    T* dbias;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const {
        return Sums::totals_scratch_bytes() + ChannelNumbers<T>::scratch_bytes();
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto here = grid.part(index);
        const ChannelNumbers<T> factors(block);
        const NormInputGradient body = *this;
        const bool tells = here.number == 0;
        Sums::totals(block, grid, here, before.sums, parts,
                     [=](int64_t k, double sum, double product) DBENCH_INLINE_LAMBDA {
                         const int64_t c = here.channel + k;
                         const auto count = static_cast<double>(body.grid.pixels);
                         const double s = body.before.statistics[body.grid.channels + c];
                         const double ws = static_cast<double>(body.before.weight[c]) * s;
                         factors.set(k, static_cast<T>(ws),
                                     static_cast<T>(-ws * s * s * product / count),
                                     static_cast<T>(-ws * sum / count));
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
            over_pixels<T>(block, here, [=](auto place) DBENCH_INLINE_LAMBDA {
                const auto lines = body.before.lines(here.channel + place.first);
                const ChannelPack of_g = factors.get(0, place), of_x = factors.get(1, place),
                                  rest = factors.get(2, place);
                const auto read = [=](int m) DBENCH_INLINE_LAMBDA {
                    return Read{values[m * step + place], outer[m * step + place]};
                };
                const auto work = [=](int m, const Read& taken) DBENCH_INLINE_LAMBDA {
                    ChannelPack passed = taken.gradient;
                    if constexpr (!decltype(done)::value) {
                        passed = relu_mask(passed, lines(taken.x));
                    }
                    to[m * step + place] = of_g * passed + of_x * (taken.x - lines.mean) + rest;
                };
                return std::pair(read, work);
            });
        });
    }

private:
    struct Read {
        ChannelPack x, gradient;
    };
};

}  // namespace dbench::arena
