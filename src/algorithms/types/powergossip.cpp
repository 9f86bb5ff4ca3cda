// PowerGossip (Vogels, Karimireddy and Jaggi 2020, arXiv 2008.01425; code: epfml/powergossip): both
// ends i < j of a link know a matrix of rank 1, p q', near the difference of their parameters. In
// turn p and q are computed from the other, which is the power iteration. For every tensor, as a
// matrix with a row for each index of its first dimension, after h = x - lr d(g(x)):
//
//     odd t    q <- q / ||q||;   p <- H_i q - H_j q
//     even t   p <- p / ||p||;   q <- H_i' p - H_j' p
//     X_i <- H_i - w_ij p q';   X_j <- H_j + w_ij p q'
//
// Iteration 0 exchanges nothing: replicas that start alike have only begun to differ. A vector of
// zeros, as all are at first, is drawn anew, by a key of link, iteration and tensor. Tensors of one
// dimension go as they are: x_i <- h_i + w_ij (h_j - h_i). The mean moves as without compression, W
// being symmetric. Each iteration sends H q or H' p and those tensors over each link; keeps p and q
// of each link.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "arena/host_rows.hpp"
#include "base/error.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {
namespace {

/// A tensor of a row, taken as a matrix; one without columns goes as it is.
struct Matrix {
    int64_t offset, numel;
    int64_t rows, columns;
    int64_t p, q, whole;  ///< where it begins among all p, all q, and all that goes as it is
};

/// Added in lanes, as vector registers do.
template <class T>
double dot(const T* a, const T* b, int64_t count) {
    constexpr int64_t kLanes = 8;
    double lanes[kLanes] = {}, sum = 0;
    int64_t c = 0;
    for (; c + kLanes <= count; c += kLanes) {
        for (int64_t k = 0; k < kLanes; ++k) {
            lanes[k] += static_cast<double>(a[c + k]) * static_cast<double>(b[c + k]);
        }
    }
    for (; c < count; ++c) sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
    for (const double lane : lanes) sum += lane;
    return sum;
}

/// p = H q, or q = H' p.
template <class T>
void multiply(const Matrix& m, const T* h, bool to_p, const T* v, T* out) {
    if (to_p) {
        for (int64_t r = 0; r < m.rows; ++r) {
            out[r] = static_cast<T>(dot(h + r * m.columns, v, m.columns));
        }
        return;
    }
    std::vector<double> sums(static_cast<size_t>(m.columns));
    for (int64_t r = 0; r < m.rows; ++r) {
        for (int64_t c = 0; c < m.columns; ++c) {
            sums[c] += static_cast<double>(v[r]) * static_cast<double>(h[r * m.columns + c]);
        }
    }
    std::transform(sums.begin(), sums.end(), out, [](double sum) { return static_cast<T>(sum); });
}

template <class T>
void normalise(T* v, int64_t count, base::Random random) {
    double squares = dot(v, v, count);
    if (squares == 0) {
        for (int64_t c = 0; c < count; ++c) v[c] = static_cast<T>(random.normal());
        squares = dot(v, v, count);
    }
    const double scale = 1 / std::sqrt(squares);
    for (int64_t c = 0; c < count; ++c) v[c] = static_cast<T>(static_cast<double>(v[c]) * scale);
}

class PowerGossip final : public Algorithm {
public:
    explicit PowerGossip(const AlgorithmContext& context)
        : schedule_(*context.schedule),
          cost_(context.schedule, comm::link_cost),
          seed_(context.compression.seed),
          element_(arena::size_of(context.type)) {
        for (const arena::Tensor& tensor : context.layout->tensors()) {
            const int64_t rows = tensor.shape.size() > 1 ? tensor.shape[0] : 0;
            const int64_t columns = rows > 0 ? tensor.numel / rows : 0;
            matrices_.push_back(
                {tensor.offset, tensor.numel, rows, columns, all_p_, all_q_, all_whole_});
            all_p_ += rows;
            all_q_ += columns;
            if (columns == 0) all_whole_ += tensor.numel;
        }
        for (int i = 0; i < schedule_.size(); ++i) {
            const std::vector<int> users = peers(schedule_.out(schedule_.at(0), i), i);
            degree_ = std::max(degree_, static_cast<int64_t>(users.size()));
            if (users == peers(schedule_.in(schedule_.at(0), i), i)) continue;
            throw base::UserError(
                "/graph: replica " + std::to_string(i) +
                " hears others than those who hear it, but powergossip computes with both ends of "
                "each link: choose an undirected graph such as ring or torus");
        }
    }

