// The codec random_k: sends k elements of each tensor, drawn with a key that the receiver knows.
// Only the values are sent: 4 k bytes in float32. If unbiased, they are multiplied by numel / k.

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/codecs/sparse.hpp"
#include "arena/device/memory.hpp"
#include "arena/kernels.hpp"

namespace dbench::algorithms {
namespace {

/// A list that starts as 0, 1, 2, ... and stores only the entries that changed: a hash table with
/// open addressing.
class Permutation {
public:
    /// At most `count` entries may change.
    explicit Permutation(int64_t count)
        : shift_(64 - std::bit_width(static_cast<uint64_t>(2 * count))),
          entries_(size_t{1} << (64 - shift_)) {}

    int64_t at(int64_t index) const {
        const Entry& entry = entries_[slot(index)];
        return entry.index == index ? entry.value : index;
    }
    void move(int64_t index, int64_t value) { entries_[slot(index)] = {index, value}; }

private:
    struct Entry {
        int64_t index = -1, value = 0;
    };
    /// Returns the slot of `index`, or the free slot into which it would be inserted.
    size_t slot(int64_t index) const {
        size_t at = (static_cast<uint64_t>(index) * 0x9E3779B97F4A7C15u) >> shift_;  // 2^64 / phi
        while (entries_[at].index >= 0 && entries_[at].index != index) {
            at = (at + 1) & (entries_.size() - 1);
        }
        return at;
    }

    int shift_;
    std::vector<Entry> entries_;
};

/// A plain list with the same interface, for the case that many entries change.
class FullPermutation {
public:
    explicit FullPermutation(int64_t numel) : values_(static_cast<size_t>(numel)) {
        std::iota(values_.begin(), values_.end(), 0u);
    }
    int64_t at(int64_t index) const { return values_[static_cast<size_t>(index)]; }
    void move(int64_t index, int64_t value) {
        values_[static_cast<size_t>(index)] = static_cast<uint32_t>(value);
    }

private:
    std::vector<uint32_t> values_;
};

/// Draws k different indices below numel, in ascending order: the first k of a Fisher-Yates
/// shuffle.
template <class Permutation>
void draw(int64_t k, int64_t numel, base::Random random, Permutation permutation,
          uint32_t* indices) {
    std::vector<uint64_t> chosen(static_cast<size_t>((numel + 63) / 64));  // One bit per element.
    for (int64_t c = 0; c < k; ++c) {
        const auto other = c + static_cast<int64_t>(random.below(static_cast<uint64_t>(numel - c)));
        const int64_t index = permutation.at(other);
        chosen[static_cast<size_t>(index / 64)] |= uint64_t{1} << index % 64;
        permutation.move(other, permutation.at(c));
    }
    for (size_t word = 0; word < chosen.size(); ++word) {
        for (uint64_t left = chosen[word]; left != 0; left &= left - 1) {
            *indices++ =
                static_cast<uint32_t>(64 * word) + static_cast<uint32_t>(std::countr_zero(left));
        }
    }
}

void draw(int64_t k, int64_t numel, const base::Random& random, uint32_t* indices) {
    // If fewer than one in 64 are drawn, the table is smaller than the list.
    constexpr int64_t kSparseFactor = 64;
    if (k * kSparseFactor < numel) {
        draw(k, numel, random, Permutation(k), indices);
    } else {
        draw(k, numel, random, FullPermutation(numel), indices);
    }
}

/// The indices of one MessageSet: drawn once per replica, and copied to memory that kernels read.
class DrawnIndices {
public:
    explicit DrawnIndices(const arena::ChosenParts& parts) : parts_(parts) {}

    /// Returns the indices of each replica in `replicas`.
    std::vector<const uint32_t*> of(const std::vector<int64_t>& replicas, const MessageSet& set,
                                    arena::Queue& queue) {
        if (set != set_) reset(queue);
        set_ = set;
        std::vector<int64_t> missing = replicas;
        std::erase_if(missing, [&](int64_t replica) { return row_of_replica_.contains(replica); });
        std::sort(missing.begin(), missing.end());
        missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
        if (std::ssize(row_of_replica_) + std::ssize(missing) > host_indices_.rows().count) {
            enlarge(std::ssize(row_of_replica_) + std::ssize(missing), queue);
            return of(replicas, set, queue);
        }
        for (const int64_t replica : missing) draw_for(replica, queue);
        std::vector<const uint32_t*> indices;
        for (const int64_t replica : replicas) {
            indices.push_back(read_rows(queue).row<uint32_t>(row_of_replica_.at(replica)));
        }
        return indices;
    }

private:
    /// Returns the rows that kernels read. On a device these are not the rows that the host writes,
    /// because every GPU thread searches its own part of the indices.
    arena::Rows read_rows(arena::Queue& queue) const {
        return queue.immediate() ? host_indices_.rows() : device_indices_.rows();
    }

