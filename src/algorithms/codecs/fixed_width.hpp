#pragma once
// Codecs that encode every element with a fixed number of bits. Kernels compute them
// (arena/messages/message_parts.hpp).

#include <memory>
#include <vector>

#include "algorithms/codecs/codec.hpp"
#include "arena/messages/message_parts.hpp"

namespace dbench::algorithms {

/// Encodes with the kernels of arena::MessageParts for one form (Whole, Halves, Signs, Levels).
template <class Form>
class FixedWidthCoder final : public Coder {
public:
    FixedWidthCoder(Form form, const arena::Layout& layout, arena::DType type)
        : parts_(form, layout, type) {}
    int64_t bytes() const override { return parts_.bytes(); }
    void encode(arena::Rows v, const MessageSet& set, arena::Rows messages,
                arena::Queue& queue) override {
        constexpr auto kPurpose = base::Purpose::message;
        const arena::Draws draws{base::Random(set.seed, kPurpose).key(),
                                 static_cast<uint32_t>(kPurpose), v.first, set.iteration, set.part};
        parts_.encode(v, draws, messages, queue);
    }
    void add(arena::Rows out, std::span<const std::vector<Incoming>> messages, const MessageSet&,
             arena::Queue& queue) override {
        parts_.add(out, without_senders(messages), queue);
    }

private:
    arena::MessageParts<Form> parts_;
};

/// Makes the codec of a form.
template <class Form>
std::unique_ptr<Codec> make_fixed_width_codec(Form form) {
    return std::make_unique<CodecFromForm<FixedWidthCoder<Form>, Form>>(form);
}

}  // namespace dbench::algorithms