    void declare(arena::StateTable& state) override {
        const auto stride = [&](int64_t each) { return std::max<int64_t>(degree_ * each, 1); };
        p_ = state.reached_rows("algorithm/p", stride(all_p_));
        q_ = state.reached_rows("algorithm/q", stride(all_q_));
        messages_ = state.reached_scratch(stride(std::max(all_p_, all_q_) + all_whole_));
    }
    bool keeps_messages() const override { return true; }

    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (step.t > 0 && degree_ > 0) {
            const TimedScope scope(step.timers, Time::exchange);
            arena::HostRows x(step.x, step.queue, "parameters that are multiplied by vectors");
            arena::with_type(step.x.type, [&]<class T>() {
                for (int64_t i = 0; i < step.x.count; ++i) write<T>(step, x.rows(), i);
                const auto token = step.exchange.start_link_messages(step.round, messages_.rows(),
                                                                     elements(step.t) * element_);
                const auto heard = step.exchange.finish_messages(token);
                for (int64_t i = 0; i < step.x.count; ++i) take<T>(step, x.rows(), i, heard[i]);
            });
            x.put_back();
        }
        step.probe.averaged(step.x);
    }
    Sent sent(int64_t t, graphs::Round round) const override {
        if (t == 0) return {};
        const comm::RoundCost& cost = cost_.of(round);
        const double bytes = static_cast<double>(cost.messages * elements(t) * element_);
        return {cost.averages, cost.averages ? 1 : 0, cost.degree, cost.messages, 0, 0, bytes};
    }

private:
    static std::vector<int> peers(const std::vector<graphs::Link>& links, int self) {
        std::vector<int> out;
        for (const graphs::Link& link : links) {
            if (link.peer != self) out.push_back(link.peer);
        }
        return out;
    }
    static bool computes_p(int64_t t) { return t % 2 == 1; }
    /// Of a message: a vector for each matrix, then all that goes as it is.
    int64_t elements(int64_t t) const { return (computes_p(t) ? all_p_ : all_q_) + all_whole_; }

    template <class T>
    T* message(int64_t t, int64_t i, int64_t link) const {
        return messages_.rows().row<T>(i) + link * elements(t);
    }
    template <class T>
    T* p(const Matrix& m, int64_t i, int64_t link) const {
        return p_.row<T>(i) + link * all_p_ + m.p;
    }
    template <class T>
    T* q(const Matrix& m, int64_t i, int64_t link) const {
        return q_.row<T>(i) + link * all_q_ + m.q;
    }

    /// The messages of local replica i.
    template <class T>
    void write(const Step& step, const arena::Rows& x, int64_t i) {
        const auto self = static_cast<int>(x.first + i);
        const bool to_p = computes_p(step.t);
        int64_t link = 0;
        for (const int peer : peers(schedule_.out(step.round, self), self)) {
            T* const vectors = message<T>(step.t, i, link);
            for (size_t k = 0; k < matrices_.size(); ++k) {
                const Matrix& m = matrices_[k];
                const T* const h = x.row<T>(i) + m.offset;
                if (m.columns == 0) {
                    std::copy_n(h, m.numel, vectors + (to_p ? all_p_ : all_q_) + m.whole);
                    continue;
                }
                T* const known = to_p ? q<T>(m, i, link) : p<T>(m, i, link);
                const base::Random random(
                    seed_, base::Purpose::message,
                    {static_cast<uint64_t>(std::min(self, peer)),
                     static_cast<uint64_t>(std::max(self, peer)), static_cast<uint64_t>(step.t),
                     static_cast<uint64_t>(k)});
                normalise(known, to_p ? m.columns : m.rows, random);
                multiply(m, h, to_p, known, vectors + (to_p ? m.p : m.q));
            }
            ++link;
        }
    }
    /// What its neighbours sent, in the order of its own messages.
    template <class T>
    void take(const Step& step, const arena::Rows& rows, int64_t i,
              const std::vector<comm::Heard>& heard) {
        const bool to_p = computes_p(step.t);
        for (size_t k = 0; k < heard.size(); ++k) {
            const auto link = static_cast<int64_t>(k);
            const T* const mine = message<T>(step.t, i, link);
            const T* const theirs = reinterpret_cast<const T*>(heard[k].message);
            const bool first = rows.first + i < heard[k].replica;
            const double towards = first ? -heard[k].weight : heard[k].weight;
            for (const Matrix& m : matrices_) {
                T* const x = rows.row<T>(i) + m.offset;
                if (m.columns == 0) {
                    const int64_t begin = (to_p ? all_p_ : all_q_) + m.whole;
                    for (int64_t c = 0; c < m.numel; ++c) {
                        x[c] +=
                            static_cast<T>(heard[k].weight) * (theirs[begin + c] - mine[begin + c]);
                    }
                    continue;
                }
                T* const found = to_p ? p<T>(m, i, link) : q<T>(m, i, link);
                const int64_t begin = to_p ? m.p : m.q, count = to_p ? m.rows : m.columns;
                for (int64_t c = 0; c < count; ++c) {
                    found[c] = first ? mine[begin + c] - theirs[begin + c]
                                     : theirs[begin + c] - mine[begin + c];
                }
                const T* const left = p<T>(m, i, link);
                const T* const right = q<T>(m, i, link);
                for (int64_t r = 0; r < m.rows; ++r) {
                    const T scale = static_cast<T>(towards * static_cast<double>(left[r]));
                    for (int64_t c = 0; c < m.columns; ++c) {
                        x[r * m.columns + c] += scale * right[c];
                    }
                }
            }
        }
    }

    const graphs::Schedule& schedule_;
    MixingCost cost_;
    uint64_t seed_;
    int64_t element_, degree_ = 0;
    std::vector<Matrix> matrices_;
    int64_t all_p_ = 0, all_q_ = 0, all_whole_ = 0;
    arena::Rows p_, q_;
    arena::Buffer messages_;
};

std::unique_ptr<Algorithm> make(const base::Json&, const AlgorithmContext& context) {
    return std::make_unique<PowerGossip>(context);
}

}  // namespace

AlgorithmEntry powergossip_entry() {
    return {{"powergossip", "differences over each link as matrices of rank 1 (PowerGossip)", {}},
            make,
            {.graph = GraphNeed::symmetric, .sequences = false, .own_messages = true},
            {.bias = Bias::none}};
}

}  // namespace dbench::algorithms
