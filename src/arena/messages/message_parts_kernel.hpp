#pragma once
// The kernel bodies of messages of few bits per element (message_parts.hpp): a block for each
// segment of each row.

#include <cmath>
#include <type_traits>

#include "arena/grid/segment_grid.hpp"
#include "arena/messages/message_codes.hpp"
#include "arena/messages/message_parts.hpp"
#include "base/philox.hpp"

namespace dbench::arena {

/// Computes each tensor's number from the sums over its segments; also writes it to the start of
/// the tensor's part.
struct PartNumbers {
    PartNumber number;
    DType type;  // Type of the numbers in messages.
    const MessagePart* parts;
    int64_t tensors, segments, rows;
    const double* sums;  // [rows, segments]
    double* out;         // [rows, tensors]
    char* messages;
    int64_t stride;  // In bytes.

    constexpr int64_t blocks() const { return rows * tensors; }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const PartNumbers s = *this;
        const int64_t row = index / s.tensors;
        const MessagePart part = s.parts[index % s.tensors];
        const double* const from = s.sums + row * s.segments + part.segment;
        block.add_in_order(part.segments, from, [=](double sum) DBENCH_INLINE_LAMBDA {
            const double value = s.number == PartNumber::norm
                                     ? std::sqrt(sum)
                                     : sum / static_cast<double>(part.numel);
            s.out[index] = value;
            char* const to = s.messages + row * s.stride + part.at;
            if (s.type == DType::float32) {
                store(to, static_cast<float>(value));
            } else {
                store(to, value);
            }
        });
    }
};

/// Byte offset of the codes in a part.
template <class Form, class T>
constexpr int64_t kCodesAt = Form::kNumber == PartNumber::none ? 0 : int64_t{sizeof(T)};

inline constexpr int64_t kCodeTile = 1024;  ///< Elements whose codes are held in scratch memory at
                                            ///< a time.
inline constexpr int kCodeGroup = 8;  ///< Number of elements whose codes together end at a byte
                                      ///< boundary.

/// Reads the codes of a group of `count` elements, and no byte after them.
DBENCH_INLINE void unpack_group(const char* from, int bits, int count,
                                uint32_t (&codes)[kCodeGroup]) {
    const uint32_t mask = (1u << bits) - 1;
    const int bytes = (count * bits + 7) / 8;
    const auto byte = [=](int k) DBENCH_INLINE_LAMBDA {
        return uint64_t{static_cast<unsigned char>(from[k])};
    };
    if (bits <= 8) {
        uint64_t held = 0;
        DBENCH_UNROLL
        for (int k = 0; k < 8; ++k) {
            if (k < bytes) held |= byte(k) << 8 * k;
        }
        DBENCH_UNROLL
        for (int j = 0; j < kCodeGroup; ++j) {
            codes[j] = static_cast<uint32_t>(held >> (j * bits)) & mask;
        }
        return;
    }
    DBENCH_UNROLL
    for (int j = 0; j < kCodeGroup; ++j) {
        uint64_t held = 0;
        DBENCH_UNROLL
        for (int k = 0; k < 4; ++k) {
            if (j * bits / 8 + k < bytes) held |= byte(j * bits / 8 + k) << 8 * k;
        }
        codes[j] = static_cast<uint32_t>(held >> (j * bits % 8)) & mask;
    }
}

/// Returns the child key of the root by four words.
DBENCH_INLINE uint64_t key_of(const Draws& draws, const int64_t (&words)[4]) {
    uint64_t key = draws.root;
    for (int k = 0; k < 4; ++k) {
        key = base::child_key(key, static_cast<uint64_t>(words[k]), draws.purpose,
                              static_cast<uint32_t>(k + 1));
    }
    return key;
}
/// Returns the key of the stream of a row's tensor.
DBENCH_INLINE uint64_t key_of(const Draws& draws, int64_t row, int tensor) {
    const int64_t replica = draws.first + (draws.shared ? 0 : row);
    return key_of(draws, {replica, draws.iteration, draws.part, tensor});
}

