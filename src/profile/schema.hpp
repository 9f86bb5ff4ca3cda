#pragma once
// The columns of a result file, written once: the file's attributes and docs/output-format.md say
// the same.

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/step/observer.hpp"

namespace dbench::profile {

inline constexpr const char* kSchema = "dbench-run";
inline constexpr int64_t kSchemaVersion = 1;

/// Sizes of the axes that do not grow.
struct Axes {
    int64_t replicas = 1;   ///< n
    int64_t ranks = 1;      ///< r
    int64_t tensors = 1;    ///< T
    int64_t evaluated = 0;  ///< m
};

/// real: the run's precision; text: fixed length.
enum class Kind : uint8_t { real, float64, int64, int32, text };

struct ColumnSpec {
    std::string name;
    Kind kind;
    const char*
        axes;  ///< letters of the format's description, such as "J,n,T"; the first one grows
    std::string unit;
    std::string description;
    int64_t bytes = 0;  ///< of a text
};

/// What a run records beside what every run does.
struct Features {
    bool norms = true, variance = true, after = false, validation = false;
    bool asynchronous = false;
    std::vector<algorithms::MetricName> metrics;  ///< of evaluations
};

/// Extent of an axis that does not grow, by its letter; 2 for pairs ("K,2").
int64_t extent(const Axes& axes, char letter);
/// Bytes of a row of these columns before compression; `real_bytes` of a number in the run's
/// precision.
int64_t row_bytes(const std::vector<ColumnSpec>& columns, const Axes& axes, int64_t real_bytes);

std::vector<ColumnSpec> tensor_columns();
std::vector<ColumnSpec> rank_columns();
std::vector<ColumnSpec> iteration_columns(const Features& features);
std::vector<ColumnSpec> profile_columns(const Features& features);  ///< rows of profiled iterations
std::vector<ColumnSpec> variance_columns(const Features& features);  ///< rows with variance
std::vector<ColumnSpec> evaluation_columns(const Features& features);
ColumnSpec evaluated_replica_column();
std::vector<ColumnSpec> graph_columns();
ColumnSpec graph_offset_column();
std::vector<ColumnSpec> edge_columns();
std::vector<ColumnSpec> segment_columns();
std::vector<ColumnSpec> event_columns();

}  // namespace dbench::profile
