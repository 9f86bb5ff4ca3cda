#include "arena/messages/chosen_parts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "arena/grid/launch.hpp"
#include "arena/messages/chosen_parts_kernel.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

void on_host(const GatherChosen<float>& body) { run_blocks(body); }
void on_host(const GatherChosen<double>& body) { run_blocks(body); }
void on_host(const AddChosen<float>& body) { run_blocks(body); }
void on_host(const AddChosen<double>& body) { run_blocks(body); }

namespace {

constexpr int64_t kPiece = 16384;  // In columns.
constexpr int64_t kWord = sizeof(uint64_t);

/// Number of elements from which a histogram finds the largest ones faster than a selection among
/// all.
constexpr int64_t kWorthHistogram = 2048;

/// Columns of a part among which its k largest magnitudes are.
template <class T>
struct Candidates {
    std::vector<uint32_t> columns;          ///< In ascending order.
    std::vector<MagnitudeOf<T>> undecided;  ///< Magnitudes, without those that are surely chosen.
    int64_t chosen = 0;                     ///< Number of columns that are surely chosen.
};

/// Returns all columns of v [numel].
template <class T>
Candidates<T> all_columns(const T* v, int64_t numel) {
    Candidates<T> all;
    all.columns.resize(static_cast<size_t>(numel));
    std::iota(all.columns.begin(), all.columns.end(), 0U);
    all.undecided.resize(static_cast<size_t>(numel));
    std::transform(v, v + numel, all.undecided.begin(), [](T x) { return magnitude_of(x); });
    return all;
}

/// Returns the columns of v [numel] whose magnitudes have the leading bits of the k-th largest one
/// or larger ones. A histogram of these bits finds them in two passes over v.
template <class T>
Candidates<T> columns_by_leading_bits(const T* v, int64_t numel, int64_t k) {
    constexpr int kBits = 12, kShift = kMagnitudeBits<T> - kBits, kWays = 4;
    std::vector<std::array<uint32_t, kWays>> found(size_t{1} << kBits);
    for (int64_t c = 0; c < numel; ++c) ++found[magnitude_of(v[c]) >> kShift][c % kWays];
    MagnitudeOf<T> bin = 0;
    int64_t above = 0, here = 0;  // Elements in the bins above `bin`, and in `bin`.
    for (bin = (MagnitudeOf<T>{1} << kBits) - 1;; --bin) {
        here = std::accumulate(found[bin].begin(), found[bin].end(), int64_t{0});
        if (above + here >= k) break;
        above += here;
    }
    Candidates<T> some;
    some.chosen = above;
    some.columns.resize(static_cast<size_t>(above + here + 1));
    int64_t count = 0;
    for (int64_t c = 0; c < numel; ++c) {  // This loop avoids branches.
        some.columns[static_cast<size_t>(count)] = static_cast<uint32_t>(c);
        count += magnitude_of(v[c]) >> kShift >= bin;
    }
    some.columns.pop_back();
    for (const uint32_t c : some.columns) {
        if (magnitude_of(v[c]) >> kShift == bin) some.undecided.push_back(magnitude_of(v[c]));
    }
    return some;
}

/// Returns the columns of the k largest magnitudes of v [numel], in ascending order. Of equal
/// magnitudes the first ones are chosen.
template <class T>
std::vector<uint32_t> largest(const T* v, int64_t numel, int64_t k) {
    using Bits = MagnitudeOf<T>;
    auto [columns, undecided, chosen] =
        numel < kWorthHistogram ? all_columns(v, numel) : columns_by_leading_bits(v, numel, k);
    const auto nth = undecided.begin() + (k - chosen - 1);
    std::nth_element(undecided.begin(), nth, undecided.end(), std::greater<>());
    const Bits least = *nth;
    int64_t ties =
        k - chosen - std::count_if(undecided.begin(), nth, [&](Bits size) { return size > least; });
    std::erase_if(columns, [&](uint32_t c) {
        const Bits size = magnitude_of(v[c]);
        return size < least || (size == least && ties-- <= 0);
    });
    return columns;
}

}  // namespace