/// Draws numbers in [0, 1) for the elements [begin, begin + count) of a tensor. `begin` must be
/// even, and `noise` must have space for one more number.
template <class Block>
DBENCH_INLINE void draw(Block& block, uint64_t key, int64_t begin, int64_t count, double* noise) {
    block.for_each((count + 1) / 2, [=](int64_t c) DBENCH_INLINE_LAMBDA {
        const base::PhiloxBlock words = base::block_of(key, static_cast<uint64_t>(begin / 2 + c));
        noise[2 * c] = base::uniform_of(words.word[0], words.word[1]);
        noise[2 * c + 1] = base::uniform_of(words.word[2], words.word[3]);
    });
}

/// Calls work(c, code) for the elements [begin, begin + count) of a part of `numel` elements, whose
/// codes are at `from`. `begin` must be a multiple of kCodeGroup.
template <class Codes, class Block, class Work>
DBENCH_INLINE void for_codes(Block& block, int bits, const char* from, int64_t begin, int64_t numel,
                             int64_t count, const Work& work) {
    using Load = typename Codes::Load;
    constexpr int64_t kLoad = sizeof(Load);
    const uint32_t mask = (1u << bits) - 1;
    const char* const mine = from + begin * bits / 8;
    // Loads must not read bytes after the part.
    const int64_t bytes = (numel * bits + 7) / 8 - begin * bits / 8;
    const int64_t last = (kCodeGroup - 1) * bits / 8 + kLoad;
    const int64_t safe = bytes < last ? 0 : (bytes - last) / bits + 1;
    const int64_t whole = safe < count / kCodeGroup ? safe : count / kCodeGroup;
    block.template for_groups<kCodeGroup>(whole, [=](int64_t g, int j) DBENCH_INLINE_LAMBDA {
        const uint32_t word = load<Load>(mine + g * bits + j * bits / 8);
        work(g * kCodeGroup + j, word >> (j * bits % 8) & mask);
    });
    const int64_t done = whole * kCodeGroup;
    block.for_each(count - done, [=](int64_t c) DBENCH_INLINE_LAMBDA {
        const int64_t at = (done + c) * bits;
        uint32_t word = 0;
        for (int64_t k = 0; k < kLoad && at / 8 + k < bytes; ++k) {
            word |= static_cast<uint32_t>(static_cast<unsigned char>(mine[at / 8 + k])) << 8 * k;
        }
        work(done + c, word >> (at % 8) & mask);
    });
}

template <class Form, class T>
struct EncodeParts {
    Form form;
    SegmentGrid grid;
    const MessagePart* parts;
    Rows rows;
    const double* numbers;  // [rows, tensors], if the form has numbers.
    int64_t tensors;
    Draws draws;
    char* messages;
    int64_t stride;  // In bytes.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const {
        return scratch_for<double>(kCodeTile) + scratch_for<uint32_t>(kCodeTile) +
               scratch_for<uint64_t>(1);
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        const MessagePart part = parts[p.tensor];
        const int64_t first = p.begin - part.column;
        const T* const x = rows.row<const T>(p.row) + p.begin;
        char* const to = messages + p.row * stride + part.at + kCodesAt<Form, T>;
        double* const noise = block.template scratch<double>(kCodeTile);
        uint32_t* const waiting = block.template scratch<uint32_t>(kCodeTile);
        double number = 0;
        if constexpr (Form::kNumber != PartNumber::none) {
            number = numbers[p.row * tensors + p.tensor];
        }
        with_codes<T>(form, number, [&](auto codes) DBENCH_INLINE_LAMBDA {
            using Codes = decltype(codes);
            if constexpr (Block::kManyThreads) {
                uint64_t key = 0;
                if constexpr (Codes::kDraws) {
                    const Draws all = draws;
                    uint64_t* const found = block.template scratch<uint64_t>(1);
                    block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA {
                        *found = key_of(all, p.row, p.tensor);
                    });
                    key = *found;
                }
                encode_groups(block, codes, key, first, p.count, x, to);
            } else {
                uint64_t key = 0;
                if constexpr (Codes::kDraws) key = key_of(draws, p.row, p.tensor);
                for (int64_t begin = 0; begin < p.count; begin += kCodeTile) {
                    const int64_t left = p.count - begin,
                                  here = left < kCodeTile ? left : kCodeTile;
                    if constexpr (Codes::kDraws) draw(block, key, first + begin, here, noise);
                    const T* const from = x + begin;
                    if constexpr (!std::is_void_v<typename Codes::Word>) {
                        using Word = typename Codes::Word;
                        char* const out = to + (first + begin) * static_cast<int64_t>(sizeof(Word));
                        block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                            const double u = Codes::kDraws ? noise[c] : 0;
                            store<Word>(out + c * static_cast<int64_t>(sizeof(Word)),
                                        codes.code(from[c], u));
                        });
                    } else {
                        block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                            waiting[c] = codes.code(from[c], Codes::kDraws ? noise[c] : 0);
                        });
                        const int bits = codes.bits();
                        pack(block, bits, waiting, here, to + (first + begin) * bits / 8);
                    }
                }
            }
        });
    }

