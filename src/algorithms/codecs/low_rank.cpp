// The codec low_rank: approximates each tensor by a matrix of rank r. The tensor is read as a
// matrix M with one row per index of its first dimension. The message is P Q' with P = orth(M Z), Q
// = M' P, and Z keyed normal random numbers (one step of the power iteration of PowerSGD: Vogels et
// al. 2019, arXiv 1905.13727). It has r (rows + columns) values per tensor. Tensors with one
// dimension, and tensors that would not become smaller, are sent uncompressed.

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
                arena::Queue& queue) override {
        parts_.encode(v, draw_rows(v, set, queue), messages, queue);
    }
    void add(arena::Rows out, std::span<const std::vector<Incoming>> messages, const MessageSet&,
             arena::Queue& queue) override {
        parts_.add(out, without_senders(messages), queue);
    }

private:
    /// Draws Z for each row in memory that the host writes, and copies it to the memory that
    /// kernels read.
    arena::Rows draw_rows(const arena::Rows& v, const MessageSet& set, arena::Queue& queue) {
        const auto stride = std::max<int64_t>(parts_.numbers(), 1);
        if (!queue.immediate() || host_numbers_.rows().count != v.count) {
            // Queued launches may still copy the old numbers, so they must not be overwritten.
            arena::keep(queue, std::make_shared<arena::Buffer>(std::move(host_numbers_)));
            host_numbers_ =
                queue.memories().host_visible_rows(arena::DType::float64, v.first, v.count, stride);
        }
        for (int64_t i = 0; i < v.count; ++i)
            draw(set.of(v.first + i), host_numbers_.rows().row<double>(i));
        if (queue.immediate()) return host_numbers_.rows();
        if (device_numbers_.rows().count != v.count) {
            arena::keep(queue, std::make_shared<arena::Buffer>(std::move(device_numbers_)));
            device_numbers_ =
                queue.memories().rows(arena::DType::float64, v.first, v.count, stride);
        }
        arena::copy(host_numbers_.rows(), device_numbers_.rows(), {0, stride}, queue);
        return device_numbers_.rows();
    }
    /// Draws a tensor's numbers vector by vector; the elements of a vector are consecutive.
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
    arena::Buffer host_numbers_, device_numbers_;
};

struct LowRankSpec {
    int64_t rank;

    static const base::Section<LowRankSpec>& section();
};

const base::Section<LowRankSpec>& LowRankSpec::section() {
    static const base::Section<LowRankSpec> keys{
        {base::Parameter::integer("rank", "1", "rank of the matrix").at_least(1),
         &LowRankSpec::rank},
    };
    return keys;
}

std::unique_ptr<Codec> make_low_rank(const LowRankSpec& spec) {
    return std::make_unique<CodecFromForm<LowRank, int64_t>>(spec.rank);
}

}  // namespace

CodecEntry low_rank_codec() {
    return {"low_rank", "a matrix of low rank that approximates each tensor", make_low_rank, true};
}

}  // namespace dbench::algorithms
