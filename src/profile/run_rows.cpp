#include "profile/run_rows.hpp"

#include <cmath>
#include <limits>

#include "arena/sums/dispersion.hpp"
#include "base/error.hpp"
#include "profile/packing.hpp"

namespace dbench::profile {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Adds a row: ranks hold consecutive replicas, so their parts in order are the row.
void add_parts(Column& column, const std::vector<RankRow>& ranks,
               std::span<const double> RankRow::*part) {
    for (const RankRow& rank : ranks) column.add(rank.*part);
}

void append_iteration(Table& table, const algorithms::IterationRecord& record, int64_t graph,
                      const std::vector<RankRow>& ranks) {
    table["epoch"].add(record.epoch);
    table["lr"].add(record.lr);
    add_parts(table["train_loss"], ranks, &RankRow::loss);
    add_parts(table["train_accuracy"], ranks, &RankRow::accuracy);
    table["graph"].add(graph);
    table["rounds"].add(record.averagings);
    table["degree"].add(record.degree);
    table["messages"].add(record.messages);
    table["bytes_sent"].add(static_cast<int64_t>(std::llround(record.bytes_sent)));
    table["control_bytes"].add(static_cast<int64_t>(std::llround(record.control_bytes)));
    double profile_bytes = 0;
    for (const RankRow& rank : ranks) profile_bytes += rank.profile_bytes;
    table["profile_bytes"].add(static_cast<int64_t>(std::llround(profile_bytes)));
    for (const algorithms::TimeColumn& measured : algorithms::kTimeColumns) {
        Column& column = table[measured.name];
        for (const RankRow& rank : ranks) column.add(rank.times[measured.time]);
        column.complete_row();  // A resumed run may have had more ranks before.
    }
    Column& awaited = table["time_wait_rank"];
    for (const RankRow& rank : ranks) awaited.add(static_cast<int64_t>(rank.awaited_rank));
    awaited.complete_row();
    if (record.asynchronous) {
        add_parts(table["staleness"], ranks, &RankRow::staleness);
        add_parts(table["replica_time"], ranks, &RankRow::replica_time);
    }
    table["iteration"].add(record.iteration);
}

void append_profile(Table& table, int64_t iteration, int64_t tensors, arena::DType precision,
                    const std::vector<RankRow>& ranks) {
    add_parts(table["norm"], ranks, &RankRow::norm);
    add_parts(table["update_norm"], ranks, &RankRow::update_norm);
    add_parts(table["gradient_norm"], ranks, &RankRow::gradient_norm);
    Column& gini = table["gini"];
    Column& index = table["index_of_dispersion"];
    Column& variation = table["coefficient_of_variation"];
    Column& quartile = table["quartile_coefficient"];
    std::vector<double> norms;
    for (int64_t k = 0; k < tensors; ++k) {
        norms.clear();
        for (const RankRow& rank : ranks) {
            for (size_t at = static_cast<size_t>(k); at < rank.norm.size();
                 at += static_cast<size_t>(tensors)) {
                norms.push_back(arena::as_stored(rank.norm[at], precision));
            }
        }
        const arena::Dispersion d = arena::dispersion(norms);
        gini.add(d.gini);
        index.add(d.index_of_dispersion);
        variation.add(d.coefficient_of_variation);
        quartile.add(d.quartile_coefficient);
    }
    table["iteration"].add(iteration);
}

void add_sized(Column& column, const std::vector<double>& values, int64_t count) {
    if (static_cast<int64_t>(values.size()) == count) return column.add(values);
    DBENCH_EXPECT(values.empty());
    column.add_missing();
}

void append_variance(Table& table, int64_t tensors, const algorithms::IterationRecord& record) {
    add_sized(table["variance"], record.variance, tensors);
    table["consensus_distance"].add(record.consensus_distance);
    if (Column* after = table.find("variance_after")) {
        add_sized(*after, record.variance_after, tensors);
        table["consensus_distance_after"].add(
            record.variance_after.empty() ? kNan : record.consensus_distance_after);
    }
    table["variance_iteration"].add(record.iteration);
}

void append_scores(Table& table, const std::string& prefix, int64_t evaluated,
                   const algorithms::Scores& scores) {
    add_sized(table[prefix + "local_accuracy"], scores.local_accuracy, evaluated);
    add_sized(table[prefix + "local_loss"], scores.local_loss, evaluated);
    table[prefix + "mean_accuracy"].add(scores.mean_accuracy);
    table[prefix + "mean_loss"].add(scores.mean_loss);
    for (const algorithms::MetricScores& metric : scores.metrics) {
        add_sized(table[prefix + "local_" + metric.name], metric.local, evaluated);
        table[prefix + "mean_" + metric.name].add(metric.mean);
    }
}

}  // namespace

void append_rows(RunFile& file, GraphLog& graphs, const comm::Placement& placement, int64_t tensors,
                 const std::vector<algorithms::IterationRecord>& records,
                 const std::vector<std::string>& packed) {
    std::vector<Unpacker> unpackers;
    for (int rank = 0; rank < placement.ranks; ++rank) {
        unpackers.emplace_back(packed[static_cast<size_t>(rank)], placement.count(rank), tensors);
    }
    std::vector<RankRow> ranks;
    for (const algorithms::IterationRecord& record : records) {
        ranks.clear();
        for (Unpacker& unpacker : unpackers)
            ranks.push_back(unpacker.next(record.profiled, record.asynchronous));
        const int64_t graph = record.averaged ? graphs.row(record.round, file) : -1;
        append_iteration(file.iterations, record, graph, ranks);
        if (record.profiled && file.parameters.find("norm")) {
            append_profile(file.parameters, record.iteration, tensors, file.precision, ranks);
        }
        if (record.has_variance && !file.variance.empty()) {
            append_variance(file.variance, tensors, record);
        }
    }
    for (const Unpacker& unpacker : unpackers) {
        if (!unpacker.at_end()) throw base::RunError("a rank sent too many measurements");
    }
}

void append_evaluation(RunFile& file, int64_t evaluated,
                       const algorithms::EvaluationRecord& record) {
    Table& table = file.evaluations;
    table["epoch"].add(record.epoch);
    table["elapsed"].add(record.elapsed);
    append_scores(table, "", evaluated, record.test);
    if (table.find("validation_mean_loss")) {
        append_scores(table, "validation_", evaluated, record.validation);
    }
    table["iteration"].add(record.iteration);
}

}  // namespace dbench::profile