private:
    /// Encodes `count` elements from x, the first of which is element `first` of the part. A thread
    /// encodes kCodeGroup elements, so that no two threads write bits of the same byte.
    template <class Block, class Codes>
    static DBENCH_INLINE void encode_groups(Block& block, const Codes codes, uint64_t key,
                                            int64_t first, int64_t count, const T* x, char* to) {
        block.for_each((count + kCodeGroup - 1) / kCodeGroup, [=](int64_t g) DBENCH_INLINE_LAMBDA {
            const int64_t begin = g * kCodeGroup, left = count - begin;
            const int here = left < kCodeGroup ? static_cast<int>(left) : kCodeGroup;
            T values[kCodeGroup];
            load_some(x + begin, here, values);
            double noise[kCodeGroup] = {};
            if constexpr (Codes::kDraws) {
                DBENCH_UNROLL
                for (int j = 0; j < kCodeGroup; j += 2) {
                    const base::PhiloxBlock words =
                        base::block_of(key, static_cast<uint64_t>((first + begin + j) / 2));
                    noise[j] = base::uniform_of(words.word[0], words.word[1]);
                    noise[j + 1] = base::uniform_of(words.word[2], words.word[3]);
                }
            }
            if constexpr (!std::is_void_v<typename Codes::Word>) {
                using Word = typename Codes::Word;
                Word words[kCodeGroup];
                DBENCH_UNROLL
                for (int j = 0; j < kCodeGroup; ++j) words[j] = codes.code(values[j], noise[j]);
                store_some(words, here, to + (first + begin) * static_cast<int64_t>(sizeof(Word)));
            } else {
                uint32_t all[kCodeGroup];
                DBENCH_UNROLL
                for (int j = 0; j < kCodeGroup; ++j) all[j] = codes.code(values[j], noise[j]);
                const int bits = codes.bits();
                char* const out = to + (first + begin) * bits / 8;
                if (here < kCodeGroup || bits > 8) return pack_some(bits, all, here, out);
                uint64_t held = 0;
                DBENCH_UNROLL
                for (int j = 0; j < kCodeGroup; ++j) held |= uint64_t{all[j]} << (j * bits);
                for (int k = 0; k < bits; ++k) out[k] = static_cast<char>(held >> 8 * k);
            }
        });
    }

    /// Packs codes, the first of which begins at a byte boundary.
    template <class Block>
    static DBENCH_INLINE void pack(Block& block, int bits, const uint32_t* codes, int64_t count,
                                   char* to) {
        const int64_t whole = count / kCodeGroup;
        if (bits <= 8) {
            block.for_each(whole, [=](int64_t g) DBENCH_INLINE_LAMBDA {
                uint64_t held = 0;
                DBENCH_UNROLL
                for (int j = 0; j < kCodeGroup; ++j) {
                    held |= static_cast<uint64_t>(codes[g * kCodeGroup + j]) << (j * bits);
                }
                for (int k = 0; k < bits; ++k) to[g * bits + k] = static_cast<char>(held >> 8 * k);
            });
        } else {
            block.for_each(whole, [=](int64_t g) DBENCH_INLINE_LAMBDA {
                pack_some(bits, codes + g * kCodeGroup, kCodeGroup, to + g * bits);
            });
        }
        const auto rest = static_cast<int>(count - whole * kCodeGroup);
        if (rest > 0) {
            block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA {
                pack_some(bits, codes + whole * kCodeGroup, rest, to + whole * bits);
            });
        }
    }
    static DBENCH_INLINE void pack_some(int bits, const uint32_t* codes, int count, char* to) {
        uint64_t held = 0;
        int waiting = 0;
        DBENCH_UNROLL  // The codes may be in registers, which need constant indices.
            for (int j = 0; j < kCodeGroup; ++j) {
            if (j >= count) break;
            held |= static_cast<uint64_t>(codes[j]) << waiting;
            for (waiting += bits; waiting >= 8; waiting -= 8, held >>= 8) {
                *to++ = static_cast<char>(held);
            }
        }
        if (waiting > 0) *to = static_cast<char>(held);
    }
};

