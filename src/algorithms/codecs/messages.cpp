#include "algorithms/codecs/messages.hpp"

#include <utility>

#include "base/error.hpp"

namespace dbench::algorithms {

CompressedMessages::CompressedMessages(const AlgorithmContext& context, int part)
    : seed_(context.compression.seed), part_(part) {
    DBENCH_EXPECT(context.compression.codec);
    coder_ = context.compression.codec->coder(*context.layout, context.type);
    const int64_t size = arena::size_of(context.type);
    stride_ = (bytes() + size - 1) / size;
}

void CompressedMessages::send(Step& step, arena::Rows v) {
    const TimedScope scope(step.timers, Time::exchange);
    coder_->encode(v, set(step), messages_.rows(), step.queue);
    token_ = step.exchange.start_messages(step.round, messages_.rows(), bytes(),
                                          comm::MessageWriter::queue);
}

void CompressedMessages::receive(Step& step, std::initializer_list<MessageSum> into) {
    const TimedScope scope(step.timers, Time::exchange);
    const auto received = step.exchange.finish_messages(token_);
    const arena::Rows messages = messages_.rows();
    for (const MessageSum& to : into) {
        std::vector<std::vector<Incoming>> incoming(static_cast<size_t>(to.rows.count));
        for (int64_t i = 0; i < to.rows.count; ++i) {
            const auto add = [&](int64_t replica, double factor, const char* message) {
                if (factor == 0) return;
                incoming[static_cast<size_t>(i)].push_back({replica, factor, message});
            };
            add(to.rows.first + i, to.own, messages.at(i, 0));
            for (const comm::UsedMessage& one : received[static_cast<size_t>(i)]) {
                add(one.replica, to.mixed * one.weight, one.message);
            }
        }
        coder_->add(to.rows, incoming, set(step), step.queue);
    }
    arena::keep(step.queue, std::exchange(token_, nullptr));
}

}  // namespace dbench::algorithms
