// A matrix of rank r near each tensor, taken as one with a row for each index of its first
// dimension: P Q' with P = orth(M Z), Q = M' P, Z keyed normal numbers (one step of the power
// iteration of PowerSGD: Vogels et al. 2019, arXiv 1905.13727). r (rows + columns) values; tensors
// of one dimension, and those that would not become smaller, travel as they are.

#include <nlohmann/json.hpp>

#include "algorithms/codecs/codec.hpp"
#include "arena/device/memory.hpp"
#include "arena/kernels.hpp"
#include "arena/messages/low_rank_parts.hpp"

namespace dbench::algorithms {
namespace {

class LowRank final : public Coder {
public:
    LowRank(int64_t rank, const arena::Layout& layout, arena::DType type)
        : parts_(layout, type, rank) {}
    int64_t bytes() const override { return parts_.bytes(); }
    void encode(arena::Rows v, const MessageSet& set, arena::Rows messages,
                arena::Queue* queue) override {
        parts_.encode(v, drawn(v, set, queue), messages, queue);
    }
    void add(arena::Rows out, std::span<const std::vector<Incoming>> messages, const MessageSet&,
             arena::Queue* queue) override {
        parts_.add(out, weighed(messages), queue);
    }

private:
    /// Z for each row, drawn where the host writes it, and brought to where it is read.
    arena::Rows drawn(const arena::Rows& v, const MessageSet& set, arena::Queue* queue) {
        const auto stride = std::max<int64_t>(parts_.numbers(), 1);
        if (queue || drawn_.rows().count != v.count) {
            // What launches still copy is not drawn over.
            arena::keep(queue, std::make_shared<arena::Buffer>(std::move(drawn_)));
            drawn_ = arena::Buffer(arena::DType::float64, v.first, v.count, stride,
                                   arena::reached_memory());
        }
        for (int64_t i = 0; i < v.count; ++i)
            draw(set.of(v.first + i), drawn_.rows().row<double>(i));
        if (!queue) return drawn_.rows();
        if (read_.rows().count != v.count) {
            arena::keep(queue, std::make_shared<arena::Buffer>(std::move(read_)));
            read_ = arena::Buffer(arena::DType::float64, v.first, v.count, stride);
        }
        arena::copy(drawn_.rows(), read_.rows(), {0, stride}, queue);
        return read_.rows();
    }
    /// A tensor's numbers column after column, the vectors' k-th one after another.
    void draw(const MessageKey& key, double* z) const {
        int tensor = 0;
        for (const arena::LowRankPart& part : parts_.parts()) {
            base::Random random = key.random(tensor++);
            for (int64_t j = 0; j < part.columns; ++j) {
                for (int64_t k = 0; k < parts_.rank(); ++k) {
                    z[part.z + k * part.columns + j] = random.normal();
                }
            }
        }
    }

    arena::LowRankParts parts_;
    arena::Buffer drawn_, read_;
};

}  // namespace

CodecEntry low_rank_codec() {
    return {{"low_rank",
             "a matrix of low rank near each tensor",
             {base::Parameter::integer("rank", "1", "rank of the matrix").at_least(1)}},
            [](const base::Json& spec) -> std::unique_ptr<Codec> {
                return std::make_unique<CodecOf<LowRank, int64_t>>(spec.at("rank"));
            },
            true};
}

}  // namespace dbench::algorithms
