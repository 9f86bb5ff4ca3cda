// The codec top_k: sends the k elements of each tensor with the largest magnitude; ties go to the
// lower index, and a NaN counts as the largest. All other elements are decoded as 0. A message has
// k indices of 32 bits and k values per tensor: 8 k bytes in float32.

#include <nlohmann/json.hpp>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/codecs/sparse.hpp"

namespace dbench::algorithms {
namespace {

class TopK final : public Coder {
public:
    TopK(double ratio, const arena::Layout& layout, arena::DType type)
        : parts_(layout, type, kept(ratio, layout), true, false) {}
    int64_t bytes() const override { return parts_.bytes(); }
    void encode(arena::Rows v, const MessageSet&, arena::Rows messages,
                arena::Queue& queue) override {
        parts_.send_largest(v, messages, queue);
    }
    void add(arena::Rows out, std::span<const std::vector<Incoming>> messages, const MessageSet&,
             arena::Queue& queue) override {
        std::vector<std::vector<arena::ChosenMessage>> chosen(messages.size());
        for (size_t i = 0; i < messages.size(); ++i) {
            for (const Incoming& one : messages[i]) {
                chosen[i].push_back({one.message, one.message, one.factor});
            }
        }
        parts_.add(out, chosen, queue);
    }

private:
    arena::ChosenParts parts_;
};

struct TopKSpec {
    double ratio;  ///< Share of each tensor's elements that is sent.

    static const base::Section<TopKSpec>& section();
};

const base::Section<TopKSpec>& TopKSpec::section() {
    static const base::Section<TopKSpec> keys{
        {ratio_parameter(), &TopKSpec::ratio},
    };
    return keys;
}

std::unique_ptr<Codec> make_top_k(const TopKSpec& spec) {
    return std::make_unique<CodecFromForm<TopK, double>>(spec.ratio);
}

}  // namespace

CodecEntry top_k_codec() {
    return {"top_k", "the largest elements of each tensor, with their indices", make_top_k};
}

}  // namespace dbench::algorithms
