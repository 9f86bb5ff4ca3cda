#pragma once
// The cases of bench_gpu_kernels: every kernel of the arena, with the memory that it reads and
// writes.

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arena/kernels.hpp"
#include "arena/messages/chosen_parts.hpp"
#include "arena/messages/coded_sums.hpp"
#include "arena/messages/element_codec.hpp"
#include "arena/messages/link_matrices.hpp"
#include "arena/messages/low_rank_parts.hpp"
#include "arena/messages/message_parts.hpp"
#include "arena/passes/norm_relu.hpp"
#include "arena/passes/row_parts.hpp"
#include "arena/passes/scores.hpp"
#include "arena/passes/windows.hpp"
#include "arena/sums/row_factors.hpp"
#include "arena/tree.hpp"
#include "arena/updates/accum_adam.hpp"
#include "arena/updates/adaptive.hpp"
#include "arena/updates/qg_adam.hpp"
#include "arena/updates/update_and_mix.hpp"
#include "base/random.hpp"

namespace dbench::arena {

/// A memory with a function that copies bytes to it and from it.
struct CopiedMemory {
    Memory memory;
    std::function<void(void* to, const void* from, int64_t bytes)> copy;
};

/// The rows and columns on which a kernel runs.
struct Shape {
    std::string name;
    Layout layout;
    int64_t rows;
    Columns columns;
    bool whole() const { return columns == layout.all(); }
};

/// The input and output memory of all cases: rows for parameters, gradients and states, and 16-bit
/// words, filled with random numbers that depend only on the seed, and memory for sums and moments,
/// filled with NaN.
class CaseData {
public:
    static constexpr size_t kSets = 7;

    CaseData(const Shape& shape, DType type, uint64_t seed, const CopiedMemory& place)
        : shape_(shape), type_(type), place_(place), ring_(ring_of(shape.rows), {}) {
        const auto segments = static_cast<int64_t>(shape.layout.segments().size());
        const int64_t stride = shape.layout.columns();
        for (size_t k = 0; k < kSets; ++k) {
            sets_.emplace_back(type, 0, shape.rows, stride, place.memory);
            fill(k, seed);
        }
        squared_ = filled_with_nan(2 * shape.rows * segments * 8);
        mean_ = filled_with_nan(2 * stride * 8);
        m2_ = filled_with_nan(2 * segments * 8);
        words_ = filled_with_nan(shape.rows * stride * 2);
        fill_words(seed);
        fill_windows();
        fill_factors();
    }

