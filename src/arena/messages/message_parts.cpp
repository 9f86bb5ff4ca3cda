#include "arena/messages/message_parts.hpp"

#include <memory>
#include <utility>

#include "arena/grid/launch.hpp"
#include "arena/kernels.hpp"
#include "arena/messages/message_parts_kernel.hpp"
#include "arena/sums/squares_kernel.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const Magnitudes<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Magnitudes<double>& body) { run_blocks(body); }
void on_host(const PartNumbers& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Whole, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Whole, double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Halves, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Halves, double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Signs, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Signs, double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Levels, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Levels, double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Residues, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const EncodeParts<Residues, double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ApproachResidues<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ApproachResidues<double>& body) { run_blocks(body); }
void on_host(const AddCounts& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddParts<Whole, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddParts<Whole, double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddParts<Halves, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddParts<Halves, double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddParts<Signs, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddParts<Signs, double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddParts<Levels, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddParts<Levels, double>& body) { run_blocks(body); }

namespace {

int64_t code_bits(const Whole&, DType type) { return 8 * size_of(type); }
int64_t code_bits(const Halves&, DType) { return 16; }
int64_t code_bits(const Signs&, DType) { return 1; }
int64_t code_bits(const Levels& form, DType) { return form.bits + 1; }
int64_t code_bits(const Residues& form, DType) { return form.bits; }

using Received = ReadOnlyLists<WeightedMessage>;
void add_reads(const Received& received, int64_t bytes, std::vector<Access>& to) {
    for (const WeightedMessage& one : received.all.values())
        to.push_back(reads(one.message, bytes));
}

Access messages_of(Rows messages, int64_t bytes, bool writes) {
    return {messages.data, messages.count, messages.stride * size_of(messages.type), bytes, writes};
}

void magnitudes(const Layout& layout, Rows rows, double* out, Queue& queue) {
    count_passes(rows.type, layout.all(), rows.count, 0, Kernel::codec);
    const SegmentGrid grid(layout, rows.count, layout.all(), out, queue);
    const auto accesses = [&] {
        return std::vector<Access>{reads(rows, layout.all()),
                                   writes(out, rows.count * grid.all * kDoubleBytes)};
    };
    with_type(rows.type, [&]<class T>() {
        launch(queue, "magnitudes", Magnitudes<T>{grid, rows}, accesses);
    });
}

}  // namespace

template <class Form>
int64_t MessageParts<Form>::bytes(const Form& form, int64_t numel, DType type) {
    const int64_t number = Form::kNumber == PartNumber::none ? 0 : size_of(type);
    return number + (numel * code_bits(form, type) + 7) / 8;
}

template <class Form>
MessageParts<Form>::MessageParts(Form form, const Layout& layout, DType type)
    : form_(form), layout_(layout), type_(type) {
    std::vector<MessagePart> parts;
    int64_t segment = 0;
    for (const Tensor& tensor : layout.tensors()) {
        const int64_t segments = (tensor.numel + kBlock - 1) / kBlock;
        parts.push_back({tensor.offset, tensor.numel, bytes_, segment, segments});
        segment += segments;
        bytes_ += bytes(form, tensor.numel, type);
    }
    DBENCH_EXPECT(segment == static_cast<int64_t>(layout.segments().size()));
    parts_ = ReadOnlyArray(std::move(parts));
}