    // Queued launches may still copy the old indices, so they must not be overwritten.
    void reset(arena::Queue& queue) {
        row_of_replica_.clear();
        if (!queue.immediate() && host_indices_.bytes() > 0)
            make_host_indices(host_indices_.rows().count, queue);
    }
    void enlarge(int64_t count, arena::Queue& queue) {
        row_of_replica_.clear();
        make_host_indices(count, queue);
        if (queue.immediate()) return;
        arena::keep(queue, std::make_shared<arena::Buffer>(std::move(device_indices_)));
        device_indices_ = queue.memories().rows(kIndexType, 0, count, parts_.chosen());
    }
    void make_host_indices(int64_t count, arena::Queue& queue) {
        arena::keep(queue, std::make_shared<arena::Buffer>(std::move(host_indices_)));
        host_indices_ = queue.memories().host_visible_rows(kIndexType, 0, count, parts_.chosen());
    }
    void draw_for(int64_t replica, arena::Queue& queue) {
        const int64_t place = std::ssize(row_of_replica_);
        row_of_replica_.emplace(replica, place);
        auto* indices = host_indices_.rows().row<uint32_t>(place);
        int tensor = 0;
        for (const arena::ChosenPart& part : parts_.parts()) {
            draw(part.kept, part.numel, set_.of(replica).random(tensor++), indices + part.before);
        }
        if (queue.immediate()) return;
        arena::copy(host_indices_.rows().only(place), device_indices_.rows().only(place),
                    {0, parts_.chosen()}, queue);
    }

    // Stands for uint32_t: it has the same size.
    static constexpr arena::DType kIndexType = arena::DType::float32;

    const arena::ChosenParts& parts_;
    MessageSet set_{};
    std::unordered_map<int64_t, int64_t> row_of_replica_;  // Row of each replica.
    arena::Buffer host_indices_, device_indices_;
};

struct RandomK {
    double ratio;   ///< Share of each tensor's elements that is sent.
    bool unbiased;  ///< Scaled by numel / k.

    static const base::Section<RandomK>& section();
};

const base::Section<RandomK>& RandomK::section() {
    static const base::Section<RandomK> keys{
        {ratio_parameter(), &RandomK::ratio},
        {base::Parameter::flag("unbiased", "false",
                               "scaled by numel / k: the mean over draws is v"),
         &RandomK::unbiased},
    };
    return keys;
}

class RandomKCoder final : public Coder {
public:
    RandomKCoder(const RandomK& form, const arena::Layout& layout, arena::DType type)
        : parts_(layout, type, kept(form.ratio, layout), false, form.unbiased) {}
    int64_t bytes() const override { return parts_.bytes(); }
    void encode(arena::Rows v, const MessageSet& set, arena::Rows messages,
                arena::Queue& queue) override {
        std::vector<int64_t> replicas(static_cast<size_t>(v.count));
        std::iota(replicas.begin(), replicas.end(), v.first);
        parts_.send(v, indices_.of(replicas, set, queue), messages, queue);
    }
    void add(arena::Rows out, std::span<const std::vector<Incoming>> messages,
             const MessageSet& set, arena::Queue& queue) override {
        std::vector<int64_t> replicas;
        for (const auto& of_row : messages) {
            for (const Incoming& one : of_row) replicas.push_back(one.replica);
        }
        const std::vector<const uint32_t*> indices = indices_.of(replicas, set, queue);
        auto next = indices.begin();
        std::vector<std::vector<arena::ChosenMessage>> chosen(messages.size());
        for (size_t i = 0; i < messages.size(); ++i) {
            for (const Incoming& one : messages[i]) {
                chosen[i].push_back(
                    {reinterpret_cast<const char*>(*next++), one.message, one.factor});
            }
        }
        parts_.add(out, chosen, queue);
    }

private:
    arena::ChosenParts parts_;
    DrawnIndices indices_{parts_};
};

std::unique_ptr<Codec> make_random_k(const RandomK& form) {
    return std::make_unique<CodecFromForm<RandomKCoder, RandomK>>(form);
}

}  // namespace

CodecEntry random_k_codec() {
    return {"random_k",
            "random elements of each tensor; both sides know which, so no indices are sent",
            make_random_k, true};
}

}  // namespace dbench::algorithms
