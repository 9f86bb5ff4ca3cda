#include "program/result_plan.hpp"

#include <algorithm>

#include "arena/rows.hpp"

namespace dbench::program {

profile::Features result_features(const train::Session& session) {
    const train::TrainerPlan& plan = session.plan();
    return {plan.profile.rows.any_due(), plan.profile.variance.any_due(), plan.profile.after,
            session.has_validation(),    session.asynchronous(),          session.metrics()};
}

int64_t result_bytes(const PreparedRun& s, int64_t further_ranks) {
    const train::Session& session = *s.session;
    const train::TrainerPlan& plan = session.plan();
    const profile::Features features = result_features(session);
    const profile::Axes axes{s.placement.replicas, s.placement.ranks + further_ranks,
                             static_cast<int64_t>(session.layout().tensors().size()),
                             static_cast<int64_t>(session.evaluated().size())};
    const auto bytes = [&](const std::vector<profile::ColumnSpec>& columns) {
        return profile::row_bytes(columns, axes, arena::size_of(session.type()));
    };
    const int64_t evaluations =
        2 + (plan.evaluate_every > 0 ? (plan.iterations - 1) / plan.evaluate_every : 0);
    const auto all = [&](int64_t rows, const std::vector<profile::ColumnSpec>& columns) {
        return static_cast<double>(rows) * static_cast<double>(bytes(columns));
    };
    const double total =
        all(plan.iterations, profile::iteration_columns(features)) +
        all(plan.profile.rows.count(plan.iterations), profile::profile_columns(features)) +
        all(plan.profile.variance.count(plan.iterations), profile::variance_columns(features)) +
        all(evaluations, profile::evaluation_columns(features));
    return static_cast<int64_t>(std::min(total, 9e18));
}

}  // namespace dbench::program
