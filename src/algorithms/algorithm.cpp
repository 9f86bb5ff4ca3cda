#include "algorithms/algorithm.hpp"

#include "base/error.hpp"

namespace dbench::algorithms {

void Step::update(arena::Rows out, arena::Rows base, arena::Rows at, arena::Columns columns) {
    const TimedScope scope(timers, Time::update);
    optimizer.step(out, base, at, g, columns, numbers, probe.squared_update(), queue);
}

void Step::decay(arena::Columns columns) {
    const TimedScope scope(timers, Time::update);
    optimizer.add_decay(g, x, columns, queue);
}

void Step::apply_direction(arena::Rows out, arena::Rows base, arena::Rows direction,
                           arena::Columns columns) {
    const TimedScope scope(timers, Time::update);
    arena::sgd_update(layout, out, base, base, direction, {}, columns,
                      {numbers.lr, 0.0, false, no_decay}, probe.squared_update(), queue);
}

void Step::combine(arena::Rows out, std::initializer_list<Scaled> terms, arena::Columns columns) {
    std::vector<std::vector<arena::Term>> sums(out.count);
    for (int64_t i = 0; i < out.count; ++i) {
        for (const Scaled& term : terms) sums[i].push_back({term.rows.at(i, 0), term.factor});
    }
    combine(out, sums, columns);
}

void Step::combine(arena::Rows out, const std::vector<std::vector<arena::Term>>& terms,
                   arena::Columns columns) {
    const TimedScope scope(timers, Time::update);
    arena::weighted_sums(terms, out, columns, queue);
}

void Step::copy(arena::Rows from, arena::Rows to, arena::Columns columns) {
    const TimedScope scope(timers, Time::update);
    arena::copy(from, to, columns, queue);
}

comm::Token Step::start_mix(arena::Rows rows, arena::Columns columns, comm::RowLifetime lifetime) {
    const TimedScope scope(timers, Time::exchange);
    return exchange.start_mix(round, rows, columns, lifetime);
}

comm::Token Step::start_next_mix(arena::Rows rows, arena::Columns columns,
                                 comm::RowLifetime lifetime) {
    const TimedScope scope(timers, Time::exchange);
    return exchange.start_mix(next_round.value(), rows, columns, lifetime);
}

void Step::reclaim(const comm::Token& token) {
    const TimedScope scope(timers, Time::exchange, comm::Exchange::traced_bucket(token));
    exchange.reclaim(token);
}

bool Step::can_finish(const comm::Token& token) {
    const TimedScope scope(timers, Time::exchange);
    return exchange.poll(token);
}

void Step::finish_mix(const comm::Token& token, arena::Rows out) {
    const TimedScope scope(timers, Time::exchange, comm::Exchange::traced_bucket(token));
    exchange.finish_mix(token, out);
}

void Step::finish_mix(const comm::Token& token, arena::Rows out,
                      const std::function<void(arena::Columns)>& then) {
    const TimedScope scope(timers, Time::exchange, comm::Exchange::traced_bucket(token));
    exchange.finish_mix(token, out, then);
}

void Step::finish_change(const comm::Token& token, arena::Rows out) {
    const TimedScope scope(timers, Time::exchange, comm::Exchange::traced_bucket(token));
    exchange.finish_change(token, out);
}

bool Step::update_and_mix(arena::Columns columns) {
    if (probe.measures_rows()) return false;
    double* const squared = probe.squares_before_averaging();
    if (!try_one_pass(arena::MixOrder::adapt_then_combine, x, columns, squared)) return false;
    if (squared) probe.set_squares_before_averaging();
    start_mix(x, columns);  // Sends nothing, but all ranks must count the same exchanges.
    return true;
}

void Step::finish_mix_and_update(const comm::Token& token, arena::Rows out,
                                 arena::Columns columns) {
    if (try_one_pass(arena::MixOrder::combine_while_adapt, out, columns, nullptr)) return;
    const auto update_means = [&](std::span<const std::vector<arena::Term>> means) {
        const TimedScope scope(timers, Time::update, comm::Exchange::traced_bucket(token));
        return optimizer.step_of_means(out, means, x, g, columns, numbers, probe.squared_update());
    };
    {
        const TimedScope scope(timers, Time::exchange, comm::Exchange::traced_bucket(token));
        if (exchange.finish_mix(token, update_means)) return;
    }
    finish_mix(token, out, [&](arena::Columns piece) { update(out, out, x, piece); });
}

bool Step::try_one_pass(arena::MixOrder order, arena::Rows out, arena::Columns columns,
                        double* squares_before_averaging) {
    if (queue.immediate()) return false;
    const TimedScope scope(timers, Time::update);
    const auto means = exchange.local_averaging(round);
    if (!means) return false;
    const bool measured = probe.squared_update() || squares_before_averaging;
    if (arena::mixing_width(x.type, x.count, order, measured) == 0) return false;
    return optimizer.step_and_mix({*means, order, squares_before_averaging}, out, x, g, columns,
                                  numbers, probe.squared_update(), queue);
}

void Step::mix(arena::Rows rows, arena::Rows out) {
    const TimedScope scope(timers, Time::exchange);
    exchange.mix(round, rows, layout.all(), out);
}

void Step::distil(arena::Rows teacher, int64_t of, double temperature) {
    DBENCH_EXPECT(distillation != nullptr);
    distillation(x, teacher, of, temperature);
}

void Step::linearise(const char* weights, int64_t i, const Linearised& out) {
    DBENCH_EXPECT(linearisation.linearise != nullptr);
    linearisation.linearise(weights, i, t, out);
}

double Step::loss(const char* weights, int64_t i) {
    DBENCH_EXPECT(linearisation.loss != nullptr);
    return linearisation.loss(weights, i, t);
}

void Step::replace_parameters(arena::Buffer& next) {
    state.swap_parameters(next);
    x = state.parameters();
}

void Step::mix_again(arena::Rows rows) {
    if (!may_mix_again()) return;
    while (control.mix_again(t, 1 + extra_averagings, probe.distance(), rows)) {
        mix(rows, rows);
        ++extra_averagings;
    }
}

const comm::RoundCost& MixingCost::at(graphs::Round round) const {
    if (!round.repeats) {
        last_ = cost_(*schedule_, round);
        return last_;
    }
    for (const auto& [matrix, cost] : cache_) {
        if (matrix == round.matrix) return cost;
    }
    cache_.emplace_back(round.matrix, cost_(*schedule_, round));
    return cache_.back().second;
}

}  // namespace dbench::algorithms
