#include "algorithms/codecs/messages.hpp"

#include "base/error.hpp"

namespace dbench::algorithms {

CompressedMessages::CompressedMessages(const AlgorithmContext& context, int part)
    : compression_(context.compression), layout_(*context.layout), part_(part) {
    DBENCH_EXPECT(compression_.codec);
    for (const arena::Tensor& tensor : layout_.tensors()) {
        offsets_.push_back(bytes_);
        bytes_ += compression_.codec->bytes(tensor, context.type);
    }
    const int64_t size = arena::size_of(context.type);
    stride_ = (bytes_ + size - 1) / size;
}

void CompressedMessages::send(Step& step, arena::Rows v) {
    const TimedScope scope(step.timers, Time::exchange);
    step.wait("rows that are compressed");
    const arena::Rows messages = messages_.rows();
    const auto& tensors = layout_.tensors();
    for (int64_t i = 0; i < v.count; ++i) {
        const MessageKey named = key(step, v.first + i);
        for (size_t t = 0; t < tensors.size(); ++t) {
            compression_.codec->encode({tensors[t], named.random(static_cast<int>(t))}, v.type,
                                       v.at(i, tensors[t].offset), messages.at(i, 0) + offsets_[t]);
        }
    }
    token_ = step.exchange.start_messages(step.round, messages, bytes_);
}

void CompressedMessages::hear(Step& step, std::initializer_list<Heeding> into) {
    const TimedScope scope(step.timers, Time::exchange);
    const auto heard = step.exchange.finish_messages(token_);
    step.wait("rows that compressed ones are added to");
    const arena::Rows messages = messages_.rows();
    const auto& tensors = layout_.tensors();
    const auto add = [&](const Heeding& to, int64_t i, int64_t from, const char* message,
                         double factor) {
        if (factor == 0) return;
        const MessageKey named = key(step, from);
        for (size_t t = 0; t < tensors.size(); ++t) {
            compression_.codec->add({tensors[t], named.random(static_cast<int>(t))}, to.rows.type,
                                    message + offsets_[t], factor,
                                    to.rows.at(i, tensors[t].offset));
        }
    };
    for (const Heeding& to : into) {
        for (int64_t i = 0; i < to.rows.count; ++i) {
            add(to, i, to.rows.first + i, messages.at(i, 0), to.own);
            for (const comm::Heard& one : heard[static_cast<size_t>(i)]) {
                add(to, i, one.replica, one.message, to.mixed * one.weight);
            }
        }
    }
    token_.reset();
}

}  // namespace dbench::algorithms
