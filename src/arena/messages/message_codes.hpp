#pragma once  // Private to arena/messages.
// The codes of elements in messages of few bits: how each form (message_parts.hpp) encodes a
// number, and the value of a code.

#include <cmath>
#include <cstring>

#include "arena/grid/block.hpp"
#include "arena/messages/half_forms.hpp"
#include "arena/messages/message_parts.hpp"

namespace dbench::arena {

// Parts may begin at any byte, so numbers in messages are not aligned.

template <class T>
DBENCH_INLINE T load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}
template <class T>
DBENCH_INLINE void store(char* to, T value) {
    std::memcpy(to, &value, sizeof(T));
}

// The encoders of the forms. If Word is not void, a code is a whole word of memory. Otherwise a
// code has bits() bits, which value() receives. `step` is the factor times the number at the start
// of the part.

template <class T>
struct WholeCodes {
    using Word = T;
    static constexpr bool kDraws = false;
    DBENCH_INLINE T code(T x, double) const { return x; }
    DBENCH_INLINE T value(T word, T factor) const { return factor * word; }
};

template <class Form, class T, bool kStochastic>
struct HalfCodes {
    using Word = uint16_t;
    static constexpr bool kDraws = kStochastic;

    DBENCH_INLINE uint16_t code(T v, double u) const {
        const uint16_t nearest = Form::encode(static_cast<float>(v));
        if constexpr (!kStochastic) return nearest;
        // Chooses between the nearest word and the word on the other side of v. If v equals the
        // nearest word, or one of these values is not finite, the nearest word is chosen.
        const double x = static_cast<double>(v), q = Form::decode(nearest);
        const uint32_t smallest = x < 0 ? 0x8001 : 0x0001;
        const uint32_t away = (nearest & 0x7fff) == 0 ? smallest : nearest + 1u;
        const uint32_t other = (std::abs(q) > std::abs(x) ? nearest - 1u : away) & 0xffff;
        const double step = static_cast<double>(Form::decode(static_cast<uint16_t>(other))) - q;
        return static_cast<uint16_t>(u < (x - q) / step ? other : nearest);
    }
    DBENCH_INLINE T value(uint16_t word, T factor) const {
        return factor * static_cast<T>(Form::decode(word));
    }
};

template <class T>
struct SignCodes {
    using Word = void;
    using Load = uint8_t;  // A type that contains all bits of a code, whichever bit of a byte it
                           // begins at.
    static constexpr bool kDraws = false;
    static constexpr int bits() { return 1; }
    DBENCH_INLINE uint32_t code(T x, double) const { return x < 0 ? 1 : 0; }
    DBENCH_INLINE T value(uint32_t code, T step) const { return code ? -step : step; }
};

template <class T>
struct LevelCodes {
    using Word = void;
    using Load = uint32_t;
    static constexpr bool kDraws = true;

    int magnitude;  // Number of bits of the magnitude.
    double scale;   // Number of levels divided by the norm.

    DBENCH_INLINE int bits() const { return magnitude + 1; }
    DBENCH_INLINE uint32_t code(T x, double u) const {
        const double most = static_cast<double>((int32_t{1} << magnitude) - 1);
        const double level = std::abs(static_cast<double>(x)) * scale + u;
        const double some = level > 0 ? level : 0;  // 0 also if the level is NaN.
        const auto xi = static_cast<int32_t>(some < most ? some : most);
        return static_cast<uint32_t>(xi) | (x < 0 ? 1u << magnitude : 0u);
    }
    DBENCH_INLINE T value(uint32_t code, T step) const {
        const uint32_t sign = 1u << magnitude;
        const T size = step * static_cast<T>(static_cast<int32_t>(code & (sign - 1)));
        return code & sign ? -size : size;
    }
};

/// Returns the largest whole number <= z without a branch or a conversion. The result is undefined
/// for |z| > 2^51.
DBENCH_INLINE double whole_below(double z) {
    constexpr double kWhole = 6755399441055744.0;  // 1.5 2^52: a sum with this number is rounded to
                                                   // a whole number.
    const double near = (z + kWhole) - kWhole;
    return near - (near > z ? 1.0 : 0.0);
}

