#include "train/algorithms/algorithm.hpp"

namespace dbench::train {

void Step::update(arena::Rows out, arena::Rows base, arena::Rows at, arena::Columns columns) {
    const TimedScope scope(timers, Phase::update);
    optimizer.step(out, base, at, g, columns, numbers, probe.squared_update());
}

comm::Token Step::start_mix(arena::Rows rows, arena::Columns columns) {
    const TimedScope scope(timers, Phase::exchange);
    return exchange.start_mix(round, rows, columns);
}

void Step::finish_mix(const comm::Token& token, arena::Rows out) {
    const TimedScope scope(timers, Phase::exchange);
    exchange.finish_mix(token, out);
}

void Step::mix(arena::Rows rows, arena::Rows out) {
    const TimedScope scope(timers, Phase::exchange);
    exchange.mix(round, rows, layout.all(), out);
}

void Step::mix_again(arena::Rows rows) {
    if (!control.may_repeat(t)) return;
    while (control.mix_again(t, 1 + more_rounds, probe.distance(), rows)) {
        mix(rows, rows);
        ++more_rounds;
    }
}

const comm::RoundCost& MixingCost::of(graphs::Round round) const {
    if (!round.repeats) {
        last_ = comm::round_cost(*schedule_, round);
        return last_;
    }
    for (const auto& [matrix, cost] : known_) {
        if (matrix == round.matrix) return cost;
    }
    known_.emplace_back(round.matrix, comm::round_cost(*schedule_, round));
    return known_.back().second;
}

}  // namespace dbench::train
