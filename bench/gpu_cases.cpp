// The cases of bench_gpu_kernels (gpu_cases.hpp).
#include "gpu_cases.hpp"

namespace dbench::arena {
namespace {

/// Returns terms with which row i of the result averages rows i, i + 1, ... with equal weights.
std::vector<std::vector<Term>> terms(const CaseData& m, int degree) {
    std::vector<std::vector<Term>> all(static_cast<size_t>(m.count()));
    for (int64_t i = 0; i < m.count(); ++i) {
        for (int k = 0; k < degree; ++k) {
            all[static_cast<size_t>(i)].push_back(
                {m.at(0).at((i + k) % m.count(), 0), 1.0 / degree});
        }
    }
    return all;
}

std::vector<Summand> leaves(const CaseData& m) {
    std::vector<Summand> all;
    for (int64_t i = 0; i < m.count(); ++i) all.push_back({{i, i + 1}, m.at(0).at(i, 0)});
    return all;
}

/// Returns the number of elements of a set, including padding.
int64_t elements(const CaseData& m) { return m.count() * m.layout().columns(); }

using Sums = void (*)(std::span<const std::vector<Term>>, Rows, Columns, Queue&);

template <Sums kSums, int kDegree>
void mix(CaseData& m, Queue& queue) {
    kSums(terms(m, kDegree), m.at(1), m.columns(), queue);
}
template <Sums kSums, int kDegree>
void mix_in_place(CaseData& m, Queue& queue) {
    kSums(terms(m, kDegree), m.at(0), m.columns(), queue);
}

template <bool kNesterov, bool kNorms>
void sgd(CaseData& m, Queue& queue) {
    sgd_update(m.layout(), m.at(0), m.at(0), m.at(0), m.at(2), m.at(3), m.columns(),
               {0.1, 0.9, kNesterov, m.decay()}, kNorms ? m.sums() : nullptr, queue);
}

template <bool kDecoupled>
void adam(CaseData& m, Queue& queue) {
    const AdamHyperparameters numbers{0.1, 0.9, 0.99, 1e-8, 4, kDecoupled, m.decay()};
    adam_update(m.layout(), m.at(0), m.at(0), m.at(0), m.at(2), m.at(3), m.at(4),
                kDecoupled ? m.at(5) : Rows{}, m.columns(), numbers, m.sums(), queue);
}

template <int kWindow>
void accum_adam(CaseData& m, Queue& queue) {
    const AdamHyperparameters numbers{0.1, 0.9, 0.99, 1e-8, 4, true, m.decay()};
    accum_adam_update(m.layout(), m.at(0), m.at(0), m.at(0), m.at(2), m.at(3), m.at(4), m.at(6),
                      m.columns(), {numbers, kWindow}, m.sums(), queue);
}

/// Runs update, mixing and both norms in one pass; does nothing if such a pass does not exist.
template <bool kAdam, MixOrder kOrder>
void fused(CaseData& m, Queue& queue) {
    const bool measured = m.sums() != nullptr;
    if (mixing_width(m.type(), m.count(), kOrder, measured) == 0) return;
    const Rows out = kOrder == MixOrder::adapt_then_combine ? m.at(0) : m.at(1);
    const Mixing mixing{m.ring(), kOrder, m.sums_before()};
    if (kAdam) {
        adam_update_and_mix(m.layout(), out, m.at(0), m.at(2), m.at(3), m.at(4), {}, m.columns(),
                            {0.1, 0.9, 0.99, 1e-8, 4, true, m.decay()}, m.sums(), mixing, queue);
    } else {
        sgd_update_and_mix(m.layout(), out, m.at(0), m.at(2), m.at(3), m.columns(),
                           {0.1, 0.9, false, m.decay()}, m.sums(), mixing, queue);
    }
}

constexpr QgAdamHyperparameters kQgAdam{0.1, 0.9, 0.99, 1e-8, 3};

template <ElementCodec kCodec>
void encoded(CaseData& m, Queue& queue) {
    encode(kCodec, m.type(), m.at(0).data, m.words(), elements(m), queue);
}
template <ElementCodec kCodec>
void decoded(CaseData& m, Queue& queue) {
    decode(kCodec, m.type(), m.words(), m.at(1).data, elements(m), queue);
}
template <ElementCodec kCodec>
void quantized(CaseData& m, Queue& queue) {
    quantize(kCodec, m.type(), m.at(0).data, m.at(1).data, elements(m), queue);
}

/// Adds two terms that use the same words.
template <ElementCodec kCodec>
void coded(CaseData& m, Queue& queue) {
    const CodedTerm terms[] = {{m.words(), 0.3}, {m.words(), 0.2}};
    coded_mean(kCodec, m.type(), m.at(0).data, terms, false, m.at(1).data, elements(m), queue);
}
template <ElementCodec kCodec>
void shifted(CaseData& m, Queue& queue) {
    coded_shift(kCodec, m.type(), m.at(0).data, m.at(2).data, false, m.at(1).data, elements(m),
                queue);
}

/// Encodes all rows as messages; row i receives its own message and the next one's.
template <class Form>
void send_messages(CaseData& m, Queue& queue, const char* name, Form form) {
    if (!m.sums()) return;
    MessageParts<Form>& parts = m.parts(name, form);
    parts.encode(m.at(0), {1, 2, 0, 3, 0}, m.messages(), queue);
    std::vector<std::vector<WeightedMessage>> received;
    for (int64_t i = 0; i < m.count(); ++i) {
        received.push_back(
            {{m.messages().at(i, 0), 0.5}, {m.messages().at((i + 1) % m.count(), 0), 0.25}});
    }
    parts.add(m.at(2), received, queue);
}

/// Does the same with messages of a hundredth of the elements.
template <bool kLargest>
void send_chosen_messages(CaseData& m, Queue& queue) {
    if (!m.sums()) return;
    ChosenParts& parts = m.chosen(kLargest ? "largest" : "known", kLargest);
    std::vector<const uint32_t*> indices;
    if (kLargest) {
        parts.send_largest(m.at(0), m.messages(), queue);
    } else {
        indices = m.indices(parts);
        parts.send(m.at(0), indices, m.messages(), queue);
    }
    std::vector<std::vector<ChosenMessage>> received(static_cast<size_t>(m.count()));
    for (int64_t i = 0; i < m.count(); ++i) {
        for (const int64_t k : {i, (i + 1) % m.count()}) {
            const char* const message = m.messages().at(k, 0);
            const char* const where =
                kLargest ? message : reinterpret_cast<const char*>(indices[static_cast<size_t>(k)]);
            received[static_cast<size_t>(i)].push_back({where, message, k == i ? 0.5 : 0.25});
        }
    }
    parts.add(m.at(2), received, queue);
}

void send_low_rank(CaseData& m, Queue& queue) {
    if (!m.sums()) return;
    LowRankParts& parts = m.low_rank();
    if (parts.bytes() > m.messages().stride * size_of(m.type()))
        return;  // such rows are not encoded
    parts.encode(m.at(0), m.numbers(parts), m.messages(), queue);
    std::vector<std::vector<WeightedMessage>> received;
    for (int64_t i = 0; i < m.count(); ++i) {
        received.push_back(
            {{m.messages().at(i, 0), 0.5}, {m.messages().at((i + 1) % m.count(), 0), 0.25}});
    }
    parts.add(m.at(2), received, queue);
}

void send_over_links(CaseData& m, Queue& queue) {
    if (!m.sums() || m.count() < 3) return;
    CaseData::Links& all = m.links();
    const Rows messages = all.messages.rows();
    all.matrices.send(m.at(0), all.q.rows(), LinkFactor::p, all.ring,
                      {.root = 1, .purpose = 2, .iteration = 3}, messages, queue);
    std::vector<std::vector<ReceivedOverLink>> received;
    for (int64_t i = 0; i < m.count(); ++i) {  // messages of both neighbours over their links to i
        const int64_t next = (i + 1) % m.count(), last = (i + m.count() - 1) % m.count();
        received.push_back(
            {{messages.at(next, all.matrices.elements(LinkFactor::p)), 0.3, i < next},
             {messages.at(last, 0), 0.3, i < last}});
    }
    all.matrices.take(m.at(0), all.p.rows(), all.q.rows(), LinkFactor::p, received, messages,
                      queue);
}

/// Moves row i towards the next row by the residues of both.
void approach_by_residues(CaseData& m, Queue& queue) {
    if (!m.sums()) return;
    auto& parts = m.parts("residues", Residues{4, 0.7});
    const Draws draws{.root = 1, .purpose = 2, .iteration = 3, .shared = true};
    parts.encode(m.at(0), draws, m.messages(), queue);
    std::vector<std::vector<WeightedMessage>> received;
    for (int64_t i = 0; i < m.count(); ++i) {
        received.push_back(
            {{m.messages().at(i, 0), 0}, {m.messages().at((i + 1) % m.count(), 0), 0.25}});
    }
    const Rows far{m.mean(), DType::float64, Space::host, 0, m.count(), 1};
    approach_residues(parts, m.layout(), m.at(0), received, draws, 0.3, m.sums(), far, queue);
}

/// Gathers windows; the first elements of a set are the values of bytes.
template <Planes kPlanes>
void gathered(CaseData& m, Queue& queue) {
    constexpr int64_t kValues = 3 * 256;
    if (elements(m) < kValues) return;
    gather_windows(m.pictures(), m.windows(), m.at(0).data, m.type(), kPlanes, m.at(1).data, queue);
}

/// Fills each tensor from the same rows, transposed as 2 x 3 matrices if the size allows it.
template <bool kAdds>
void filled(CaseData& m, Queue& queue) {
    std::vector<RowPart> parts;
    for (const Tensor& tensor : m.layout().tensors()) {
        RowPart part{m.at(0).at(0, tensor.offset), m.at(0).stride, tensor.offset, tensor.numel};
        if (tensor.numel % 6 == 0) std::tie(part.lines, part.columns) = std::pair(2, 3);
        parts.push_back(part);
    }
    fill_parts(m.at(1), parts, kAdds, queue);
}

/// Computes scores; rows are logits of ten classes, and the losses are the first elements of a set.
void scored(CaseData& m, Queue& queue) {
    constexpr int64_t kClasses = 10;
    Outputs all{m.at(0).data,
                m.count(),
                m.layout().columns() / kClasses,
                kClasses,
                m.at(0).stride,
                kClasses,
                1,
                nullptr,
                m.at(1).data,
                m.type()};
    if (!m.sums() || all.terms == 0 || m.count() > m.layout().columns()) return;
    all.labels = m.labels(all.minibatches * all.terms, kClasses);
    score(all, 0.5, static_cast<double>(all.terms), false, m.squared(), m.squared() + m.count(),
          queue);
}

/// Runs norm_relu and its gradients. Sets are images of sixteen channels; the first numbers of set
/// 5 are the weights and all other per-channel values.
template <bool kAdds>
void normalised(CaseData& m, Queue& queue) {
    constexpr int64_t kChannels = 16;
    const Images images{m.type(), elements(m) / kChannels, kChannels};
    if (!m.sums() || elements(m) < 6 * kChannels || m.layout().columns() < kChannels) return;
    const auto of_channels = [&m](int64_t k) { return m.at(5).at(0, k * kChannels); };
    const Norm norm{of_channels(0), of_channels(1)};
    double* const sums = m.scratch(norm_sums(images));
    norm_relu(images, m.at(0).data, kAdds ? m.at(2).data : nullptr, norm, 0.1, 1e-5, of_channels(2),
              of_channels(3), m.at(1).data, m.mean(), sums, queue);
    norm_relu_gradients(images, {m.at(0).data, kAdds ? m.at(1).data : nullptr, norm, m.mean()},
                        m.at(6).data, kAdds ? m.at(3).data : nullptr, m.at(4).data, of_channels(4),
                        of_channels(5), sums, queue);
}

/// Calls `work` only if the shape has all columns, since it sums over whole segments.
template <class Work>
void over_segments(CaseData& m, const Work& work) {
    if (m.sums()) work();
}

}  // namespace

const std::vector<Case>& cases() {
    static const std::vector<Case> all = {
        {"copy", {1}, [](CaseData& m, Queue& q) { copy(m.at(0), m.at(1), m.columns(), q); }},
        {"zero", {1}, [](CaseData& m, Queue& q) { fill_zero(m.at(1), m.columns(), q); }},
        {"scale", {}, [](CaseData& m, Queue& q) { scale(m.at(0), m.columns(), 0.3, q); }},
        {"scale each",
         {},
         [](CaseData& m, Queue& q) { scale_each(m.at(0), m.columns(), m.factors(), q); }},
        {"factors of norms",
         {},
         [](CaseData& m, Queue& q) {
             over_segments(m, [&] {
                 squares(m.layout(), m.at(0), m.columns(), m.sums(), q);
                 norm_factors(m.layout(), m.count(), m.sums(), FactorRule::at_most, 1,
                              m.sums_before(), q);
             });
         }},
        {"sgd, no momentum",
         {1},
         [](CaseData& m, Queue& q) {
             sgd_update(m.layout(), m.at(1), m.at(0), m.at(0), m.at(2), {}, m.columns(),
                        {0.1, 0, false, m.decay()}, nullptr, q);
         }},
        {"sgd", {}, sgd<false, false>},
        {"sgd, norms", {}, sgd<false, true>},
        {"sgd, Nesterov, norms", {}, sgd<true, true>},
        {"adam", {}, adam<false>},
        {"adamw, largest moments", {}, adam<true>},
        {"accum_adam in a window", {}, accum_adam<3>},
        {"accum_adam at its end", {}, accum_adam<2>},
        {"qg_adam",
         {1},
         [](CaseData& m, Queue& q) {
             qg_adam_update(m.layout(), m.at(1), m.at(0), m.at(2), m.at(3), m.at(4), m.columns(),
                            kQgAdam, m.sums(), q);
         }},
        {"qg_adam, moments",
         {},
         [](CaseData& m, Queue& q) {
             qg_adam_moments(m.layout(), m.at(0), m.at(1), m.factors(), m.at(3), m.at(4),
                             m.columns(), kQgAdam, q);
         }},
        {"dadam",
         {},
         [](CaseData& m, Queue& q) {
             dadam_update(m.layout(), m.at(0), m.at(0), m.at(2), m.at(3), m.at(4), m.at(5),
                          m.columns(), {0.1, 0.9, 0.99, 0.8, 1e-8, 3}, m.sums(), q);
         }},
        {"largest moments",
         {},
         [](CaseData& m, Queue& q) {
             largest_moments(m.layout(), m.at(2), m.at(3), m.at(4), m.at(5), m.columns(), 0.9, 0.99,
                             1e-3, q);
         }},
        {"descent by size",
         {1},
         [](CaseData& m, Queue& q) {
             descend_by_size(m.layout(), m.at(1), m.at(0), m.at(2), m.at(6), m.columns(), 0.1, 1e-8,
                             m.sums(), q);
         }},
        {"adaptive approach",
         {},
         [](CaseData& m, Queue& q) {
             approach_adaptively(m.layout(), m.at(0), m.at(1), m.at(2), m.at(4), m.columns(),
                                 {0.5, 0.9, 2}, q);
         }},
        {"mean of 3 rows", {1}, mix<weighted_means, 3>},
        {"mean of 3 rows in place", {}, mix_in_place<weighted_means, 3>},
        {"mean of 19 rows", {1}, mix<weighted_means, 19>},
        {"sum of 3 rows", {1}, mix<weighted_sums, 3>},
        {"sum of 19 rows in place", {}, mix_in_place<weighted_sums, 19>},
        {"change by 1 row", {1}, mix<weighted_changes, 1>},
        {"change by 3 rows", {1}, mix<weighted_changes, 3>},
        {"tree sum",
         {1},
         [](CaseData& m, Queue& q) {
             tree_sum(m.type(), m.count(), leaves(m), m.at(1).data, m.columns(), q);
         }},
        {"tree mean",
         {1},
         [](CaseData& m, Queue& q) {
             tree_mean(m.type(), m.count(), leaves(m), m.at(1).data, m.columns(), q);
         }},
        {"fused sgd, ring, norms", {}, fused<false, MixOrder::adapt_then_combine>},
        {"fused sgd, combine while adapt", {1}, fused<false, MixOrder::combine_while_adapt>},
        {"fused adam, ring, norms", {}, fused<true, MixOrder::adapt_then_combine>},
        {"fused adam, combine while adapt", {1}, fused<true, MixOrder::combine_while_adapt>},
        {"squares",
         {},
         [](CaseData& m, Queue& q) {
             over_segments(m, [&] { squares(m.layout(), m.at(0), m.columns(), m.squared(), q); });
         }},
        {"moments",
         {},
         [](CaseData& m, Queue& q) {
             over_segments(m, [&] {
                 const Interval nodes[] = {{0, m.count()}};
                 tree_moments(m.layout(), m.count(), m.at(0), nodes, m.columns(), m.mean(), m.m2(),
                              q);
             });
         }},
        {"moments of halves, combined",
         {},
         [](CaseData& m, Queue& q) {
             if (m.count() < 2) return;
             over_segments(m, [&] {
                 const int64_t half = tree_split({0, m.count()});
                 const Interval nodes[] = {{0, half}, {half, m.count()}};
                 tree_moments(m.layout(), m.count(), m.at(0), nodes, m.columns(), m.mean(), m.m2(),
                              q);
                 const Moments parts[] = {{nodes[0], m.mean(0), m.m2(0)},
                                          {nodes[1], m.mean(1), m.m2(1)}};
                 combine_moments(m.layout(), m.count(), parts, m.columns(), m.mean(), m.m2(), q);
             });
         }},
        {"parts of rows", {}, filled<false>},
        {"parts of rows, added", {}, filled<true>},
        {"scores", {}, scored},
        {"norm and ReLU", {}, normalised<false>},
        {"norm, sum and ReLU", {}, normalised<true>},
        {"windows, planes first", {1}, gathered<Planes::first>},
        {"windows, planes last", {1}, gathered<Planes::last>},
        {"bfloat16, encode", {}, encoded<ElementCodec::bfloat16>},
        {"bfloat16, decode", {1}, decoded<ElementCodec::bfloat16>},
        {"bfloat16, quantize", {1}, quantized<ElementCodec::bfloat16>},
        {"sums over bfloat16", {1}, coded<ElementCodec::bfloat16>},
        {"approach to a mean, bfloat16", {1}, shifted<ElementCodec::bfloat16>},
        {"float16, encode", {}, encoded<ElementCodec::float16>},
        {"float16, decode", {1}, decoded<ElementCodec::float16>},
        {"float16, quantize", {1}, quantized<ElementCodec::float16>},
        {"sums over float16", {1}, coded<ElementCodec::float16>},
        {"approach to a mean, float16", {1}, shifted<ElementCodec::float16>},
        {"messages of bfloat16, by chance",
         {},
         [](CaseData& m, Queue& q) {
             send_messages(m, q, "half", Halves{ElementCodec::bfloat16, true});
         }},
        {"messages of signs",
         {},
         [](CaseData& m, Queue& q) { send_messages(m, q, "sign", Signs{}); }},
        {"messages of 4 bits and sign",
         {},
         [](CaseData& m, Queue& q) {
             send_messages(m, q, "levels", Levels{4, false});
         }},
        {"messages of the largest hundredth", {}, send_chosen_messages<true>},
        {"messages of a known hundredth", {}, send_chosen_messages<false>},
        {"messages of rank 4", {}, send_low_rank},
        {"matrices of links", {}, send_over_links},
        {"approach by residues of 4 bits", {}, approach_by_residues},
    };
    return all;
}

}  // namespace dbench::arena
