#pragma once
// The list of all kernels with calls on test data. The tests of each device iterate over it.

#include <cstring>
#include <vector>

#include "arena/device/memory.hpp"
#include "arena/kernels.hpp"
#include "arena/messages/chosen_parts.hpp"
#include "arena/messages/coded_sums.hpp"
#include "arena/messages/element_codec.hpp"
#include "arena/messages/link_matrices.hpp"
#include "arena/messages/low_rank_parts.hpp"
#include "arena/messages/message_parts.hpp"
#include "arena/passes/windows.hpp"
#include "arena/random_rows.hpp"
#include "arena/sums/row_factors.hpp"
#include "arena/tree.hpp"
#include "arena/updates/accum_adam.hpp"
#include "arena/updates/adaptive.hpp"
#include "arena/updates/qg_adam.hpp"

namespace dbench::arena::cases {

inline constexpr int64_t kRows = 5;

/// Everything that a kernel might read or write.
struct Material {
    Layout layout = ragged_layout();
    Columns columns;
    std::vector<Buffer> rows;
    std::vector<double> decay = {0, 0.1, 0, 0.2, 0.1, 0, 0.3};
    HostVisibleArray<double> squared, mean, m2, factor;
    HostVisibleArray<uint16_t> words;
    HostVisibleArray<Window> windows;

    /// Everything is in host-visible memory.
    Material(DType type, Columns in, const Memories& memories = host_memories())
        : columns(in),
          squared(memories.values<double>(kRows * layout.segments().size(), -1)),
          mean(memories.values<double>(static_cast<size_t>(layout.columns()), -1)),
          m2(memories.values<double>(layout.segments().size(), -1)),
          factor(memories.copy_of(std::vector<double>{1, 2, 0.5, 0.1, 3})),
          words(memories.values<uint16_t>(static_cast<size_t>(layout.columns()))),
          windows(memories.copy_of(
              std::vector<Window>{{3, 0, 0, false}, {0, -3, 2, true}, {3, 1, -4, false}})) {
        for (uint64_t k = 0; k < 7; ++k) {
            rows.push_back(random_rows(layout, type, kRows, k, 0, memories));
        }
        for (const size_t moment : {4, 5}) {  // Second moments are not negative.
            with_type(type, [&]<class T>() {
                for (int64_t c = 0; c < kRows * layout.columns(); ++c) {
                    T& value = rows[moment].rows().row<T>(0)[c];
                    value = value < 0 ? -value : value;
                }
            });
        }
    }
    /// A copy in other memory.
    Material(const Material& other, const Memories& memories = host_memories())
        : columns(other.columns),
          squared(memories.copy_of(other.squared)),
          mean(memories.copy_of(other.mean)),
          m2(memories.copy_of(other.m2)),
          factor(memories.copy_of(other.factor)),
          words(memories.copy_of(other.words)),
          windows(memories.copy_of(other.windows)) {
        for (const Buffer& from : other.rows) {
            const Rows r = from.rows();
            const Buffer& to =
                rows.emplace_back(memories.host_visible_rows(r.type, r.first, r.count, r.stride));
            std::memcpy(to.rows().data, r.data, static_cast<size_t>(from.bytes()));
        }
    }
    Rows at(size_t k) const { return rows[k].rows(); }
    /// Sums over segments are only defined if the columns are whole segments.
    double* sums() { return columns == layout.all() ? squared.data() : nullptr; }
    std::vector<std::vector<Term>> terms(const Rows& from, int degree) const {
        std::vector<std::vector<Term>> all(kRows);
        for (int64_t i = 0; i < kRows; ++i) {
            for (int k = 0; k < degree; ++k) {
                all[i].push_back({from.at((i + k) % kRows, 0), 1.0 / degree});
            }
        }
        return all;
    }
    std::vector<Summand> leaves() const {
        std::vector<Summand> all;
        for (int64_t i = 0; i < kRows; ++i) all.push_back({{i, i + 1}, at(0).at(i, 0)});
        return all;
    }