ChosenParts::ChosenParts(const Layout& layout, DType type, std::span<const int64_t> kept,
                         bool sends_indices, bool scaled)
    : layout_(layout), type_(type), sends_indices_(sends_indices), scaled_(scaled) {
    const auto& tensors = layout.tensors();
    DBENCH_EXPECT(kept.size() == tensors.size());
    constexpr int64_t kIndex = sizeof(uint32_t);
    std::vector<ChosenPart> parts;
    std::vector<ChosenPiece> pieces;
    for (size_t t = 0; t < tensors.size(); ++t) {
        const Tensor& tensor = tensors[t];
        DBENCH_EXPECT(0 < kept[t] && kept[t] <= tensor.numel && tensor.numel <= UINT32_MAX);
        const int64_t bytes_without_indices = kIndex * chosen_,
                      values = bytes_ + (sends_indices ? kIndex * kept[t] : 0);
        parts.push_back({tensor.offset, tensor.numel, kept[t], chosen_,
                         sends_indices ? bytes_ : bytes_without_indices, values, std::ssize(pieces),
                         (tensor.numel + kPiece - 1) / kPiece});
        bytes_ = values + kept[t] * size_of(type);
        chosen_ += kept[t];
        for (int64_t begin = 0; begin < tensor.numel; begin += kPiece) {
            pieces.push_back(
                {static_cast<int64_t>(t), begin, std::min(kPiece, tensor.numel - begin)});
        }
    }
    parts_ = ReadOnlyArray(std::move(parts));
    pieces_ = ReadOnlyArray(std::move(pieces));
}

void ChosenParts::send_largest(Rows v, Rows messages, Queue& queue) {
    DBENCH_EXPECT(sends_indices_ && v.type == type_ && messages.count == v.count &&
                  bytes_ <= messages.stride * size_of(messages.type));
    count_bytes(0, v.count * bytes_, Kernel::codec);
    if (!queue.immediate()) return send_largest_of_queue(v, messages, queue);
    count_passes(type_, layout_.all(), 2 * v.count, 0, Kernel::codec);
    with_type(type_, [&]<class T>() {
        for (int64_t i = 0; i < v.count; ++i) {
            char* const message = messages.at(i, 0);
            for (const ChosenPart& part : parts_.values()) {
                const T* const x = v.row<const T>(i) + part.column;
                int64_t sent = 0;
                for (const uint32_t c : largest(x, part.numel, part.kept)) {
                    set_nth_word(message + part.indices, sent, c);
                    set_nth_word(message + part.values, sent++, x[c]);
                }
            }
        }
    });
}

