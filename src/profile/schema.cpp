#include "profile/schema.hpp"

#include <string_view>

#include "algorithms/step/timers.hpp"

namespace dbench::profile {
namespace {

void add(std::vector<ColumnSpec>& to, const std::vector<ColumnSpec>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

int64_t number_bytes(const ColumnSpec& column, int64_t real_bytes) {
    switch (column.kind) {
        case Kind::real:
            return real_bytes;
        case Kind::float64:
        case Kind::int64:
            return 8;
        case Kind::int32:
            return 4;
        case Kind::text:
            return column.bytes;
    }
    return 0;
}

}  // namespace

int64_t extent(const Axes& axes, char letter) {
    switch (letter) {
        case 'n':
            return axes.replicas;
        case 'r':
            return axes.ranks;
        case 'T':
            return axes.tensors;
        case 'm':
            return axes.evaluated;
        default:
            return 2;
    }
}

int64_t row_bytes(const std::vector<ColumnSpec>& columns, const Axes& axes, int64_t real_bytes) {
    int64_t bytes = 0;
    for (const ColumnSpec& column : columns) {
        int64_t numbers = 1;
        const std::string_view letters = column.axes;
        for (size_t at = 2; at < letters.size(); at += 2) numbers *= extent(axes, letters[at]);
        bytes += numbers * number_bytes(column, real_bytes);
    }
    return bytes;
}

// clang-format off
std::vector<ColumnSpec> tensor_columns() {
    return {
        {"name", Kind::text, "T", "", "parameter tensor, in the order of named_parameters()"},
        {"numel", Kind::int64, "T", "elements", "size of the tensor"},
        {"kind", Kind::text, "T", "", "weight, bias or norm (scale and shift of normalization)", 8},
    };
}

std::vector<ColumnSpec> rank_columns() {
    return {
        {"host", Kind::text, "r", "", "host name"},
        {"local_rank", Kind::int32, "r", "rank", "rank among those of the host"},
        {"device", Kind::text, "r", "", "device that computes"},
        {"cpus", Kind::int32, "r", "cores", "cores that the rank may use"},
        {"first_replica", Kind::int32, "r", "replica", "first of its replicas, which end before the next rank's first"},
        {"slot", Kind::int32, "r", "slot", "number of its process at the launcher: the rank, unless the spec sets a placement"},
    };
}

std::vector<ColumnSpec> iteration_columns(const Features& features) {
    std::vector<ColumnSpec> columns = {
        {"epoch", Kind::float64, "I", "epochs", "samples consumed by all replicas at the end of the iteration, over the training set's size"},
        {"lr", Kind::float64, "I", "1", "learning rate"},
        {"train_loss", Kind::real, "I,n", "1", "minibatch loss where the gradient is taken, before the update"},
        {"train_accuracy", Kind::float64, "I,n", "fraction", "minibatch accuracy where the gradient is taken, before the update"},
        {"graph", Kind::int32, "I", "row of /graphs", "mixing matrix; -1: no averaging, or a matrix that is not stored"},
        {"rounds", Kind::int32, "I", "averagings", "averagings of parameters in the iteration (not graph rounds)"},
        {"degree", Kind::float64, "I", "neighbours", "mean out-degree without self"},
        {"messages", Kind::int64, "I", "messages", "sent by all replicas, as if each had a rank"},
        {"bytes_sent", Kind::int64, "I", "bytes", "true parameters sent by all replicas, as if each had a rank"},
        {"control_bytes", Kind::int64, "I", "bytes", "sent for the measurements of a graph controller, as if each replica had a rank"},
        {"profile_bytes", Kind::int64, "I", "bytes", "sent for profiling, all ranks"},
    };
    // algorithms/step/timers.hpp has the names: step_time, time_..., start_time.
    for (const algorithms::TimeColumn& measured : algorithms::kTimeColumns) {
        columns.push_back({measured.name, Kind::float64, "I,r", "s", measured.help});
    }
    columns.push_back({"time_wait_rank", Kind::int32, "I,r", "rank", "the rank whose data arrived last in the last wait of the iteration, the lowest number of several; -1: there was no wait, or the rank is not known"});
    if (features.asynchronous) {
        add(columns, {
            {"staleness", Kind::float64, "I,n", "1", "what the gradient does not reflect when it is applied, in averagings (ad_psgd) or iterations (swift)"},
            {"replica_time", Kind::float64, "I,n", "s", "time since the run's start at which the replica ended its iteration of this number; virtual if all replicas are in one process"},
        });
    }
    // Last, because readers count a row as complete once its number is present.
    columns.push_back({"iteration", Kind::int64, "I", "iteration", "number of the iteration, from 0"});
    return columns;
}

std::vector<ColumnSpec> profile_columns(const Features& features) {
    std::vector<ColumnSpec> columns;
    if (features.norms) {
        columns = {
            {"norm", Kind::real, "J,n,T", "1", "L2 norm of a tensor just before averaging"},
            {"gini", Kind::float64, "J,T", "1", "Gini coefficient of the n norms"},
            {"index_of_dispersion", Kind::float64, "J,T", "1", "variance / mean of the n norms"},
            {"coefficient_of_variation", Kind::float64, "J,T", "1", "standard deviation / mean of the n norms"},
            {"quartile_coefficient", Kind::float64, "J,T", "1", "(Q3 - Q1) / (Q3 + Q1) of the n norms"},
            {"update_norm", Kind::real, "J,n", "1", "L2 norm of the local update"},
            {"gradient_norm", Kind::real, "J,n", "1", "L2 norm of the minibatch gradient, before decay and clipping"},
        };
    }
    columns.push_back({"iteration", Kind::int64, "J", "iteration", "the profiled iterations"});
    return columns;
}

std::vector<ColumnSpec> variance_columns(const Features& features) {
    std::vector<ColumnSpec> columns;
    if (!features.variance) return columns;
    columns = {
        {"variance", Kind::float64, "Q,T", "1", "mean over replicas and elements of the squared distance to the replicas' mean, just before averaging"},
        {"consensus_distance", Kind::float64, "Q", "1", "root mean square over replicas of the distance to the replicas' mean, just before averaging"},
    };
    if (features.after) {
        add(columns, {
            {"variance_after", Kind::float64, "Q,T", "1", "variance just after averaging"},
            {"consensus_distance_after", Kind::float64, "Q", "1", "consensus_distance just after averaging"},
        });
    }
    columns.push_back({"variance_iteration", Kind::int64, "Q", "iteration", "the iterations with variance"});
    return columns;
}

std::vector<ColumnSpec> evaluation_columns(const Features& features) {
    std::vector<ColumnSpec> columns = {
        {"epoch", Kind::float64, "E", "epochs", "samples consumed by all replicas, over the training set's size"},
        {"elapsed", Kind::float64, "E", "s", "since the start of training, over restarts"},
    };
    const std::string local = " of single replicas", mean = " of the averaged parameters";
    const auto scores = [&](const std::string& prefix, const std::string& set) {
        add(columns, {
            {prefix + "local_accuracy", Kind::float64, "E,m", "fraction", set + " accuracy" + local},
            {prefix + "local_loss", Kind::real, "E,m", "1", set + " loss" + local},
            {prefix + "mean_accuracy", Kind::float64, "E", "fraction", set + " accuracy" + mean},
            {prefix + "mean_loss", Kind::real, "E", "1", set + " loss" + mean},
        });
        for (const algorithms::MetricName& m : features.metrics) {
            add(columns, {
                {prefix + "local_" + m.name, Kind::float64, "E,m", m.unit, set + ": " + m.description + local},
                {prefix + "mean_" + m.name, Kind::float64, "E", m.unit, set + ": " + m.description + mean},
            });
        }
    };
    scores("", "test");
    if (features.validation) scores("validation_", "validation");
    columns.push_back({"iteration", Kind::int64, "E", "iteration", "iterations completed"});
    return columns;
}

ColumnSpec evaluated_replica_column() {
    return {"replica", Kind::int32, "m", "replica", "the replicas that are evaluated"};
}

std::vector<ColumnSpec> edge_columns() {
    return {
        {"edge", Kind::int32, "K,2", "replica", "(to, from) of an entry of W, self loops included; matrix by matrix"},
        {"weight", Kind::float64, "K", "1", "W[to, from]"},
    };
}

std::vector<ColumnSpec> graph_columns() {
    return {
        {"degree", Kind::float64, "M", "neighbours", "mean out-degree without self"},
        {"rho", Kind::float64, "M", "1", "||W - J/n||_2; NaN if not known (yet)"},
    };
}

ColumnSpec graph_offset_column() {
    return {"offset", Kind::int64, "M+1", "row of edge", "matrix m has the edges offset[m] .. offset[m+1]-1"};
}

std::vector<ColumnSpec> segment_columns() {
    return {
        {"started", Kind::text, "S", "", "time of the start, ISO 8601", 32},
        {"host", Kind::text, "S", "", "host of rank 0, which writes", 256},
        {"ranks", Kind::int32, "S", "ranks", "number of ranks"},
        {"job", Kind::text, "S", "", "job number of the batch system", 64},
        {"first_iteration", Kind::int64, "S", "iteration", "first iteration of the segment"},
        {"last_iteration", Kind::int64, "S", "iteration", "last iteration recorded; -1: the segment has not ended, or has none"},
        {"reason", Kind::text, "S", "", "how it ended: complete, preempted or failed; empty: it has not ended", 64},
    };
}

std::vector<ColumnSpec> event_columns() {
    return {
        {"iteration", Kind::int64, "V", "iteration", "iteration in which it happened"},
        {"kind", Kind::text, "V", "", "kind of event", 16},
        {"text", Kind::text, "V", "", "what happened", 512},
        {"time", Kind::float64, "V", "s", "since the start of the run"},
    };
}
// clang-format on

}  // namespace dbench::profile
