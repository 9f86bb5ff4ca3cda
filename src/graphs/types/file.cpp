// The graph `file`: reads a matrix W, an adjacency matrix, or a list of edges "to from [weight]"
// from a user's file. Weights in the file are used as they are if the rows or the columns sum to 1
// to 1e-6. If the spec sets a rule in `weights`, or the edges have no weights, the rule determines
// them.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "graphs/table_file.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr double kFileSumTolerance = 1e-6;  // files print few digits

std::string row_name(size_t row) { return "row " + std::to_string(row + 1); }

bool is_matrix(const NumberTable& table, size_t n) {
    return table.size() == n && std::all_of(table.begin(), table.end(),
                                            [n](const auto& row) { return row.size() == n; });
}

int replica(double value, int n, size_t row, const std::string& path) {
    if (value != std::floor(value) || value < 0 || value >= n) {
        throw base::UserError(path + ": " + row_name(row) + ": " + base::short_text(value) +
                              " is not a replica (replicas are 0 to " + std::to_string(n - 1) +
                              "; a matrix would have " + std::to_string(n) + " rows of " +
                              std::to_string(n) + " numbers)");
    }
    return static_cast<int>(value);
}

// Checks that rows or columns sum to 1 to the digits of a file, and scales them to sum to 1 to
// rounding.
MatrixPtr given_weights(int n, std::vector<MatrixEntry> entries, const std::string& path) {
    std::vector<double> rows(n, 0.0);
    std::vector<double> columns(n, 0.0);
    for (const MatrixEntry& entry : entries) {
        rows[entry.to] += entry.weight;
        columns[entry.from] += entry.weight;
        if (entry.weight < 0 && entry.to != entry.from) {
            throw base::UserError(path + ": " + row_name(entry.to) + ": weight " +
                                  base::short_text(entry.weight) + " of replica " +
                                  std::to_string(entry.from) +
                                  " is negative: weights between "
                                  "replicas must be positive");
        }
    }
    const auto worst = [](const std::vector<double>& sums) {
        return std::max_element(sums.begin(), sums.end(), [](double a, double b) {
            return std::abs(a - 1) < std::abs(b - 1);
        });
    };
    const bool by_rows = std::abs(*worst(rows) - 1) <= kFileSumTolerance;
    const bool by_columns = std::abs(*worst(columns) - 1) <= kFileSumTolerance;
    if (!by_rows && !by_columns) {
        const auto row = static_cast<size_t>(worst(rows) - rows.begin());
        throw base::UserError(path + ": " + row_name(row) + " sums to " +
                              base::short_text(rows[row]) +
                              " (rows, or columns, of a mixing matrix "
                              "must sum to 1): correct it, or give edges without weights");
    }
    for (int i = 0; i < n; ++i) entries.push_back({i, i, 1 - (by_rows ? rows : columns)[i]});
    return explicit_matrix(n, std::move(entries));
}

enum class FileFormat : uint8_t { automatic, edges, matrix };

struct FileSpec : WeightSpec {
    std::string path;
    FileFormat format;
    bool directed;  ///< Edges without weights lead only in the direction given.

    static const base::Section<FileSpec>& section();
};

const base::Section<FileSpec>& FileSpec::section() {
    static const base::Section<FileSpec> keys{
        {{base::Parameter::text("path", "", "lines \"to from [weight]\", or n rows of n numbers"),
          &FileSpec::path},
         {base::Words<FileFormat>("format",
                                  {{"auto", FileFormat::automatic},
                                   {"edges", FileFormat::edges},
                                   {"matrix", FileFormat::matrix}},
                                  FileFormat::automatic,
                                  "auto: a matrix if the file has n rows of n numbers"),
          &FileSpec::format},
         {base::Parameter::flag("directed", "false",
                                "edges without weights: only the direction given"),
          &FileSpec::directed}},
        WeightSpec::section()};
    return keys;
}

// True if the spec sets a rule, which overrides weights in the file.
bool reweighed(const WeightSpec& spec) { return spec.weights != "auto"; }

