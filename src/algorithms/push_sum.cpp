#include "algorithms/push_sum.hpp"

#include <cstring>

namespace dbench::algorithms {

void PushSumWeights::declare(arena::StateTable& state) {
    weights_ = state.numbers("algorithm/weight");
}

void PushSumWeights::begin(const Step& step) {
    if (step.t > 0) return;
    for (int64_t i = 0; i < weights_.count; ++i) set(i, 1);
}

void PushSumWeights::send(Step& step) {
    const TimedScope scope(step.timers, Time::exchange);
    token_ = step.exchange.start_messages(step.round, weights_, sizeof(double));
}

std::vector<PushSumWeights::Shares> PushSumWeights::receive(Step& step) {
    const TimedScope scope(step.timers, Time::exchange);
    std::vector<Shares> shares;
    for (const auto& received : step.exchange.finish_messages(token_)) {
        const int64_t replica = weights_.first + static_cast<int64_t>(shares.size());
        Shares share{0, 0};
        for (const comm::UsedMessage& one : received) {
            double weight;
            std::memcpy(&weight, one.message, sizeof weight);
            (one.replica == replica ? share.own : share.others) += one.weight * weight;
        }
        shares.push_back(share);
    }
    token_.reset();
    return shares;
}

void PushSumWeights::apply(const std::vector<Shares>& shares) {
    for (size_t i = 0; i < shares.size(); ++i) {
        set(static_cast<int64_t>(i), shares[i].own + shares[i].others);
    }
}

namespace {

void scale(Step& step, arena::Rows rows, arena::Rows out, arena::Columns columns,
           const std::vector<double>& factors) {
    bool alike = rows.data == out.data;
    std::vector<std::vector<arena::Term>> terms;
    for (int64_t i = 0; i < rows.count; ++i) {
        alike = alike && factors[static_cast<size_t>(i)] == 1;
        terms.push_back({{rows.at(i, 0), factors[static_cast<size_t>(i)]}});
    }
    if (!alike) step.combine(out, terms, columns);
}

}  // namespace

void PushSumWeights::weigh(Step& step, arena::Rows rows, arena::Rows out,
                           arena::Columns columns) const {
    std::vector<double> factors;
    for (int64_t i = 0; i < rows.count; ++i) factors.push_back((*this)[i]);
    scale(step, rows, out, columns, factors);
}

void PushSumWeights::unweigh(Step& step, arena::Rows rows, arena::Rows out,
                             arena::Columns columns) const {
    std::vector<double> factors;
    for (int64_t i = 0; i < rows.count; ++i) factors.push_back(1 / (*this)[i]);
    scale(step, rows, out, columns, factors);
}

}  // namespace dbench::algorithms