    bool operator==(const Material& other) const {
        bool same = squared == other.squared && mean == other.mean && m2 == other.m2 &&
                    words == other.words;
        for (size_t k = 0; k < rows.size(); ++k) same &= same_bits(at(k), other.at(k));
        return same;
    }
};

/// Returns rows that launches on the queue and the host access.
inline std::shared_ptr<Buffer> shared_rows(const Queue& queue, DType type, int64_t first,
                                           int64_t count, int64_t stride) {
    return std::make_shared<Buffer>(queue.memories().host_visible_rows(type, first, count, stride));
}

struct Case {
    const char* name;
    void (*run)(Material&, Queue&);
};

template <int kDegree, bool kInPlace>
void mix(Material& m, Queue& queue) {
    const Rows out = kInPlace ? m.at(0) : m.at(1);
    weighted_sums(m.terms(m.at(0), kDegree), out, m.columns, queue);
    weighted_means(m.terms(m.at(0), kDegree), out, m.columns, queue);
    weighted_changes(m.terms(m.at(0), kDegree), out, m.columns, queue);
}

template <ElementCodec kCodec>
void convert(Material& m, Queue& queue) {
    const int64_t count = m.columns.count();
    encode(kCodec, m.at(0).type, m.at(0).data, m.words.data(), count, queue);
    decode(kCodec, m.at(0).type, m.words.data(), m.at(1).data, count, queue);
    quantize(kCodec, m.at(0).type, m.at(0).data, m.at(2).data, count, queue);
}

/// Sums two terms of the same words, into a row and in place.
template <ElementCodec kCodec>
void coded(Material& m, Queue& queue) {
    const int64_t count = m.columns.count();
    const DType type = m.at(0).type;
    encode(kCodec, type, m.at(0).data, m.words.data(), count, queue);
    const std::vector<CodedTerm> terms{{m.words.data(), 0.3}, {m.words.data(), 0.2}};
    coded_mean(kCodec, type, m.at(1).data, terms, true, m.at(2).data, count, queue);
    coded_mean(kCodec, type, m.at(1).data, terms, false, m.at(1).data, count, queue);
    coded_shift(kCodec, type, m.at(1).data, m.at(0).data, true, m.at(3).data, count, queue);
    coded_shift(kCodec, type, m.at(1).data, m.at(0).data, false, m.at(1).data, count, queue);
}

/// Makes messages of rows 0 and adds them to rows 1 and 2, three messages per row. One of the
/// messages ends well before the end of its memory, another one does not.
template <class Form>
void parts(Material& m, Queue& queue, Form form) {
    if (!m.sums()) return;
    const DType type = m.at(0).type;
    const auto coder = std::make_shared<MessageParts<Form>>(form, m.layout, type);
    const int64_t stride = (coder->bytes() + size_of(type) - 1) / size_of(type);
    const auto messages = shared_rows(queue, type, 2, kRows, stride);
    coder->encode(m.at(0), {0x0123456789abcdef, 11, 2, 3, 1}, messages->rows(), queue);
    for (const size_t out : {1, 2}) {
        std::vector<std::vector<WeightedMessage>> received(kRows);
        for (int64_t i = 0; i < kRows; ++i) {
            for (const int64_t k : {i, kRows - 1, (i + 2) % kRows}) {
                received[static_cast<size_t>(i)].push_back(
                    {messages->rows().at(k, 0), k == i ? 0.5 : -0.3});
            }
        }
        received[1].clear();
        coder->add(m.at(out), received, queue);
    }
    keep(queue, coder);
    keep(queue, messages);
}

/// Makes messages of some elements of rows 0, taken as one row, and adds them to rows 1. Either the
/// largest elements of few distinct values, so that many equal the smallest one that is sent, or
/// elements with known indices.
template <bool kLargest>
void chosen(Material& m, Queue& queue) {
    if (!m.sums()) return;
    const auto together = [&](size_t k) {
        const Rows all = m.at(k);
        return Rows{all.data, all.type, all.space, 0, 1, all.count * all.stride};
    };
    const DType type = m.at(0).type;
    const auto layout = std::make_shared<Layout>();
    layout->add("few", {5}, TensorKind::bias);
    layout->add("many", {40000}, TensorKind::weight);
    layout->add("all", {16384}, TensorKind::weight);
    const std::vector<int64_t> kept{2, 4000, 16384};
    const auto parts = std::make_shared<ChosenParts>(*layout, type, kept, kLargest, !kLargest);
    const auto message = shared_rows(queue, type, 0, 1, parts->bytes() / size_of(type) + 1);
    const auto indices =
        std::make_shared<HostVisibleArray<uint32_t>>(queue.memories().values<uint32_t>(0));
    quantize(ElementCodec::bfloat16, type, m.at(0).data, m.at(0).data, together(0).stride, queue);
    if (kLargest) {
        parts->send_largest(together(0), message->rows(), queue);
    } else {
        for (const ChosenPart& part : parts->parts()) {
            for (int64_t c = 0; c < part.kept; ++c) {
                indices->push_back(static_cast<uint32_t>(c * (part.numel / part.kept)));
            }
        }
        const uint32_t* const known[] = {indices->data()};
        parts->send(together(0), known, message->rows(), queue);
    }
    const char* const sent = message->rows().at(0, 0);
    const char* const where = kLargest ? sent : reinterpret_cast<const char*>(indices->data());
    const std::vector<std::vector<ChosenMessage>> received{
        {{where, sent, 0.5}, {where, sent, -0.3}}};
    parts->add(together(1), received, queue);
    for (const std::shared_ptr<void>& kept_until_then :
         {std::shared_ptr<void>(layout), std::shared_ptr<void>(parts),
          std::shared_ptr<void>(message), std::shared_ptr<void>(indices)}) {
        keep(queue, kept_until_then);
    }
}

/// Makes low-rank messages of rows 0 and adds them to rows 1.
template <int kRank>
void low_rank(Material& m, Queue& queue) {
    if (!m.sums()) return;
    const DType type = m.at(0).type;
    const auto parts = std::make_shared<LowRankParts>(m.layout, type, kRank);
    const auto message = shared_rows(queue, type, 2, kRows, parts->bytes() / size_of(type) + 1);
    const auto z = shared_rows(queue, DType::float64, 2, kRows, parts->numbers());
    base::Random random(3, base::Purpose::regression);
    for (int64_t c = 0; c < kRows * parts->numbers(); ++c) {
        z->rows().row<double>(0)[c] = random.normal();
    }
    parts->encode(m.at(0), z->rows(), message->rows(), queue);
    std::vector<std::vector<WeightedMessage>> received(kRows);
    for (int64_t i = 0; i < kRows; ++i) {
        received[static_cast<size_t>(i)] = {{message->rows().at(i, 0), 0.5},
                                            {message->rows().at((i + 1) % kRows, 0), -0.3}};
    }
    parts->add(m.at(1), received, queue);
    for (const std::shared_ptr<void>& kept :
         {std::shared_ptr<void>(parts), std::shared_ptr<void>(message), std::shared_ptr<void>(z)}) {
        keep(queue, kept);
    }
}

/// Runs PowerGossip on rows 0 in a ring: first without known vectors, then with the computed ones.
inline void links(Material& m, Queue& queue) {
    if (!m.sums()) return;
    const DType type = m.at(0).type;
    const auto of = std::make_shared<LinkMatrices>(m.layout, type);
    const auto rows = [&](int64_t each) { return shared_rows(queue, type, 0, kRows, 2 * each); };
    const auto p = rows(of->all(LinkFactor::p)), q = rows(of->all(LinkFactor::q));
    const auto messages = rows(std::max(of->elements(LinkFactor::p), of->elements(LinkFactor::q)));
    std::vector<MatrixLink> ring;
    for (int64_t i = 0; i < kRows; ++i) {
        for (const int64_t step : {int64_t{1}, kRows - 1}) {
            const int64_t j = (i + step) % kRows;
            ring.push_back({i, step == 1 ? 0 : 1, std::min(i, j), std::max(i, j)});
        }
    }
    for (const LinkFactor found : {LinkFactor::p, LinkFactor::q, LinkFactor::p}) {
        const Rows known = (found == LinkFactor::p ? q : p)->rows();
        of->send(m.at(0), known, found, ring, {.root = 7, .purpose = 2, .iteration = 3},
                 messages->rows(), queue);
        std::vector<std::vector<ReceivedOverLink>> received(kRows);
        for (int64_t i = 0; i < kRows; ++i) {  // The message that j sends over its link to i.
            const int64_t next = (i + 1) % kRows, last = (i + kRows - 1) % kRows;
            received[static_cast<size_t>(i)] = {
                {messages->rows().at(next, of->elements(found)), 0.3, i < next},
                {messages->rows().at(last, 0), 0.3, i < last}};
        }
        of->take(m.at(0), p->rows(), q->rows(), found, received, messages->rows(), queue);
    }
    for (const std::shared_ptr<void>& kept :
         {std::shared_ptr<void>(of), std::shared_ptr<void>(p), std::shared_ptr<void>(q),
          std::shared_ptr<void>(messages)}) {
        keep(queue, kept);
    }
}

/// Moves rows 0 towards those of the next two replicas, by residues.
template <int kBits>
void residues(Material& m, Queue& queue) {
    if (!m.sums()) return;
    const DType type = m.at(0).type;
    const auto coder =
        std::make_shared<MessageParts<Residues>>(Residues{kBits, 0.7}, m.layout, type);
    const int64_t stride = (coder->bytes() + size_of(type) - 1) / size_of(type);
    const auto messages = shared_rows(queue, type, 2, kRows, stride);
    const auto far = shared_rows(queue, DType::float64, 2, kRows, 1);
    const Draws draws{0x0123456789abcdef, 11, 0, 3, 0, true};
    coder->encode(m.at(0), draws, messages->rows(), queue);
    std::vector<std::vector<WeightedMessage>> received(kRows);
    for (int64_t i = 0; i < kRows; ++i) {
        received[static_cast<size_t>(i)] = {{messages->rows().at(i, 0), 0},
                                            {messages->rows().at((i + 1) % kRows, 0), 0.3},
                                            {messages->rows().at((i + 2) % kRows, 0), 0.2}};
    }
    approach_residues(*coder, m.layout, m.at(0), received, draws, 0.4, m.sums(), far->rows(),
                      queue);
    for (const std::shared_ptr<void>& kept :
         {std::shared_ptr<void>(coder), std::shared_ptr<void>(messages),
          std::shared_ptr<void>(far)}) {
        keep(queue, kept);
    }
}

/// Gathers images of arbitrary bytes, larger than a block, with arbitrary values.
template <Planes kPlanes>
void gather(Material& m, Queue& queue) {
    const Pictures pictures{static_cast<const uint8_t*>(m.at(0).data), 4, 3, 40, 45};
    gather_windows(pictures, m.windows, m.at(2).data, m.at(0).type, kPlanes, m.at(1).data, queue);
}

/// Multiplies rows 1 by factors from the norms of rows 0, some of which are longer than others.
template <FactorRule kRule>
void factors(Material& m, Queue& queue) {
    if (!m.sums()) return scale_each(m.at(1), m.columns, m.factor.data(), queue);
    scale_each(m.at(0), m.columns, m.factor.data(), queue);
    squares(m.layout, m.at(0), m.columns, m.sums(), queue);
    norm_factors(m.layout, kRows, m.sums(), kRule, 30, m.mean.data(), queue);
    scale_each(m.at(1), m.columns, m.mean.data(), queue);
}

template <bool kNesterov>
void sgd(Material& m, Queue& queue) {
    sgd_update(m.layout, m.at(0), m.at(0), m.at(1), m.at(2), m.at(3), m.columns,
               {0.1, 0.9, kNesterov, m.decay}, m.sums(), queue);
}

template <bool kDecoupled>
void adam(Material& m, Queue& queue) {
    const AdamHyperparameters numbers{0.1, 0.9, 0.99, 1e-8, 4, kDecoupled, m.decay};
    adam_update(m.layout, m.at(6), m.at(0), m.at(1), m.at(2), m.at(3), m.at(4),
                kDecoupled ? m.at(5) : Rows{}, m.columns, numbers, m.sums(), queue);
}

template <int kWindow>
void accum_adam(Material& m, Queue& queue) {
    const AdamHyperparameters numbers{0.1, 0.9, 0.99, 1e-8, 4, true, m.decay};
    accum_adam_update(m.layout, m.at(0), m.at(0), m.at(1), m.at(2), m.at(3), m.at(4), m.at(6),
                      m.columns, {numbers, kWindow}, m.sums(), queue);
}

inline const Case kKernels[] = {
    {"sgd", sgd<false>},
    {"sgd with Nesterov's momentum", sgd<true>},
    {"sgd without momentum",
     [](Material& m, Queue& queue) {
         sgd_update(m.layout, m.at(1), m.at(0), m.at(0), m.at(2), {}, m.columns,
                    {0.1, 0, false, m.decay}, m.sums(), queue);
     }},
    {"adam", adam<false>},
    {"adamw with amsgrad", adam<true>},
    {"accum_adam inside a window", accum_adam<3>},
    {"accum_adam at the end of a window", accum_adam<2>},
    {"qg_adam",
     [](Material& m, Queue& queue) {
         const QgAdamHyperparameters numbers{0.1, 0.9, 0.99, 1e-8, 3};
         qg_adam_update(m.layout, m.at(1), m.at(0), m.at(2), m.at(3), m.at(4), m.columns, numbers,
                        m.sums(), queue);
         qg_adam_moments(m.layout, m.at(0), m.at(1), m.factor.data(), m.at(3), m.at(4), m.columns,
                         numbers, queue);
     }},
    {"dadam",
     [](Material& m, Queue& queue) {
         dadam_update(m.layout, m.at(0), m.at(0), m.at(2), m.at(3), m.at(4), m.at(5), m.columns,
                      {0.1, 0.9, 0.99, 0.8, 1e-8, 3}, m.sums(), queue);
     }},
    {"largest_moments",
     [](Material& m, Queue& queue) {
         largest_moments(m.layout, m.at(2), m.at(3), m.at(4), m.at(5), m.columns, 0.9, 0.99, 1e-3,
                         queue);
     }},
    {"descend_by_size",
     [](Material& m, Queue& queue) {
         descend_by_size(m.layout, m.at(1), m.at(0), m.at(2), m.at(6), m.columns, 0.1, 1e-8,
                         m.sums(), queue);
     }},
    {"approach_adaptively",
     [](Material& m, Queue& queue) {
         approach_adaptively(m.layout, m.at(0), m.at(1), m.at(2), m.at(4), m.columns, {0.5, 0.9, 2},
                             queue);
     }},
    {"squares",
     [](Material& m, Queue& queue) {
         if (m.sums()) squares(m.layout, m.at(0), m.columns, m.sums(), queue);
     }},
    {"one term", mix<1, false>},
    {"three terms", mix<3, false>},
    {"three terms in place", mix<3, true>},
    {"nineteen terms", mix<19, false>},
    {"nineteen terms in place", mix<19, true>},
    {"tree_sum",
     [](Material& m, Queue& queue) {
         tree_sum(m.at(0).type, kRows, m.leaves(), m.at(1).data, m.columns, queue);
     }},
    {"tree_mean",
     [](Material& m, Queue& queue) {
         tree_mean(m.at(0).type, kRows, m.leaves(), m.at(0).data, m.columns, queue);
     }},
    {"tree_moments",
     [](Material& m, Queue& queue) {
         const Interval nodes[] = {{0, kRows}};
         if (!m.sums()) return;
         tree_moments(m.layout, kRows, m.at(0), nodes, m.columns, m.mean.data(), m.m2.data(),
                      queue);
     }},
    {"combine_moments",
     [](Material& m, Queue& queue) {
         if (!m.sums()) return;
         const Moments parts[] = {{{0, 3}, m.mean.data(), m.m2.data()},
                                  {{3, 5}, m.mean.data(), m.squared.data()}};
         combine_moments(m.layout, kRows, parts, m.columns, m.mean.data(), m.m2.data(), queue);
     }},
    {"bfloat16", convert<ElementCodec::bfloat16>},
    {"float16", convert<ElementCodec::float16>},
    {"sums over bfloat16", coded<ElementCodec::bfloat16>},
    {"sums over float16", coded<ElementCodec::float16>},
    {"whole parts", [](Material& m, Queue& queue) { parts(m, queue, Whole{}); }},
    {"bfloat16 parts",
     [](Material& m, Queue& queue) {
         parts(m, queue, Halves{ElementCodec::bfloat16, false});
     }},
    {"stochastic float16 parts",
     [](Material& m, Queue& queue) {
         parts(m, queue, Halves{ElementCodec::float16, true});
     }},
    {"stochastic bfloat16 parts",
     [](Material& m, Queue& queue) {
         parts(m, queue, Halves{ElementCodec::bfloat16, true});
     }},
    {"parts of signs", [](Material& m, Queue& queue) { parts(m, queue, Signs{}); }},
    {"parts of 1 bit and sign",
     [](Material& m, Queue& queue) {
         parts(m, queue, Levels{1, true});
     }},
    {"parts of 7 bits and sign",
     [](Material& m, Queue& queue) {
         parts(m, queue, Levels{7, false});
     }},
    {"parts of 16 bits and sign",
     [](Material& m, Queue& queue) {
         parts(m, queue, Levels{16, false});
     }},
    {"the largest elements", chosen<true>},
    {"elements with known indices", chosen<false>},
    {"matrices of rank 1", low_rank<1>},
    {"matrices of rank 2", low_rank<2>},
    {"matrices of rank 3", low_rank<3>},
    {"matrices of links", links},
    {"residues in 4 bits", residues<4>},
    {"residues in 11 bits", residues<11>},
    {"gather_windows", gather<Planes::first>},
    {"gather_windows, planes last", gather<Planes::last>},
    {"fill_zero", [](Material& m, Queue& queue) { fill_zero(m.at(0), m.columns, queue); }},
    {"copy", [](Material& m, Queue& queue) { copy(m.at(0), m.at(1), m.columns, queue); }},
    {"scale", [](Material& m, Queue& queue) { scale(m.at(0), m.columns, 0.3, queue); }},
    {"norm_factors", factors<FactorRule::at_most>},
    {"norm_factors, inverse", factors<FactorRule::inverse>},
};

}  // namespace dbench::arena::cases
