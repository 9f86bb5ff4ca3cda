// k elements of each tensor, drawn by a key that the receiver knows: only values are sent, 4 k
// bytes in float32. Where unbiased, they count numel / k times.

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

/// What has moved in a list that begins as 0, 1, 2, ...: a table with open addresses.
class Moved {
public:
    /// Of at most `count` elements.
    explicit Moved(int64_t count)
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
    /// Where `index` is, or would come.
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

/// The same where many move: the list itself.
class List {
public:
    explicit List(int64_t numel) : values_(static_cast<size_t>(numel)) {
        std::iota(values_.begin(), values_.end(), 0u);
    }
    int64_t at(int64_t index) const { return values_[static_cast<size_t>(index)]; }
    void move(int64_t index, int64_t value) {
        values_[static_cast<size_t>(index)] = static_cast<uint32_t>(value);
    }

private:
    std::vector<uint32_t> values_;
};

/// k different indices below numel, in order: the first k of a Fisher-Yates shuffle.
template <class Moved>
void draw(int64_t k, int64_t numel, base::Random random, Moved moved, uint32_t* indices) {
    std::vector<uint64_t> chosen(static_cast<size_t>((numel + 63) / 64));  // a bit each
    for (int64_t c = 0; c < k; ++c) {
        const auto other = c + static_cast<int64_t>(random.below(static_cast<uint64_t>(numel - c)));
        const int64_t index = moved.at(other);
        chosen[static_cast<size_t>(index / 64)] |= uint64_t{1} << index % 64;
        moved.move(other, moved.at(c));
    }
    for (size_t word = 0; word < chosen.size(); ++word) {
        for (uint64_t left = chosen[word]; left != 0; left &= left - 1) {
            *indices++ =
                static_cast<uint32_t>(64 * word) + static_cast<uint32_t>(std::countr_zero(left));
        }
    }
}

void draw(int64_t k, int64_t numel, const base::Random& random, uint32_t* indices) {
    constexpr int64_t kFew = 64;  // of so many one: a table of those is smaller than the list
    if (k * kFew < numel) {
        draw(k, numel, random, Moved(k), indices);
    } else {
        draw(k, numel, random, List(numel), indices);
    }
}

/// The indices of messages of one time: drawn once, and brought to where they are read.
class DrawnIndices {
public:
    explicit DrawnIndices(const arena::ChosenParts& parts) : parts_(parts) {}

    /// Of each of the replicas.
    std::vector<const uint32_t*> of(const std::vector<int64_t>& replicas, const MessageSet& set,
                                    arena::Queue* queue) {
        if (set != set_) forget(queue);
        set_ = set;
        std::vector<int64_t> missing = replicas;
        std::erase_if(missing, [&](int64_t replica) { return places_.contains(replica); });
        std::sort(missing.begin(), missing.end());
        missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
        if (std::ssize(places_) + std::ssize(missing) > drawn_.rows().count) {
            make_room(std::ssize(places_) + std::ssize(missing), queue);
            return of(replicas, set, queue);
        }
        for (const int64_t replica : missing) draw_for(replica, queue);
        std::vector<const uint32_t*> indices;
        for (const int64_t replica : replicas) {
            indices.push_back(read_rows(queue).row<uint32_t>(places_.at(replica)));
        }
        return indices;
    }

private:
    /// Where launches find them: not where the host draws them, for each of their threads looks for
    /// its own part.
    arena::Rows read_rows(arena::Queue* queue) const {
        return queue ? read_.rows() : drawn_.rows();
    }

    /// What launches still copy is not drawn over.
    void forget(arena::Queue* queue) {
        places_.clear();
        if (queue && drawn_.bytes() > 0) make_drawn(drawn_.rows().count, queue);
    }
    void make_room(int64_t count, arena::Queue* queue) {
        places_.clear();
        make_drawn(count, queue);
        if (!queue) return;
        arena::keep(queue, std::make_shared<arena::Buffer>(std::move(read_)));
        read_ = arena::Buffer(kIndexType, 0, count, parts_.chosen());
    }
    void make_drawn(int64_t count, arena::Queue* queue) {
        arena::keep(queue, std::make_shared<arena::Buffer>(std::move(drawn_)));
        drawn_ = arena::Buffer(kIndexType, 0, count, parts_.chosen(), arena::reached_memory());
    }
    void draw_for(int64_t replica, arena::Queue* queue) {
        const int64_t place = std::ssize(places_);
        places_.emplace(replica, place);
        auto* indices = drawn_.rows().row<uint32_t>(place);
        int tensor = 0;
        for (const arena::ChosenPart& part : parts_.parts()) {
            draw(part.kept, part.numel, set_.of(replica).random(tensor++), indices + part.before);
        }
        if (!queue) return;
        arena::copy(drawn_.rows().only(place), read_.rows().only(place), {0, parts_.chosen()},
                    queue);
    }

    static constexpr arena::DType kIndexType = arena::DType::float32;  // of its size

    const arena::ChosenParts& parts_;
    MessageSet set_{};
    std::unordered_map<int64_t, int64_t> places_;  // of each replica's, among the rows
    arena::Buffer drawn_, read_;
};

struct RandomK {
    double ratio;
    bool unbiased;
};

class RandomKCoder final : public Coder {
public:
    RandomKCoder(const RandomK& form, const arena::Layout& layout, arena::DType type)
        : parts_(layout, type, kept(form.ratio, layout), false, form.unbiased) {}
    int64_t bytes() const override { return parts_.bytes(); }
    void encode(arena::Rows v, const MessageSet& set, arena::Rows messages,
                arena::Queue* queue) override {
        std::vector<int64_t> replicas(static_cast<size_t>(v.count));
        std::iota(replicas.begin(), replicas.end(), v.first);
        parts_.send(v, indices_.of(replicas, set, queue), messages, queue);
    }
    void add(arena::Rows out, std::span<const std::vector<Incoming>> messages,
             const MessageSet& set, arena::Queue* queue) override {
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

}  // namespace

CodecEntry random_k_codec() {
    return {{"random_k",
             "random elements of each tensor; both sides know which, no indices are sent",
             {ratio_parameter(),
              base::Parameter::flag("unbiased", "false",
                                    "scaled by numel / k: the mean over draws is v")}},
            [](const base::Json& spec) -> std::unique_ptr<Codec> {
                return std::make_unique<CodecOf<RandomKCoder, RandomK>>(
                    RandomK{spec.at("ratio"), spec.at("unbiased")});
            },
            true};
}

}  // namespace dbench::algorithms