    const Layout& layout() const { return shape_.layout; }
    Columns columns() const { return shape_.columns; }
    int64_t count() const { return shape_.rows; }
    DType type() const { return type_; }
    Rows at(size_t set) const { return sets_[set].rows(); }
    ReadOnlyArray<double> decay() const {
        std::vector<double> values(layout().tensors().size());
        for (size_t k = 0; k < values.size(); ++k) values[k] = k % 3 == 1 ? 0.1 : 0;
        return values;
    }
    /// A factor for each row: 0.7, or alternately 0.7 and 1 if the shape has a name.
    const double* factors() const { return factors_.as<double>(); }
    /// Returns memory for sums over segments, or null unless the shape has all columns.
    double* sums() { return shape_.whole() ? squared_.as<double>() : nullptr; }
    double* squared() { return squared_.as<double>(); }
    /// Returns memory for further sums, after `sums`, or null under the same condition.
    double* sums_before() {
        const auto segments = static_cast<int64_t>(layout().segments().size());
        return sums() ? sums() + count() * segments : nullptr;
    }
    const LocalMeans& ring() const { return ring_; }
    double* mean(int64_t half = 0) { return mean_.as<double>() + half * layout().columns(); }
    double* m2(int64_t half = 0) {
        return m2_.as<double>() + half * static_cast<int64_t>(layout().segments().size());
    }
    uint16_t* words() { return words_.as<uint16_t>(); }
    /// Rows that are large enough for messages with at most 16 bits per element.
    Rows messages() {
        const int64_t stride = layout().columns() * 2 / size_of(type_);
        return {words(), type_, Space::host, 0, count(), stride};
    }
    /// Returns the object of this name, which is made at the first call.
    template <class Form>
    MessageParts<Form>& parts(const std::string& name, Form form) {
        std::shared_ptr<void>& kept = cache_[name];
        if (!kept) kept = std::make_shared<MessageParts<Form>>(form, layout(), type_);
        return *static_cast<MessageParts<Form>*>(kept.get());
    }
    /// Returns an object that sends a hundredth of each tensor's elements.
    ChosenParts& chosen(const std::string& name, bool sends_indices) {
        std::shared_ptr<void>& kept = cache_[name];
        if (!kept) {
            std::vector<int64_t> counts;
            for (const Tensor& tensor : layout().tensors()) {
                counts.push_back((tensor.numel + 99) / 100);
            }
            kept = std::make_shared<ChosenParts>(layout(), type_, counts, sends_indices, false);
        }
        return *static_cast<ChosenParts*>(kept.get());
    }
    /// Returns an object for messages of rank 4; `numbers` are its random start.
    LowRankParts& low_rank() {
        std::shared_ptr<void>& kept = cache_["low rank"];
        if (!kept) kept = std::make_shared<LowRankParts>(layout(), type_, 4);
        return *static_cast<LowRankParts*>(kept.get());
    }
    Rows numbers(const LowRankParts& parts) {
        const int64_t stride = std::max<int64_t>(parts.numbers(), 1);
        std::shared_ptr<void>& kept = cache_["numbers"];
        if (!kept) {
            base::Random random(1, base::Purpose::regression);
            std::vector<double> values(static_cast<size_t>(count() * stride));
            for (double& value : values) value = random.normal();
            const auto bytes = static_cast<int64_t>(8 * values.size());
            kept = place_.memory(bytes);
            place_.copy(kept.get(), values.data(), bytes);
        }
        return {kept.get(), DType::float64, Space::host, 0, count(), stride};
    }
    /// The state and messages of links, two for each row, initially 0.
    struct Links {
        LinkMatrices matrices;
        Buffer p, q, messages;
        std::vector<MatrixLink> ring;
    };
    Links& links() {
        std::shared_ptr<void>& kept = cache_["links"];
        if (!kept) {
            LinkMatrices of(layout(), type_);
            const auto rows = [&](int64_t each) {
                return Buffer(type_, 0, count(), std::max<int64_t>(2 * each, 1), place_.memory);
            };
            auto made = std::make_shared<Links>(Links{of,
                                                      rows(of.all(LinkFactor::p)),
                                                      rows(of.all(LinkFactor::q)),
                                                      rows(of.elements(LinkFactor::p)),
                                                      {}});
            for (int64_t i = 0; i < count(); ++i) {
                for (const int64_t j : {(i + 1) % count(), (i + count() - 1) % count()}) {
                    made->ring.push_back(
                        {i, std::ssize(made->ring) % 2, std::min(i, j), std::max(i, j)});
                }
            }
            kept = std::move(made);
        }
        return *static_cast<Links*>(kept.get());
    }
    /// Returns the same indices for every row: every hundredth element of each tensor.
    std::vector<const uint32_t*> indices(const ChosenParts& parts) {
        std::shared_ptr<void>& kept = cache_["indices"];
        if (!kept) {
            std::vector<uint32_t> values;
            for (const ChosenPart& part : parts.parts()) {
                for (int64_t c = 0; c < part.kept; ++c) {
                    values.push_back(static_cast<uint32_t>(100 * c));
                }
            }
            const auto bytes = static_cast<int64_t>(4 * values.size());
            kept = place_.memory(bytes);
            place_.copy(kept.get(), values.data(), bytes);
        }
        return {static_cast<size_t>(count()), static_cast<const uint32_t*>(kept.get())};
    }
    /// Returns labels in a fixed pattern.
    const int64_t* labels(int64_t number, int64_t classes) {
        std::shared_ptr<void>& kept = cache_["labels"];
        if (!kept) {
            std::vector<int64_t> values;
            for (int64_t k = 0; k < number; ++k) values.push_back(k * k % classes);
            const auto bytes = static_cast<int64_t>(8 * values.size());
            kept = place_.memory(bytes);
            place_.copy(kept.get(), values.data(), bytes);
        }
        return static_cast<const int64_t*>(kept.get());
    }
    /// Returns scratch memory, whose contents are not compared.
    double* scratch(int64_t number) {
        std::shared_ptr<void>& kept = cache_["scratch"];
        if (!kept) kept = place_.memory(8 * number);
        return static_cast<double*>(kept.get());
    }
    /// Returns square images with three planes in the bytes of the words, one per row, as large as
    /// they fit.
    Pictures pictures() const {
        int64_t side = 1;
        while (3 * (side + 1) * (side + 1) <= layout().columns()) ++side;
        return {words_.as<uint8_t>(), count(), 3, side, side};
    }
    /// Returns one window per image.
    std::span<const Window> windows() const {
        return {windows_.as<Window>(), static_cast<size_t>(count())};
    }