/// Encodes residues in units of the modulus B.
template <class T>
struct ResidueCodes {
    using Word = void;
    using Load = uint32_t;
    static constexpr bool kDraws = true;

    int width;
    double modulus;

    DBENCH_INLINE int bits() const { return width; }
    DBENCH_INLINE double levels() const { return static_cast<double>((int32_t{1} << width) - 1); }
    DBENCH_INLINE double delta() const { return 1 / levels(); }
    /// Returns y mod 1 in [-1/2, 1/2).
    static DBENCH_INLINE double wrapped(double y) { return y - whole_below(y + 0.5); }
    DBENCH_INLINE uint32_t code(T x, double u) const {
        const double most = levels();
        const double level = (wrapped(static_cast<double>(x) / modulus) + 0.5) * most + u;
        const double some = level > 0 ? level : 0;  // 0 also if the level is NaN.
        return static_cast<uint32_t>(static_cast<int32_t>(some < most ? some : most));
    }
    DBENCH_INLINE double value(uint32_t code) const {
        return static_cast<double>(static_cast<int32_t>(code)) * delta() - 0.5;
    }
    /// Returns true if an element whose level is `ahead` is certainly more than theta away.
    DBENCH_INLINE bool too_far(double ahead, double u) const {
        const double least = ahead - u * delta(), beyond = least - whole_below(least);
        return (beyond >= 0.5 - delta()) & (beyond <= 0.5);
    }
};

/// Calls work(codes) with the encoder of a form, for a part with this number.
template <class T, class Work>
DBENCH_INLINE void with_codes(Whole, double, const Work& work) {
    work(WholeCodes<T>{});
}
template <class T, class Work>
DBENCH_INLINE void with_codes(Halves form, double, const Work& work) {
    with_flag(form.stochastic, [&](auto stochastic) DBENCH_INLINE_LAMBDA {
        if (form.form == ElementCodec::bfloat16) {
            work(HalfCodes<Bfloat16, T, decltype(stochastic)::value>{});
        } else {
            work(HalfCodes<Float16, T, decltype(stochastic)::value>{});
        }
    });
}
template <class T, class Work>
DBENCH_INLINE void with_codes(Signs, double, const Work& work) {
    work(SignCodes<T>{});
}
template <class T, class Work>
DBENCH_INLINE void with_codes(Levels form, double norm, const Work& work) {
    const double levels = static_cast<double>((int32_t{1} << form.bits) - 1);
    work(LevelCodes<T>{form.bits, norm > 0 ? levels / norm : 0});
}
template <class T, class Work>
DBENCH_INLINE void with_codes(Residues form, double, const Work& work) {
    work(ResidueCodes<T>{form.bits, form.modulus});
}

/// Returns the factor of a code's value: `factor` times the number at the start of the part.
template <class T>
DBENCH_INLINE T step_of(Whole, const char*, int64_t, T factor) {
    return factor;
}
template <class T>
DBENCH_INLINE T step_of(Halves, const char*, int64_t, T factor) {
    return factor;
}
template <class T>
DBENCH_INLINE T step_of(Signs, const char* part, int64_t, T factor) {
    return factor * load<T>(part);
}
/// Includes the norm per level, and the factor that makes Q a contraction (Koloskova et al. 2019).
template <class T>
DBENCH_INLINE T step_of(Levels form, const char* part, int64_t count, T factor) {
    const double s = static_cast<double>((int32_t{1} << form.bits) - 1);
    const double numel = static_cast<double>(count);
    const double by_levels = numel / (s * s), by_root = std::sqrt(numel) / s;
    const double shrink = form.unbiased ? 1 : 1 / (1 + (by_root < by_levels ? by_root : by_levels));
    return factor * static_cast<T>(load<T>(part) * shrink / s);
}

}  // namespace dbench::arena