template <class Form, class T>
struct AddParts {
    Form form;
    SegmentGrid grid;
    const MessagePart* parts;
    Rows out;
    const WeightedMessage* messages;
    const int64_t* first;  // [rows + 1]: index of each row's first message.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return scratch_for<T>(kTogether); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        const MessagePart part = parts[p.tensor];
        T* const to = out.row<T>(p.row) + p.begin;
        const int64_t begin = p.begin - part.column;
        with_codes<T>(form, 0, [&](auto codes) DBENCH_INLINE_LAMBDA {
            if constexpr (Block::kManyThreads) {
                T* const steps = block.template scratch<T>(kTogether);
                for (int64_t k = first[p.row]; k < first[p.row + 1]; k += kTogether) {
                    const int64_t left = first[p.row + 1] - k;
                    const int64_t here = left < kTogether ? left : kTogether;
                    add_groups(block, codes, messages + k, here, part, begin, steps, to, p.count);
                }
            } else {
                for (int64_t k = first[p.row]; k < first[p.row + 1]; ++k) {
                    const char* const from = messages[k].message + part.at;
                    const T step =
                        step_of(form, from, part.numel, static_cast<T>(messages[k].factor));
                    add(block, codes, from + kCodesAt<Form, T>, begin, part.numel, step, to,
                        p.count);
                }
            }
        });
    }

private:
    static constexpr int64_t kTogether = 64;  // Messages that a device adds in one pass.

    /// Adds elements of some messages. A thread adds kCodeGroup elements of all messages, in the
    /// order of the messages, and holds the sums in registers.
    template <class Block, class Codes>
    DBENCH_INLINE void add_groups(Block& block, const Codes codes, const WeightedMessage* some,
                                  int64_t number, const MessagePart& part, int64_t begin, T* steps,
                                  T* to, int64_t count) const {
        const Form here = form;
        const int64_t at = part.at, numel = part.numel;
        block.for_each(number, [=](int64_t k) DBENCH_INLINE_LAMBDA {
            steps[k] = step_of(here, some[k].message + at, numel, static_cast<T>(some[k].factor));
        });
        block.for_each((count + kCodeGroup - 1) / kCodeGroup, [=](int64_t g) DBENCH_INLINE_LAMBDA {
            const int64_t first_element = g * kCodeGroup, left = count - first_element;
            const int here = left < kCodeGroup ? static_cast<int>(left) : kCodeGroup;
            T sums[kCodeGroup];
            load_some<T>(to + first_element, here, sums);
            for (int64_t k = 0; k < number; ++k) {
                add_group(codes, some[k].message + at + kCodesAt<Form, T>, begin + first_element,
                          here, steps[k], sums);
            }
            store_some(sums, here, reinterpret_cast<char*>(to + first_element));
        });
    }
    /// Adds the values of the codes of a group of `count` elements that begins at element `begin`.
    template <class Codes>
    static DBENCH_INLINE void add_group(const Codes codes, const char* from, int64_t begin,
                                        int count, T step, T (&sums)[kCodeGroup]) {
        if constexpr (!std::is_void_v<typename Codes::Word>) {
            using Word = typename Codes::Word;
            Word words[kCodeGroup];
            load_some(reinterpret_cast<const Word*>(from + begin * int64_t{sizeof(Word)}), count,
                      words);
            DBENCH_UNROLL
            for (int j = 0; j < kCodeGroup; ++j) sums[j] += codes.value(words[j], step);
        } else {
            const int bits = codes.bits();
            uint32_t all[kCodeGroup];
            unpack_group(from + begin * bits / 8, bits, count, all);
            DBENCH_UNROLL
            for (int j = 0; j < kCodeGroup; ++j) sums[j] += codes.value(all[j], step);
        }
    }

    /// Adds the elements [begin, begin + count) of a part of `numel` elements, whose codes are at
    /// `from`.
    template <class Block, class Codes>
    static DBENCH_INLINE void add(Block& block, const Codes codes, const char* from, int64_t begin,
                                  int64_t numel, T step, T* to, int64_t count) {
        if constexpr (!std::is_void_v<typename Codes::Word>) {
            using Word = typename Codes::Word;
            constexpr int64_t kSize = sizeof(Word);
            block.for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                to[c] += codes.value(load<Word>(from + (begin + c) * kSize), step);
            });
        } else {
            for_codes<Codes>(block, codes.bits(), from, begin, numel, count,
                             [=](int64_t c, uint32_t code)
                                 DBENCH_INLINE_LAMBDA { to[c] += codes.value(code, step); });
        }
    }
};