// Reads lines "to from" or "to from weight", the output format of `dbench graph --edges`.
std::unique_ptr<Schedule> from_list(const NumberTable& table, const FileSpec& spec,
                                    const GraphContext& context, const std::string& pointer,
                                    const std::string& path) {
    const int n = context.n;
    const size_t width = table.empty() ? 2 : table.front().size();
    std::vector<Edge> edges;
    std::vector<MatrixEntry> entries;
    std::set<std::pair<int, int>> seen;
    std::vector<double> off_diagonal(n, 0.0);
    bool with_self = false;
    for (size_t r = 0; r < table.size(); ++r) {
        const auto& row = table[r];
        if (row.size() != width || width < 2 || width > 3) {
            throw base::UserError(
                path + ": " + row_name(r) + " has " + std::to_string(row.size()) +
                " numbers (an edge is \"to from\" or \"to from weight\", the same "
                "in all rows)");
        }
        const int to = replica(row[0], n, r, path);
        const int from = replica(row[1], n, r, path);
        if (width == 3 && !seen.insert({to, from}).second) {
            throw base::UserError(path + ": " + row_name(r) + ": the edge " + std::to_string(to) +
                                  " " + std::to_string(from) + " is given twice: remove one");
        }
        edges.emplace_back(from, to);
        if (width == 2) continue;
        entries.push_back({to, from, row[2]});
        with_self |= to == from;
        if (to != from) off_diagonal[to] += row[2];
    }
    if (width == 2 || reweighed(spec)) {
        const bool one_way = std::any_of(seen.begin(), seen.end(), [&seen](const auto& edge) {
            return seen.count({edge.second, edge.first}) == 0;
        });
        const bool directed = width == 2 ? spec.directed : one_way;
        return weighted_graph(from_edges(n, edges, directed), spec, pointer);
    }
    for (int i = 0; i < n && !with_self; ++i) entries.push_back({i, i, 1 - off_diagonal[i]});
    return static_schedule(apply_lazy(given_weights(n, std::move(entries), path), spec));
}

// Reads a matrix of weights. If all numbers are 0 or 1 and rows do not sum to 1, it is an adjacency
// matrix: row i marks the replicas from which i receives.
std::unique_ptr<Schedule> from_matrix(const NumberTable& table, const FileSpec& spec,
                                      const GraphContext& context, const std::string& pointer,
                                      const std::string& path) {
    std::vector<Edge> edges;
    std::vector<MatrixEntry> entries;
    bool adjacency = false;
    bool plain = true;
    bool symmetric = true;
    for (int i = 0; i < context.n; ++i) {
        double sum = 0;
        for (int j = 0; j < context.n; ++j) {
            const double value = table[i][j];
            sum += value;
            plain &= value == 0 || value == 1;
            symmetric &= (value != 0) == (table[j][i] != 0);
            if (value == 0) continue;
            entries.push_back({i, j, value});
            edges.emplace_back(j, i);
        }
        adjacency |= std::abs(sum - 1) > kFileSumTolerance;
    }
    if (!reweighed(spec) && (!plain || !adjacency))
        return static_schedule(apply_lazy(given_weights(context.n, entries, path), spec));
    return weighted_graph(from_edges(context.n, edges, !symmetric), spec, pointer);
}

std::unique_ptr<Schedule> make_file(const FileSpec& spec, const GraphContext& context,
                                    const std::string& pointer) {
    const std::string& path = spec.path;
    const NumberTable table = read_numbers(path, context.inputs.get());
    const bool square = is_matrix(table, static_cast<size_t>(context.n));
    if (spec.format == FileFormat::matrix && !square) {
        throw base::UserError(path + ": not a matrix of " + std::to_string(context.n) +
                              " rows of " + std::to_string(context.n) +
                              " numbers (one for every replica): correct "
                              "it, or set replicas to its size");
    }
    if (spec.format == FileFormat::matrix || (spec.format == FileFormat::automatic && square)) {
        return from_matrix(table, spec, context, pointer, path);
    }
    return from_list(table, spec, context, pointer, path);
}

}  // namespace

GraphEntry file_entry() {
    return {"file", "edges or a matrix from a file: text, CSV or .npy", make_file};
}

}  // namespace dbench::graphs