void ChosenParts::send_largest_of_queue(Rows v, Rows messages, Queue& queue) {
    const auto tensors = static_cast<int64_t>(parts_.size());
    const auto pieces = static_cast<int64_t>(pieces_.size());
    const int64_t of_tensors = v.count * tensors, of_pieces = v.count * pieces;
    const int64_t digits = of_pieces * Digit::kBins * int64_t{sizeof(uint32_t)} / kWord;
    const int64_t wanted = 2 * of_tensors + of_pieces + digits;
    if (memory_.rows().stride < wanted) {
        queue.keep(std::make_shared<Buffer>(std::move(memory_)));
        memory_ = queue.memories().rows(DType::float64, 0, 1, wanted);
    }
    auto* const least = memory_.rows().row<uint64_t>(0);
    uint64_t* const left = least + of_tensors;
    uint64_t* const in = left + of_tensors;
    const Selection selection{least, left, in, reinterpret_cast<uint32_t*>(in + of_pieces)};
    const ChosenGrid grid{parts_.on(queue), pieces_.on(queue), tensors, pieces, v.count};
    const Access row = reads(v, layout_.all());
    const auto known = [&](bool written) {
        return Access{least, 1, 0, 2 * of_tensors * kWord, written};
    };
    const auto counts = [&](bool written) { return Access{in, 1, 0, of_pieces * kWord, written}; };
    const auto counted = [&](bool written) {
        return Access{selection.digits, 1, 0, digits * kWord, written};
    };
    with_type(type_, [&]<class T>() {
        int passes = 0;
        for (Digit digit = Digit::of<T>(0); digit.bits > 0; digit = Digit::of<T>(++passes)) {
            const bool first = digit.first(kMagnitudeBits<T>);
            launch_on(queue, "count_digits", CountDigits<T>{grid, digit, v, selection}, [&] {
                std::vector<Access> all{row, counted(true)};
                if (!first) all.push_back(known(false));
                return all;
            });
            launch_on(queue, "find_digit", FindDigit{grid, digit, first, selection}, [&] {
                return std::vector<Access>{counted(false), known(true)};
            });
        }
        launch_on(queue, "count_chosen", CountChosen<T>{grid, v, selection}, [&] {
            return std::vector<Access>{row, known(false), counts(true)};
        });
        const int64_t stride = messages.stride * size_of(messages.type);
        launch_on(queue, "write_chosen",
                  WriteChosen<T>{grid, v, selection, messages.at(0, 0), stride}, [&] {
                      return std::vector<Access>{row,
                                                 known(false),
                                                 counts(false),
                                                 {messages.data, v.count, stride, bytes_, true}};
                  });
        count_passes(type_, layout_.all(), (passes + 2) * v.count, 0, Kernel::codec);
    });
}

void ChosenParts::send(Rows v, std::span<const uint32_t* const> indices, Rows messages,
                       Queue& queue) const {
    DBENCH_EXPECT(!sends_indices_ && v.type == type_ && messages.count == v.count &&
                  std::ssize(indices) == v.count &&
                  bytes_ <= messages.stride * size_of(messages.type));
    const int64_t stride = messages.stride * size_of(messages.type);
    count_bytes(v.count * bytes_, v.count * bytes_, Kernel::codec);
    const ReadOnlyArray where(std::vector<const uint32_t*>(indices.begin(), indices.end()));
    const ChosenGrid grid{parts_.on(queue), pieces_.on(queue), std::ssize(parts_.values()),
                          std::ssize(pieces_.values()), v.count};
    const auto accesses = [&] {
        std::vector<Access> all{reads(v, layout_.all()),
                                {messages.data, v.count, stride, bytes_, true}};
        for (const uint32_t* const of_row : indices) {
            all.push_back(reads(of_row, chosen_ * int64_t{sizeof(uint32_t)}));
        }
        return all;
    };
    with_type(type_, [&]<class T>() {
        launch(queue, "gather_chosen",
               GatherChosen<T>{grid, v, where.on(queue), messages.at(0, 0), stride}, accesses);
    });
}

void ChosenParts::add(Rows out, std::span<const std::vector<ChosenMessage>> messages,
                      Queue& queue) const {
    DBENCH_EXPECT(out.type == type_ && std::ssize(messages) == out.count);
    const ReadOnlyLists received(messages);
    const auto many = std::ssize(received.all.values());
    if (many == 0) return;
    count_bytes(2 * many * bytes_, many * bytes_, Kernel::codec);
    const ChosenGrid grid{parts_.on(queue), pieces_.on(queue), std::ssize(parts_.values()),
                          std::ssize(pieces_.values()), out.count};
    const auto accesses = [&] {
        std::vector<Access> all{reads(out, layout_.all()), writes(out, layout_.all())};
        for (const ChosenMessage& one : received.all.values()) {
            all.push_back(reads(one.message, bytes_));
            if (sends_indices_) continue;
            all.push_back(reads(one.indices, chosen_ * int64_t{sizeof(uint32_t)}));
        }
        return all;
    };
    with_type(type_, [&]<class T>() {
        const AddChosen<T> body{grid, scaled_, out, received.all.on(queue),
                                received.first.on(queue)};
        launch(queue, "add_chosen", body, accesses);
    });
}

}  // namespace dbench::arena