template <class T>
struct ApproachResidues {
    Residues form;
    double gamma;
    SegmentGrid grid;  // Counts the elements that are too far away, per segment, in place of sums.
    const MessagePart* parts;
    Rows x;
    const WeightedMessage* messages;
    const int64_t* first;  // [rows + 1]: index of each row's first message, which is its own; those
                           // of other rows follow.
    Draws draws;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const {
        return grid.scratch_bytes() + 4 * scratch_for<double>(kCodeTile) +
               scratch_for<int32_t>(kCodeTile);
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        const MessagePart part = parts[p.tensor];
        const ResidueCodes<T> codes{form.bits, form.modulus};
        const double modulus = form.modulus, step = gamma * form.modulus;
        const uint64_t key = key_of(draws, p.row, p.tensor);
        Lanes* const counts = SegmentGrid::lanes(block);
        double* const noise = block.template scratch<double>(kCodeTile);
        double* const at = block.template scratch<double>(kCodeTile);
        double* const error = block.template scratch<double>(kCodeTile);
        double* const change = block.template scratch<double>(kCodeTile);
        int32_t* const far = block.template scratch<int32_t>(kCodeTile);
        for (int64_t tile = 0; tile < p.count; tile += kCodeTile) {
            const int64_t left = p.count - tile, here = left < kCodeTile ? left : kCodeTile;
            const int64_t begin = p.begin - part.column + tile;
            T* const to = x.row<T>(p.row) + p.begin + tile;
            const auto from = [&](int64_t k, const auto& work) DBENCH_INLINE_LAMBDA {
                for_codes<ResidueCodes<T>>(block, form.bits, messages[k].message + part.at, begin,
                                           part.numel, here, work);
            };
            draw(block, key, begin, here, noise);
            from(first[p.row], [=](int64_t c, uint32_t code) DBENCH_INLINE_LAMBDA {
                const double y = static_cast<double>(to[c]) / modulus;
                at[c] = y;
                error[c] = codes.value(code) - codes.wrapped(y);
                change[c] = 0;
                far[c] = 0;
            });
            for (int64_t k = first[p.row] + 1; k < first[p.row + 1]; ++k) {
                const double weight = messages[k].factor;
                from(k, [=](int64_t c, uint32_t code) DBENCH_INLINE_LAMBDA {
                    const double ahead = codes.wrapped(codes.value(code) - at[c]);
                    change[c] += weight * (ahead - error[c]);
                    far[c] += codes.too_far(ahead, noise[c]) ? 1 : 0;
                });
            }
            block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                to[c] += static_cast<T>(step * change[c]);
            });
            block.template add_up_of<Identity>(*counts, here, far);
        }
        grid.store(block, p.row, p.segment, counts);
    }
};

/// Computes out_i += sum of row i's counts.
struct AddCounts {
    int64_t rows, segments;
    const double* counts;  // [rows, segments]
    Rows out;              // float64

    constexpr int64_t blocks() const { return rows; }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t row) const {
        double* const to = out.row<double>(row);
        block.add_in_order(segments, counts + row * segments,
                           [=](double sum) DBENCH_INLINE_LAMBDA { *to += sum; });
    }
};

}  // namespace dbench::arena
