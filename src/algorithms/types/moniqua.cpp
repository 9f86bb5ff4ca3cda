// Moniqua (Lu and De Sa 2020, arXiv 2002.11787; code: epfml/powergossip): neighbours' parameters
// are within theta of each other, so it is enough to send them modulo B, on a grid of 2^bits
// levels: delta = 1 / (2^bits - 1), B = 2 theta / (1 - 2 delta), y mod B in [-B/2, B/2),
//
//     h = x - lr d(g(x));   q = floor(((h/B mod 1) + 1/2) / delta + u) delta - 1/2
//     e = q B - (h mod B)
//     x_i <- h_i + gamma sum_j w_ij (((q_j B - h_i) mod B) - e_i)
//
// u in [0, 1) is drawn by a key that all replicas share, so that equal parameters are rounded alike
// and do not drive each other apart (the authors' code draws a seed for that and does not use it).
// The mean moves as without compression while all |h_i - h_j| < theta. bits bits an element in one
// message per neighbour and iteration; keeps no rows.
//
// A difference of theta or more is taken for another. Knowing u, who hears q_j knows h_j to within
// delta B, modulo B: where none of that is within theta of h_i, the difference was too large. That
// is counted; of those a little above theta it finds some, of those at B/2 all, and none at B.

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/codecs/wire.hpp"
#include "algorithms/entries.hpp"

namespace dbench::algorithms {
namespace {

/// y mod 1 in [-1/2, 1/2).
double wrapped(double y) { return y - std::floor(y + 0.5); }

/// Levels of a modulus, numbered from 0; what follows is in units of B.
struct Grid {
    int bits;
    double theta;

    double levels() const { return static_cast<double>((int64_t{1} << bits) - 1); }
    double delta() const { return 1 / levels(); }
    double modulus() const { return 2 * theta / (1 - 2 * delta()); }

    /// The level of y mod 1, up or down by u.
    double level(double y, double u) const {
        const double level = std::floor((wrapped(y) + 0.5) * levels() + u);
        return level > 0 ? std::min(level, levels()) : 0;  // 0 for a NaN, too
    }
    double value(double level) const { return level * delta() - 0.5; }
    /// Whether what is at a level that lies `ahead` is more than theta away for sure.
    bool too_far(double ahead, double u) const {
        const double least = ahead - u * delta(), beyond = least - std::floor(least);
        return beyond >= 0.5 - delta() && beyond <= 0.5;
    }
};

class Moniqua final : public Algorithm {
public:
    Moniqua(const AlgorithmContext& context, Grid grid, double gamma)
        : layout_(*context.layout),
          cost_(context.schedule, comm::link_cost),
          seed_(context.compression.seed),
          grid_(grid),
          gamma_(gamma) {
        for (const arena::Tensor& tensor : layout_.tensors()) {
            offsets_.push_back(bytes_);
            bytes_ += (tensor.numel * grid_.bits + 7) / 8;
        }
        const int64_t size = arena::size_of(context.type);
        stride_ = (bytes_ + size - 1) / size;
    }

    void declare(arena::StateTable& state) override {
        too_far_ = state.numbers("algorithm/too_far");
        messages_ = state.scratch(stride_);
    }
    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (cost_.of(step.round).averages) {
            const TimedScope scope(step.timers, Time::exchange);
            arena::with_type(step.x.type, [&]<class T>() { exchange<T>(step); });
        }
        step.probe.averaged(step.x);
    }
    Sent sent(int64_t, graphs::Round round) const override {
        const comm::RoundCost& cost = cost_.of(round);
        const double bytes = static_cast<double>(cost.messages) * static_cast<double>(bytes_);
        return {cost.averages, cost.averages ? 1 : 0, cost.degree, cost.messages, 0, 0, bytes};
    }
    std::string remark(comm::World& world) const override {
        std::vector<double> count{0};
        for (int64_t i = 0; i < too_far_.count; ++i) count[0] += *too_far_.row<double>(i);
        world.sum(count);
        if (count[0] == 0) return "";
        return "moniqua: parameters of neighbours were seen to be theta = " +
               base::short_text(grid_.theta) + " or more apart " +
               std::to_string(static_cast<int64_t>(count[0])) +
               " times (and may have been more often): they were taken for others, and the mean "
               "over replicas moved with them: raise /algorithm/theta, or lower the learning rate";
    }

private:
    static constexpr int64_t kChunk = arena::kBlock;  // elements; a whole number of bytes
    using Noise = std::array<double, kChunk>;

