#include "arena/messages/low_rank_parts.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "arena/grid/launch.hpp"
#include "arena/messages/low_rank_parts_kernel.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const RowProducts<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const RowProducts<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Orthonormalise<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Orthonormalise<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ColumnProducts<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ColumnProducts<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddLowRank<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AddLowRank<double>& body) { run_blocks(body); }

LowRankParts::LowRankParts(const Layout& layout, DType type, int64_t rank)
    : layout_(layout), type_(type), rank_(rank) {
    std::vector<LowRankPart> parts;
    std::vector<int64_t> matrices;
    std::vector<LowRankPiece> by_rows, by_columns;
    const auto add_pieces = [](std::vector<LowRankPiece>& to, int64_t part, int64_t all,
                               int64_t width) {
        for (int64_t begin = 0; begin < all; begin += width) {
            to.push_back({part, begin, std::min(width, all - begin)});
        }
    };
    for (const Tensor& tensor : layout.tensors()) {
        LowRankPart part{tensor.offset, tensor.numel, 0, 0, bytes_, z_, p_};
        const auto number = std::ssize(parts);
        if (tensor.shape.size() > 1 && tensor.numel > 0) {
            part.rows = tensor.shape[0];
            part.columns = tensor.numel / part.rows;
        }
        const int64_t values = rank * (part.rows + part.columns);
        if (part.whole() || values >= tensor.numel) {
            part.rows = part.columns = 0;
            bytes_ += tensor.numel * size_of(type);
            add_pieces(by_rows, number, tensor.numel, kBlock);
        } else {
            bytes_ += values * size_of(type);
            z_ += rank * part.columns;
            p_ += rank * part.rows;
            matrices.push_back(number);
            add_pieces(by_rows, number, part.rows, 1);
            add_pieces(by_columns, number, part.columns, ColumnProducts<float>::kWidth);
        }
        parts.push_back(part);
    }
    parts_ = ReadOnlyArray(std::move(parts));
    matrices_ = ReadOnlyArray(std::move(matrices));
    by_rows_ = ReadOnlyArray(std::move(by_rows));
    by_columns_ = ReadOnlyArray(std::move(by_columns));
}

void LowRankParts::encode(Rows v, Rows z, Rows messages, Queue& queue) {
    DBENCH_EXPECT(v.type == type_ && messages.count == v.count && z.count == v.count &&
                  z.type == DType::float64 && z_ <= z.stride &&
                  bytes_ <= messages.stride * size_of(messages.type));
    if (products_.rows().count < v.count) {
        keep(queue, std::make_shared<Buffer>(std::move(products_)));
        products_ = queue.memories().rows(DType::float64, 0, v.count, std::max<int64_t>(p_, 1));
    }
    const Rows p = products_.rows();
    const int64_t stride = messages.stride * size_of(messages.type);
    char* const to = messages.at(0, 0);
    const auto grid = [&](const ReadOnlyArray<LowRankPiece>& pieces) {
        return LowRankGrid{
            parts_.on(queue), pieces.on(queue), std::ssize(pieces.values()), v.count, rank_, p};
    };
    const Access row = reads(v, layout_.all()), in = reads(p, {0, p_}), out = writes(p, {0, p_});
    const Access sent{messages.data, v.count, stride, bytes_, true};
    count_passes(type_, layout_.all(), 2 * v.count, 0, Kernel::codec);
    count_bytes(0, v.count * bytes_, Kernel::codec);
    with_type(type_, [&]<class T>() {
        launch(queue, "row_products", RowProducts<T>{grid(by_rows_), v, z, to, stride}, [&] {
            return std::vector<Access>{row, reads(z, {0, z_}), out, sent};
        });
        if (matrices_.size() == 0) return;
        const auto count = std::ssize(matrices_.values());
        launch(queue, "orthonormalise",
               Orthonormalise<T>{grid(by_rows_), matrices_.on(queue), count, to, stride}, [&] {
                   return std::vector<Access>{in, out, sent};
               });
        launch(queue, "column_products", ColumnProducts<T>{grid(by_columns_), v, to, stride}, [&] {
            return std::vector<Access>{row, in, sent};
        });
    });
}

void LowRankParts::add(Rows out, std::span<const std::vector<WeightedMessage>> messages,
                       Queue& queue) const {
    DBENCH_EXPECT(out.type == type_ && std::ssize(messages) == out.count);
    const ReadOnlyLists received(messages);
    const auto many = std::ssize(received.all.values());
    if (many == 0) return;
    count_passes(type_, layout_.all(), out.count, out.count, Kernel::codec);
    count_bytes(many * bytes_, 0, Kernel::codec);
    const LowRankGrid grid{
        parts_.on(queue), by_rows_.on(queue), std::ssize(by_rows_.values()), out.count, rank_, {}};
    const auto accesses = [&] {
        std::vector<Access> all{reads(out, layout_.all()), writes(out, layout_.all())};
        for (const WeightedMessage& one : received.all.values()) {
            all.push_back(reads(one.message, bytes_));
        }
        return all;
    };
    with_type(type_, [&]<class T>() {
        launch(queue, "add_low_rank",
               AddLowRank<T>{grid, out, received.all.on(queue), received.first.on(queue)},
               accesses);
    });
}

}  // namespace dbench::arena
