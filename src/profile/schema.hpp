#pragma once
// The columns of a result file. The file's attributes are made from this table;
// docs/output-format.md describes the same.

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

/// `real` is the run's precision; `text` has a fixed length.
enum class Kind : uint8_t { real, float64, int64, int32, text };

struct ColumnSpec {
    std::string name;
    Kind kind;
    /// The axes as in docs/output-format.md, for example "J,n,T"; the first one grows.
    const char* axes;
    std::string unit;
    std::string description;
    int64_t bytes = 0;  ///< Bytes of a text.
};

/// Optional parts of a recording.
struct Features {
    bool norms = true;                            ///< Norms in rows of /parameters.
    bool variance = true;                         ///< The exact variance.
    bool after = false;                           ///< The variance after averaging, too.
    bool validation = false;                      ///< Evaluations on a validation set.
    bool asynchronous = false;                    ///< Replicas do not wait for each other.
    std::vector<algorithms::MetricName> metrics;  ///< Further metrics of evaluations.
};

/// Returns the extent of an axis that does not grow, for example 'n'; 2 for pairs ("K,2").
int64_t extent(const Axes& axes, char letter);
/// Returns the bytes of a row of these columns before compression. `real_bytes` is the size of a
/// number in the run's precision.
int64_t row_bytes(const std::vector<ColumnSpec>& columns, const Axes& axes, int64_t real_bytes);

std::vector<ColumnSpec> tensor_columns();
std::vector<ColumnSpec> rank_columns();
std::vector<ColumnSpec> iteration_columns(const Features& features);
/// Rows of profiled iterations.
std::vector<ColumnSpec> profile_columns(const Features& features);
/// Rows of iterations with variance.
std::vector<ColumnSpec> variance_columns(const Features& features);
std::vector<ColumnSpec> evaluation_columns(const Features& features);
ColumnSpec evaluated_replica_column();
std::vector<ColumnSpec> graph_columns();
ColumnSpec graph_offset_column();
std::vector<ColumnSpec> edge_columns();
std::vector<ColumnSpec> segment_columns();
std::vector<ColumnSpec> event_columns();

}  // namespace dbench::profile