template <class Form>
void MessageParts<Form>::encode(Rows v, const Draws& draws, Rows messages, Queue& queue) {
    DBENCH_EXPECT(v.type == type_ && messages.count == v.count &&
                  bytes_ <= messages.stride * size_of(messages.type));
    const auto tensors = static_cast<int64_t>(parts_.size());
    const auto segments = static_cast<int64_t>(layout_.segments().size());
    const int64_t stride = messages.stride * size_of(messages.type);
    double* numbers = nullptr;
    if constexpr (Form::kNumber != PartNumber::none) {
        const int64_t wanted = v.count * (segments + tensors);
        if (sums_.rows().stride < wanted) {
            keep(queue, std::make_shared<Buffer>(std::move(sums_)));
            sums_ = queue.memories().rows(DType::float64, 0, 1, wanted);
        }
        double* const sums = sums_.rows().template row<double>(0);
        numbers = sums + v.count * segments;
        if (Form::kNumber == PartNumber::norm) {
            squares(layout_, v, layout_.all(), sums, queue);
        } else {
            magnitudes(layout_, v, sums, queue);
        }
        const PartNumbers body{.number = Form::kNumber,
                               .type = type_,
                               .parts = parts_.on(queue),
                               .tensors = tensors,
                               .segments = segments,
                               .rows = v.count,
                               .sums = sums,
                               .out = numbers,
                               .messages = messages.at(0, 0),
                               .stride = stride};
        launch(queue, "part_numbers", body, [&] {
            return std::vector<Access>{reads(sums, v.count * segments * kDoubleBytes),
                                       writes(numbers, v.count * tensors * kDoubleBytes),
                                       messages_of(messages, bytes_, true)};
        });
    }
    count_passes(v.type, layout_.all(), v.count, 0, Kernel::codec);
    count_bytes(0, v.count * bytes_, Kernel::codec);
    const SegmentGrid grid(layout_, v.count, layout_.all(), nullptr, queue);
    const auto accesses = [&] {
        std::vector<Access> all{reads(v, layout_.all()), messages_of(messages, bytes_, true)};
        if (numbers) all.push_back(reads(numbers, v.count * tensors * kDoubleBytes));
        return all;
    };
    with_type(type_, [&]<class T>() {
        const EncodeParts<Form, T> body{.form = form_,
                                        .grid = grid,
                                        .parts = parts_.on(queue),
                                        .rows = v,
                                        .numbers = numbers,
                                        .tensors = tensors,
                                        .draws = draws,
                                        .messages = messages.at(0, 0),
                                        .stride = stride};
        launch(queue, "encode_parts", body, accesses);
    });
}

template <class Form>
void MessageParts<Form>::add(Rows out, std::span<const std::vector<WeightedMessage>> messages,
                             Queue& queue) const requires(!std::is_same_v<Form, Residues>) {
    DBENCH_EXPECT(out.type == type_ && std::ssize(messages) == out.count);
    const Received received(messages);
    const auto many = static_cast<int64_t>(received.all.size());
    if (many == 0) return;
    count_passes(type_, layout_.all(), out.count, out.count, Kernel::codec);
    count_bytes(many * bytes_, 0, Kernel::codec);
    const auto accesses = [&] {
        std::vector<Access> all{reads(out, layout_.all()), writes(out, layout_.all())};
        add_reads(received, bytes_, all);
        return all;
    };
    const SegmentGrid grid(layout_, out.count, layout_.all(), nullptr, queue);
    with_type(type_, [&]<class T>() {
        const AddParts<Form, T> body{.form = form_,
                                     .grid = grid,
                                     .parts = parts_.on(queue),
                                     .out = out,
                                     .messages = received.all.on(queue),
                                     .first = received.first.on(queue)};
        launch(queue, "add_parts", body, accesses);
    });
}

template class MessageParts<Whole>;
template class MessageParts<Halves>;
template class MessageParts<Signs>;
template class MessageParts<Levels>;
template class MessageParts<Residues>;

void approach_residues(const MessageParts<Residues>& parts, const Layout& layout, Rows x,
                       std::span<const std::vector<WeightedMessage>> messages, const Draws& draws,
                       double gamma, double* counts, Rows far, Queue& queue) {
    DBENCH_EXPECT(std::ssize(messages) == x.count && far.count == x.count);
    const auto segments = static_cast<int64_t>(layout.segments().size());
    const int64_t bytes = x.count * segments * kDoubleBytes;
    const Received received(messages);
    count_passes(x.type, layout.all(), x.count, x.count, Kernel::codec);
    count_bytes(static_cast<int64_t>(received.all.size()) * parts.bytes(), 0, Kernel::codec);
    const SegmentGrid grid =
        SegmentGrid(layout, x.count, layout.all(), counts, queue).with_a_block_per_piece();
    const auto accesses = [&] {
        std::vector<Access> all{reads(x, layout.all()), writes(x, layout.all()),
                                writes(counts, bytes)};
        add_reads(received, parts.bytes(), all);
        return all;
    };
    with_type(x.type, [&]<class T>() {
        const ApproachResidues<T> body{.form = parts.form(),
                                       .gamma = gamma,
                                       .grid = grid,
                                       .parts = parts.parts().on(queue),
                                       .x = x,
                                       .messages = received.all.on(queue),
                                       .first = received.first.on(queue),
                                       .draws = draws};
        launch(queue, "approach_residues", body, accesses);
    });
    launch(queue, "add_counts", AddCounts{x.count, segments, counts, far}, [&] {
        return std::vector<Access>{reads(counts, bytes), reads(far, {0, 1}), writes(far, {0, 1})};
    });
}

}  // namespace dbench::arena
