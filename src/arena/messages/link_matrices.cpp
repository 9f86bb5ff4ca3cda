#include "arena/messages/link_matrices.hpp"

#include <algorithm>
#include <utility>

#include "arena/grid/launch.hpp"
#include "arena/messages/link_matrices_kernel.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const NormaliseVectors<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const NormaliseVectors<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const LinkRowProducts<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const LinkRowProducts<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const LinkColumnProducts<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const LinkColumnProducts<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const FindVectors<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const FindVectors<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ApproachOverLinks<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ApproachOverLinks<double>& body) { run_blocks(body); }

LinkMatrices::LinkMatrices(const Layout& layout, DType type) : layout_(layout), type_(type) {
    std::vector<LinkMatrix> matrices;
    std::vector<int64_t> matrix_indices;
    std::vector<LinkPiece> by_rows, by_columns;
    const auto add_pieces = [&](std::vector<LinkPiece>& to, int64_t all, int64_t width) {
        for (int64_t begin = 0; begin < all; begin += width) {
            to.push_back({std::ssize(matrices), begin, std::min(width, all - begin)});
        }
    };
    for (const Tensor& tensor : layout.tensors()) {
        LinkMatrix m{tensor.offset, tensor.numel, 0, 0, all_p_, all_q_, all_whole_};
        if (tensor.shape.size() > 1 && tensor.numel > 0) {
            m.rows = tensor.shape[0];
            m.columns = tensor.numel / m.rows;
            matrix_indices.push_back(std::ssize(matrices));
            add_pieces(by_rows, m.rows, 1);
            add_pieces(by_columns, m.columns, LinkColumnProducts<float>::kWidth);
        } else {
            all_whole_ += tensor.numel;
            for (std::vector<LinkPiece>* const to : {&by_rows, &by_columns}) {
                add_pieces(*to, tensor.numel, kBlock);
            }
        }
        all_p_ += m.rows;
        all_q_ += m.columns;
        matrices.push_back(m);
    }
    matrices_ = ReadOnlyArray(std::move(matrices));
    matrix_indices_ = ReadOnlyArray(std::move(matrix_indices));
    by_rows_ = ReadOnlyArray(std::move(by_rows));
    by_columns_ = ReadOnlyArray(std::move(by_columns));
}

void LinkMatrices::send(Rows x, Rows known, LinkFactor found, std::span<const MatrixLink> links,
                        const Draws& draws, Rows messages, Queue& queue) const {
    DBENCH_EXPECT(x.type == type_ && known.type == type_ && messages.type == type_);
    if (links.empty()) return;
    const auto many = std::ssize(links);
    const LinkFactor other = found == LinkFactor::p ? LinkFactor::q : LinkFactor::p;
    const LinkVectors vectors{known, all(other)}, to{messages, elements(found)};
    const ReadOnlyArray all_links(std::vector<MatrixLink>(links.begin(), links.end()));
    const Columns all_columns{0, known.stride};
    count_passes(type_, layout_.all(), many, 0, Kernel::codec);
    with_type(type_, [&]<class T>() {
        if (matrix_indices_.size() > 0) {
            const NormaliseVectors<T> body{matrices_.on(queue),
                                           matrix_indices_.on(queue),
                                           std::ssize(matrix_indices_.values()),
                                           all_links.on(queue),
                                           many,
                                           vectors,
                                           found,
                                           draws};
            launch(queue, "normalise_vectors", body, [&] {
                return std::vector<Access>{reads(known, all_columns), writes(known, all_columns)};
            });
        }
        const auto& pieces = found == LinkFactor::p ? by_rows_ : by_columns_;
        const SendingLinks sending{matrices_.on(queue),
                                   pieces.on(queue),
                                   std::ssize(pieces.values()),
                                   all_links.on(queue),
                                   many,
                                   x,
                                   vectors,
                                   to,
                                   all(found)};
        const auto accesses = [&] {
            return std::vector<Access>{reads(x, layout_.all()), reads(known, all_columns),
                                       writes(messages, {0, messages.stride})};
        };
        if (found == LinkFactor::p) {
            launch(queue, "link_row_products", LinkRowProducts<T>{sending}, accesses);
        } else {
            launch(queue, "link_column_products", LinkColumnProducts<T>{sending}, accesses);
        }
    });
}

void LinkMatrices::take(Rows x, Rows p, Rows q, LinkFactor found,
                        std::span<const std::vector<ReceivedOverLink>> received, Rows messages,
                        Queue& queue) const {
    DBENCH_EXPECT(x.type == type_ && std::ssize(received) == x.count);
    const ReadOnlyLists all_received(received);
    const auto many = std::ssize(all_received.all.values());
    if (many == 0) return;
    const LinkVectors of_p{p, all_p_}, of_q{q, all_q_};
    const ReceivedLinks h{
        all_received.all.on(queue), all_received.first.on(queue), {messages, elements(found)}};
    count_passes(type_, layout_.all(), many, many, Kernel::codec);
    const auto read = [&](std::vector<Access> all) {
        all.push_back(reads(messages, {0, messages.stride}));
        for (const ReceivedOverLink& one : all_received.all.values()) {
            all.push_back(reads(one.message, elements(found) * size_of(type_)));
        }
        return all;
    };
    with_type(type_, [&]<class T>() {
        const Rows& changed = found == LinkFactor::p ? p : q;
        if (all(found) > 0) {
            const FindVectors<T> body{h, x.count, found == LinkFactor::p ? of_p : of_q};
            launch(queue, "find_vectors", body, [&] {
                return read({writes(changed, {0, changed.stride})});
            });
        }
        const ApproachOverLinks<T> body{
            h,    matrices_.on(queue), by_rows_.on(queue), std::ssize(by_rows_.values()), x, of_p,
            of_q, all(found)};
        launch(queue, "approach_over_links", body, [&] {
            return read({reads(x, layout_.all()), writes(x, layout_.all()), reads(p, {0, p.stride}),
                         reads(q, {0, q.stride})});
        });
    });
}

}  // namespace dbench::arena