    /// Fills all rows of a set with NaN.
    void fill_with_nan(size_t set) {
        const std::vector<unsigned char> bytes(static_cast<size_t>(sets_[set].bytes()), 0xff);
        place_.copy(at(set).data, bytes.data(), sets_[set].bytes());
    }
    /// Returns every byte that is compared, in a fixed order.
    std::vector<char> bytes() const {
        std::vector<char> all;
        for (const Buffer& set : sets_) add(all, set.rows().data, set.bytes());
        for (const Piece* piece : {&squared_, &mean_, &m2_, &words_}) {
            add(all, piece->memory.get(), piece->bytes);
        }
        return all;
    }

private:
    struct Piece {
        std::shared_ptr<void> memory;
        int64_t bytes = 0;
        template <class T>
        T* as() const {
            return static_cast<T*>(memory.get());
        }
    };

    Piece filled_with_nan(int64_t bytes) const {
        const std::vector<unsigned char> from(static_cast<size_t>(bytes), 0xff);
        Piece piece{place_.memory(bytes), bytes};
        place_.copy(piece.memory.get(), from.data(), bytes);
        return piece;
    }
    /// Fills a set with random numbers. Padding remains zero; second moments (sets 4 and 5) are not
    /// negative.
    void fill(size_t set, uint64_t seed) {
        base::Random random(seed, base::Purpose::init, {set});
        const bool positive = set == 4 || set == 5;
        with_type(type_, [&]<class T>() {
            std::vector<T> values(static_cast<size_t>(count() * layout().columns()));
            for (int64_t i = 0; i < count(); ++i) {
                for (const Tensor& tensor : layout().tensors()) {
                    T* const row = values.data() + i * layout().columns() + tensor.offset;
                    for (int64_t c = 0; c < tensor.numel; ++c) {
                        const double x = 4 * random.uniform() - 2;
                        row[c] = static_cast<T>(positive && x < 0 ? -x : x);
                    }
                }
            }
            place_.copy(at(set).data, values.data(), sets_[set].bytes());
        });
    }
    /// Fills the words with finite numbers in both 16-bit formats, because payloads of NaN may
    /// differ.
    void fill_words(uint64_t seed) {
        base::Random random(seed, base::Purpose::init, {kSets});
        std::vector<uint16_t> values(static_cast<size_t>(words_.bytes / 2));
        for (uint16_t& value : values) value = static_cast<uint16_t>(random.bits() & 0xbfff);
        place_.copy(words_.memory.get(), values.data(), words_.bytes);
    }
    /// Makes windows that are shifted in all directions; every other window is mirrored.
    void fill_windows() {
        std::vector<Window> values;
        for (int64_t k = 0; k < count(); ++k) {
            const auto shift = static_cast<int32_t>(k % 9 - 4);
            values.push_back({count() - 1 - k, shift, -shift, k % 2 == 1});
        }
        const auto bytes = static_cast<int64_t>(values.size() * sizeof(Window));
        windows_ = {place_.memory(bytes), bytes};
        place_.copy(windows_.memory.get(), values.data(), bytes);
    }
    /// A row with factor 1 is not touched, so a benchmark, whose shape has no name, has none.
    void fill_factors() {
        std::vector<double> values;
        for (int64_t k = 0; k < count(); ++k) {
            values.push_back(k % 2 == 0 || shape_.name.empty() ? 0.7 : 1);
        }
        const auto bytes = static_cast<int64_t>(values.size() * sizeof(double));
        factors_ = {place_.memory(bytes), bytes};
        place_.copy(factors_.memory.get(), values.data(), bytes);
    }
    void add(std::vector<char>& all, const void* from, int64_t bytes) const {
        all.resize(all.size() + static_cast<size_t>(bytes));
        place_.copy(all.data() + all.size() - bytes, from, bytes);
    }

    /// Averages each row with its two neighbours; with fewer than three rows, each only with
    /// itself.
    static std::vector<std::vector<LocalTerm>> ring_of(int64_t rows) {
        std::vector<std::vector<LocalTerm>> terms;
        for (int64_t i = 0; i < rows; ++i) {
            terms.push_back({{i, 1}});
            if (rows < 3) continue;
            terms.back() = {{i, 0.4}, {(i + 1) % rows, 0.3}, {(i + rows - 1) % rows, 0.3}};
        }
        return terms;
    }

    std::map<std::string, std::shared_ptr<void>> cache_;
    Shape shape_;
    DType type_;
    CopiedMemory place_;
    LocalMeans ring_;
    std::vector<Buffer> sets_;
    Piece squared_, mean_, m2_, words_, windows_, factors_;
};

struct Case {
    const char* name;
    std::vector<size_t> results;  ///< sets of rows that the kernel writes without reading them
    void (*run)(CaseData&, Queue&);
};

/// Returns every kernel in each of its variants.
const std::vector<Case>& cases();

}  // namespace dbench::arena
