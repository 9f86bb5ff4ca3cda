#pragma once
// Codecs whose elements have codes of fixed width: kernels compute them, on a queue where there is
// one (arena/messages/message_parts.hpp).

#include <memory>
#include <vector>

#include "algorithms/codecs/codec.hpp"
#include "arena/messages/message_parts.hpp"

namespace dbench::algorithms {

template <class Form>
class PartsCoder final : public Coder {
public:
    PartsCoder(Form form, const arena::Layout& layout, arena::DType type)
        : parts_(form, layout, type) {}
    int64_t bytes() const override { return parts_.bytes(); }
    void encode(arena::Rows v, const MessageSet& set, arena::Rows messages,
                arena::Queue* queue) override {
        constexpr auto kPurpose = base::Purpose::message;
        const arena::Draws draws{base::Random(set.seed, kPurpose).key(),
                                 static_cast<uint32_t>(kPurpose), v.first, set.iteration, set.part};
        parts_.encode(v, draws, messages, queue);
    }
    void add(arena::Rows out, std::span<const std::vector<Incoming>> messages, const MessageSet&,
             arena::Queue* queue) override {
        parts_.add(out, weighed(messages), queue);
    }

private:
    arena::MessageParts<Form> parts_;
};

template <class Form>
std::unique_ptr<Codec> codec_in_parts(Form form) {
    return std::make_unique<CodecOf<PartsCoder<Form>, Form>>(form);
}

}  // namespace dbench::algorithms