    /// Calls work(tensor, begin, count, u) for every chunk of every tensor, with its noise.
    template <class Work>
    void in_chunks(int64_t iteration, const Work& work) const {
        Noise u;
        for (size_t t = 0; t < layout_.tensors().size(); ++t) {
            base::Random random = MessageKey{seed_, 0, iteration}.random(static_cast<int>(t));
            const int64_t numel = layout_.tensors()[t].numel;
            for (int64_t begin = 0; begin < numel; begin += kChunk) {
                const int64_t count = std::min(kChunk, numel - begin);
                for (int64_t c = 0; c < count; ++c) u[c] = random.uniform();
                work(t, begin, count, u);
            }
        }
    }
    /// Where a chunk is in a message.
    int64_t place(size_t tensor, int64_t begin) const {
        return offsets_[tensor] + begin * grid_.bits / 8;
    }

    template <class T>
    void exchange(Step& step) {
        const arena::Rows x = step.x, messages = messages_.rows();
        const double modulus = grid_.modulus();
        step.wait("parameters that are taken modulo a bound");
        const auto elements = [&](int64_t i, size_t tensor, int64_t begin) {
            return x.row<T>(i) + layout_.tensors()[tensor].offset + begin;
        };
        in_chunks(step.t, [&](size_t tensor, int64_t begin, int64_t count, const Noise& u) {
            for (int64_t i = 0; i < x.count; ++i) {
                const T* const from = elements(i, tensor, begin);
                BitWriter out(messages.at(i, 0) + place(tensor, begin));
                for (int64_t c = 0; c < count; ++c) {
                    const double level = grid_.level(static_cast<double>(from[c]) / modulus, u[c]);
                    out.put(static_cast<uint32_t>(level), grid_.bits);
                }
                out.flush();
            }
        });
        const auto token = step.exchange.start_messages(step.round, messages, bytes_);
        const auto heard = step.exchange.finish_messages(token);
        in_chunks(step.t, [&](size_t tensor, int64_t begin, int64_t count, const Noise& u) {
            for (int64_t i = 0; i < x.count; ++i) {
                T* const to = elements(i, tensor, begin);
                BitReader own(messages.at(i, 0) + place(tensor, begin));
                std::array<double, kChunk> at, error, change{};
                for (int64_t c = 0; c < count; ++c) {
                    at[c] = static_cast<double>(to[c]) / modulus;
                    error[c] = grid_.value(own.get(grid_.bits)) - wrapped(at[c]);
                }
                int64_t far = 0;
                for (const comm::Heard& one : heard[static_cast<size_t>(i)]) {
                    if (one.replica == x.first + i) continue;
                    BitReader in(one.message + place(tensor, begin));
                    for (int64_t c = 0; c < count; ++c) {
                        const double ahead = wrapped(grid_.value(in.get(grid_.bits)) - at[c]);
                        change[c] += one.weight * (ahead - error[c]);
                        far += grid_.too_far(ahead, u[c]);
                    }
                }
                for (int64_t c = 0; c < count; ++c) {
                    to[c] += static_cast<T>(gamma_ * modulus * change[c]);
                }
                *too_far_.row<double>(i) += static_cast<double>(far);
            }
        });
    }

    const arena::Layout& layout_;
    MixingCost cost_;
    uint64_t seed_;
    Grid grid_;
    double gamma_;
    std::vector<int64_t> offsets_;  // per tensor, in a message
    int64_t bytes_ = 0, stride_ = 0;
    arena::Rows too_far_;  // elements, of all neighbours and iterations
    arena::Buffer messages_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    const Grid grid{spec.at("bits"), spec.at("theta")};
    return std::make_unique<Moniqua>(context, grid, spec.at("gamma"));
}

}  // namespace

AlgorithmEntry moniqua_entry() {
    return {{"moniqua",
             "parameters modulo a bound on what neighbours differ by, in few bits (Moniqua)",
             {base::Parameter::number("theta", "0.25",
                                      "what elements of neighbours' parameters differ by at most")
                  .greater_than(0),
              base::Parameter::integer("bits", "4", "of an element in a message")
                  .at_least(2)
                  .at_most(16),
              consensus_step_parameter("0.5")}},
            make,
            {.own_messages = true},
            {.bias = Bias::none}};
}

}  // namespace dbench::algorithms
